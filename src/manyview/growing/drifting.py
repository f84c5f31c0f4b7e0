"""`drift`: which views and clusters of new rows no longer fit a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview.arrays.ops import Matrix, to_host
from manyview.errors import InputError
from manyview.growing.comparing import (
    compare,
    holm,
    measure,
    reference,
    require_reference,
    share_tests,
)
from manyview.present.plot import new_figure
from manyview.present.table import ShowsTables, Table
from manyview.views.arguments import check_number
from manyview.views.parsing import is_dask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Of checks in which nothing has changed, the share that may sound an alarm: one in a
# hundred is rare enough to be looked into when it comes.
RATE = 0.01
# Clusters that a sentence names; the table has them all.
NAMED = 5


@dataclass(frozen=True)
class Drift(ShowsTables):
    """What `drift` found.

    Attributes
    ----------
    rate : float
        Share of checks that sound a false alarm, at most.
    view_names : tuple of str
    n_rows : int
        New rows that were looked at.
    sizes, expected : arrays (n_clusters,)
        New rows in every cluster, and how many the shares of the fit let expect.
    ratios, gaps : arrays (n_clusters, n_views)
        How much farther from the landmarks of the fit the new rows lie, as a ratio of
        medians, and the largest gap between the two distributions, 0 to 1.
    p_views, p_cells, p_shares : arrays (n_views,), (n_clusters, n_views), (n_clusters,)
        How likely chance alone makes such differences of distances over all clusters,
        of distances in one cluster, and of shares; adjusted for the number of all
        tests (Holm), so that each may be compared with `rate`.
    outside : array (n_views,)
        Rows farther from the rows of the fit than any of these.
    """

    rate: float
    view_names: tuple[str, ...]
    n_rows: int
    sizes: Matrix
    expected: Matrix
    ratios: Matrix
    gaps: Matrix
    p_views: Matrix
    p_cells: Matrix
    p_shares: Matrix
    outside: Matrix

    @property
    def views(self) -> list[str]:
        """Names of the views that no longer fit, in some cluster or over all."""
        bad = (self.p_views <= self.rate) | (self.p_cells <= self.rate).any(axis=0)
        return [self.view_names[v] for v in np.flatnonzero(bad)]

    @property
    def unseen(self) -> list[str]:
        """Names of the views that no distance was known in: the new rows lack them."""
        empty = np.isnan(self.ratios).all(axis=0)
        return [self.view_names[v] for v in np.flatnonzero(empty)]

    @property
    def clusters(self) -> list[int]:
        """Clusters whose new rows no longer fit in some view."""
        return [int(j) for j in np.flatnonzero((self.p_cells <= self.rate).any(axis=1))]

    @property
    def shares(self) -> list[int]:
        """Clusters that have become larger or smaller; their rows may fit well."""
        return [int(j) for j in np.flatnonzero(self.p_shares <= self.rate)]

    @property
    def drifted(self) -> bool:
        """Does any view no longer fit? Other shares alone are no drift."""
        return bool(self.views)

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        odds = f"(false alarms: at most {self.rate:.2g} of such checks)"
        parts = []
        for name in self.views:
            v = self.view_names.index(name)
            own = np.flatnonzero(self.p_cells[:, v] <= self.rate)
            where = f" in clusters {_some(own)}" if own.size else " over all clusters"
            parts.append(f"view {name!r} no longer fits{where}")
        if not parts:
            every = "every other view" if self.unseen else "every view"
            parts = [f"{every} fits the model"]
        parts += [f"view {name!r} could not be compared" for name in self.unseen]
        if self.shares:
            parts.append(f"the shares of clusters {_some(self.shares)} have changed")
        return f"{self.n_rows:,} new rows: {'; '.join(parts)} {odds}."

    def tables(self) -> list[Table]:
        """Views over all clusters, and every cluster in every view."""
        views = Table(
            "views", self.sentence, ["view", "p", "rows outside", "verdict"],
            align="lrrl",
        )  # fmt: skip
        for v, name in enumerate(self.view_names):
            fits = "not compared" if name in self.unseen else "fits"
            verdict = "no longer fits" if name in self.views else fits
            views.add(name, f"{self.p_views[v]:.3f}", str(self.outside[v]), verdict)
        columns = ["cluster", "new rows", "expected", "p of its share"]
        columns += [f"{name}: distance, p" for name in self.view_names]
        clusters = Table("clusters", "Distances as multiples of the fit's", columns)
        for j, size in enumerate(self.sizes):
            cells = [
                f"{ratio:.2f}, {p:.3f}"
                for ratio, p in zip(self.ratios[j], self.p_cells[j], strict=True)
            ]
            share = (str(size), f"{self.expected[j]:.1f}", f"{self.p_shares[j]:.3f}")
            clusters.add(str(j), *share, *cells)
        return [views, clusters]

    def figure(self) -> Figure:
        """Distances of the new rows as multiples of the fit's; alarms are marked."""
        n_clusters, n_views = self.ratios.shape
        width = float(np.clip(2.5 + 0.45 * n_clusters, 5.0, 14.0))
        bad = len(self.views)
        title = (
            f"{self.n_rows:,} new rows: {bad} of {n_views} views no longer fit "
            f"(false alarms: at most {self.rate:.2g})"
        )
        figure = new_figure(width, 1.6 + 0.5 * n_views, title)
        axis = figure.subplots()
        logs = np.log2(np.clip(self.ratios.T, 0.25, 4.0))
        image = axis.imshow(logs, cmap="PuOr_r", vmin=-2, vmax=2, aspect="auto")
        for j, v in np.argwhere(self.p_cells <= self.rate):
            axis.text(j, v, "×", ha="center", va="center", fontsize=16)
        names = [
            f"{name} ×" if p <= self.rate else name
            for name, p in zip(self.view_names, self.p_views, strict=True)
        ]
        axis.set_yticks(range(n_views), names)
        axis.set(xlabel="cluster (× no longer fits)")
        axis.locator_params(axis="x", integer=True)
        bar = figure.colorbar(image, ticks=[-2, -1, 0, 1, 2])
        bar.ax.set_yticklabels(["¼", "½", "1", "2", "4"])
        bar.set_label("distance, times the fit's")
        return figure


