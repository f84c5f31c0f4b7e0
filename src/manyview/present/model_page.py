"""What a fitted model shows of itself: in a notebook, and as a figure in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from manyview.arrays.ops import Matrix
from manyview.errors import UnsupportedError
from manyview.present.page import fill_template, notebook_html
from manyview.present.plot import COLOURS, Map, choose_rows, draw_embedding, flatten
from manyview.present.table import Table
from manyview.views.parsing import fetched, is_dask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Points of the small map, and clusters in its table: what a cell shows at a glance.
MOST_POINTS = 600
MOST_CLUSTERS = 20
# Rows whose labels are fetched from workers unasked: a second or two.
MOST_FETCHED = 1_000_000


class ShowsItself:
    """Fitted models as notebooks show them; unfitted ones are scikit-learn's."""

    labels_: Any

    def plot(self, labels: Any = None, *, layout: str = "auto") -> Figure:
        """The rows in the plane, coloured by their clusters; a notebook shows it.

        Parameters
        ----------
        labels : array (n_samples,), optional
            Known classes, drawn beside the clusters.
        layout : {"auto", "tsne", "pca"}
            How rows are laid out; see `manyview.plot.flatten`.

        Examples
        --------
        >>> from manyview import S2MVTC
        >>> from manyview.datasets import make_views
        >>> views = make_views(60, (4, 4), 3, random_state=0)
        >>> figure = S2MVTC(3, random_state=0).fit(views).plot(layout="pca")
        >>> len(figure.axes)
        1
        """
        self._check_fitted()  # type: ignore[attr-defined]
        if not hasattr(self, "embedding_"):
            raise UnsupportedError(
                f"{type(self).__name__} has no embedding to draw. Make one of the data "
                "with manyview.plot.flatten and call draw_embedding."
            )
        panels = {"Clusters": fetched(self.labels_)}
        if labels is not None:
            panels["Known classes"] = np.asarray(labels)
        title = f"{type(self).__name__}: {len(panels['Clusters']):,} rows"
        flat = flatten(fetched(self.embedding_), method=layout)
        return draw_embedding(flat, panels, title=title)

    def _html_repr(self) -> str:
        """scikit-learn's way to ask; its diagram for what is not fitted."""
        labels = vars(self).get("labels_")
        if labels is None or (is_dask(labels) and len(labels) > MOST_FETCHED):
            return str(super()._html_repr())  # type: ignore[misc]
        return model_html(self)


def model_html(model: Any) -> str:
    """Clusters, sizes, certainty, influence of the views, and a small map."""
    from markupsafe import Markup

    labels = fetched(model.labels_)
    sizes = np.bincount(labels[labels >= 0], minlength=model.n_clusters_)
    title = (
        f"{type(model).__name__}: {len(labels):,} rows, {model.n_views_} views, "
        f"{np.count_nonzero(sizes)} clusters"
    )
    tables = [_cluster_table(model, labels, sizes)]
    if hasattr(model, "view_influence_"):
        tables.append(_view_table(model))
    drawn: dict[str, Any] = {"points": [], "names": [], "caption": ""}
    if hasattr(model, "embedding_"):
        drawn = _small_map(model.embedding_, labels)
    return str(
        fill_template(
            "present/model_page.html",
            title=title,
            tables=Markup(notebook_html(*tables)),
            settings=repr(model),
            **drawn,
        )
    )


def _cluster_table(model: Any, labels: Matrix, sizes: Matrix) -> Table:
    """The largest clusters, largest first."""
    sure = fetched(model.certainty_) if hasattr(model, "certainty_") else None
    columns = ["cluster", "rows", *([] if sure is None else ["median certainty"])]
    found = Table("clusters", "Clusters", columns)
    order = np.argsort(-sizes, kind="stable")
    for j in order[:MOST_CLUSTERS]:
        own = labels == j
        middle = []
        if sure is not None:
            middle = [f"{np.median(sure[own]):.2f}" if own.any() else "–"]
        found.add(str(j), f"{sizes[j]:,}", *middle)
    if len(order) > MOST_CLUSTERS:
        found.notes.append(f"and {len(order) - MOST_CLUSTERS} smaller ones")
    return found


def _view_table(model: Any) -> Table:
    found = Table("views", "Influence of the views", ["view", "share"])
    for name, share in zip(model.view_names_, model.view_influence_, strict=True):
        found.add(str(name), f"{share:.0%}")
    return found


def _small_map(embedding: Any, labels: Matrix) -> dict[str, Any]:
    """Points of a drawing 100 wide and high, and the clusters' names in it."""
    some = choose_rows(len(labels), MOST_POINTS)
    flat: Map = flatten(fetched(embedding[some]), method="pca")
    points, own = flat.points, labels[some][flat.rows]
    low, high = points.min(axis=0), points.max(axis=0)
    width = max(float((high - low).max()), 1e-12)
    placed = 5.0 + 90.0 * (points - (low + high) / 2 + width / 2) / width
    placed[:, 1] = 100.0 - placed[:, 1]
    colours = [COLOURS[j % len(COLOURS)] for j in own]
    names = []
    for j in np.unique(own) if len(np.unique(own)) <= MOST_CLUSTERS else ():
        x, y = np.median(placed[own == j], axis=0)
        names.append((f"{x:.1f}", f"{y:.1f}", str(j)))
    part = "" if len(some) == len(labels) else f" of {len(labels):,}"
    return {
        "points": [
            (f"{x:.1f}", f"{y:.1f}", c)
            for (x, y), c in zip(placed, colours, strict=True)
        ],
        "names": names,
        "caption": f"{len(some):,}{part} rows, laid out by {flat.how}",
    }