def _some(clusters: Any) -> str:
    names = [str(int(j)) for j in clusters]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def drift(model: Any, new_views: Any, *, rate: float = RATE) -> Drift:
    """Tell which views and clusters of new rows no longer fit a model.

    Every new row is placed by the model, and its distance to landmarks of the fit is
    held against those of the fit's own rows of the same cluster, view by view. Rank
    tests need neither labels nor an order of the rows, and all of them together sound
    a false alarm in at most `rate` of the checks.

    Parameters
    ----------
    model : fitted S2MVTC, SequenceS2MVTC or AnchorSpectral
        What the rows should fit.
    new_views : Views, or list or dict of arrays (n_rows, n_features_v)
        Rows that came after the fit, in the views of the model.
    rate : float
        Share of checks that may sound a false alarm, between 0 and 1.

    Returns
    -------
    Drift

    Examples
    --------
    >>> from manyview import S2MVTC, drift
    >>> from manyview.datasets import make_views
    >>> views = make_views(600, (5, 4), 3, random_state=0)
    >>> model = S2MVTC(3, random_state=0).fit(views[:400])
    >>> drift(model, views[400:]).drifted
    False
    >>> worn = [views.arrays[0][400:], 1.5 * views.arrays[1][400:]]
    >>> drift(model, worn).views
    ['generated1']
    """
    require_reference(model)
    check_rate(rate)
    views = model._views_to_predict(new_views)
    if len(views) == 0:
        raise InputError("There are no new rows to look at. Give at least one.")
    return drift_of(model, measure(model, views), rate)


def check_rate(rate: float) -> None:
    """A share of false alarms must lie between 0 and 1."""
    check_number(rate, "rate")
    if not 0 < rate < 1:
        raise InputError(
            f"rate={rate!r} must lie between 0 and 1: the share of checks that may "
            "sound a false alarm, such as 0.01."
        )


def drift_of(model: Any, new: Any, rate: float) -> Drift:
    """The drift of rows that were measured."""
    found = model.labels_
    labels = np.asarray(found) if is_dask(found) else to_host(found)
    n_clusters = len(model._passes.centres.points)
    before = np.bincount(labels[labels >= 0], minlength=n_clusters)
    sizes = np.bincount(new.labels, minlength=n_clusters)
    cells = compare(reference(model), new, n_clusters)
    shares = share_tests(before, sizes)
    every = holm(np.concatenate([cells.views, shares, cells.cells.ravel()]))
    ends = np.cumsum([cells.views.size, shares.size])
    p_views, p_shares, p_cells = np.split(every, ends)
    return Drift(
        rate=float(rate),
        view_names=tuple(model.view_names_),
        n_rows=len(new.labels),
        sizes=sizes,
        expected=before * (sizes.sum() / max(before.sum(), 1)),
        ratios=cells.ratios,
        gaps=cells.gaps,
        p_views=p_views,
        p_cells=p_cells.reshape(cells.cells.shape),
        p_shares=p_shares,
        outside=(new.distances > 1.0).sum(axis=0),
    )
