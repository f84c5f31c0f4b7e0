"""`find_outliers`: the strangest rows of a fit, and labels that set them aside."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview.arrays.ops import Matrix, to_host
from manyview.engine.local import open_engine
from manyview.errors import InputError
from manyview.kmeans.passes import LABELS
from manyview.outliers.strangeness import KINDS, measure_strangeness
from manyview.present.plot import new_figure, save
from manyview.present.table import ShowsTables, Table
from manyview.running.progress import shown
from manyview.stages.scaling import SCALINGS
from manyview.views.arguments import check_number
from manyview.views.parsing import is_dask
from manyview.views.views import Views

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN_ROWS = 12  # of the table and the figure: a screen
REASONS = (
    "far from other rows",
    "its neighbours are elsewhere",
    "of unusual size",
    "other views contradict",
)
ASIDE = -1  # the label of a row that is set aside, as in scikit-learn


@dataclass(frozen=True)
class Outliers(ShowsTables):
    """What `find_outliers` found.

    Attributes
    ----------
    score : array (n_samples,)
        How strange a row is in its strangest view: 0 for ordinary rows, else in
        standard deviations.
    by_view : array (n_samples, n_views)
        The same view by view; NaN where a row lacks the view. It is
        √(far² + disagreement² + size² + contradiction²).
    far : array (n_samples, n_views)
        How far a row lies from all others in the view.
    disagreement : array (n_samples, n_views)
        How far its neighbours in the view are in other clusters than the row is.
    size : array (n_samples, n_views)
        How much longer or shorter than usual the row is, or over how many more
        features it is spread, in views compared by angle; 0 in others.
    contradiction : array (n_samples, n_views)
        How far, in the view, the row lies from its neighbours in the other views.
    labels : array (n_samples,)
        The clusters; −1 for rows that are set aside.
    view_names : tuple of str
    row_names : array (n_samples,) or None
    """

    score: Matrix
    by_view: Matrix
    far: Matrix
    disagreement: Matrix
    size: Matrix
    contradiction: Matrix
    labels: Matrix
    view_names: tuple[str, ...]
    row_names: Matrix | None = None

    @property
    def sentence(self) -> str:
        """How many rows are set aside."""
        n_aside = int((self.labels == ASIDE).sum())
        return f"{n_aside:,} of {len(self.labels):,} rows are set aside as outliers."

    def strangest(self, n_rows: int = SHOWN_ROWS) -> Matrix:
        """Numbers of the rows of highest score, the strangest first."""
        return np.argsort(-self.score, kind="stable")[:n_rows]

    def table(self, n_rows: int = SHOWN_ROWS) -> Table:
        """The strangest rows: their score, in which view, and why."""
        columns = ["row", "score", "strangest view", "why", "cluster"]
        found = Table("outliers", self.sentence, columns, align="lrllr")
        for row in self.strangest(n_rows):
            v = int(np.nan_to_num(self.by_view[row]).argmax())
            parts = (self.far, self.disagreement, self.size, self.contradiction)
            why = REASONS[int(np.argmax([part[row, v] for part in parts]))]
            name = str(row if self.row_names is None else self.row_names[row])
            label = int(self.labels[row])
            own = "set aside" if label == ASIDE else str(label)
            found.add(name, f"{self.score[row]:.1f}", self.view_names[v], why, own)
        return found

    def to_csv(self) -> str:
        """Every row: its cluster (−1 where set aside), its score, and that by view."""
        head = ["row", "cluster", "score", *self.view_names]
        every = Table("scores", self.sentence, head)
        names = range(len(self.score)) if self.row_names is None else self.row_names
        for row, name in enumerate(names):
            scores = [self.score[row], *self.by_view[row]]
            cells = ["" if np.isnan(x) else f"{x:.4f}" for x in scores]
            every.add(str(name), str(self.labels[row]), *cells)
        return every.to_csv()

    def figure(self, n_rows: int = SHOWN_ROWS) -> Figure:
        """The strangest rows in every view, the darker the stranger."""
        rows = self.strangest(n_rows)
        figure = new_figure(7.0, 1.8 + 0.3 * len(rows), self.sentence)
        axis = figure.subplots()
        image = axis.imshow(self.by_view[rows], cmap="cividis_r", aspect="auto", vmin=0)
        names = rows if self.row_names is None else self.row_names[rows]
        axis.set_yticks(range(len(rows)), [str(n) for n in names])
        axis.set_xticks(range(len(self.view_names)), self.view_names, rotation=20)
        axis.set(ylabel="row")
        figure.colorbar(image, ax=axis, label="score (standard deviations)")
        return figure

    def plot(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the figure as PNG and SVG; their paths."""
        return save(self.figure(), Path(path).with_suffix(""))


class FindsOutliers:
    """The method of every estimator that looks for outliers among its rows."""

    labels_: Any
    n_clusters_: int
    outlier_score_: Matrix

    def find_outliers(self, X: Any, *, label_outliers: float = 0.0) -> Outliers:
        """Score every row of the fit in every view; set the strangest aside.

        A row is strange in a view where it lies far from all others, where its
        neighbours are in other clusters than the row is, where rows that are its
        neighbours in the other views are far, or, if the view is compared by angle,
        where it is of unusual size. Nothing of the fit changes;
        the scores are kept in ``outlier_score_``, an array (n_samples, n_views).

        Parameters
        ----------
        X : the views that the model was fitted on
        label_outliers : float
            Share of the rows to set aside at most: they are −1 in the labels of the
            result. Ordinary rows are never set aside, nor one of two rows that score
            the same where both would be too many.

        Examples
        --------
        >>> import numpy as np
        >>> from manyview import S2MVTC
        >>> from manyview.datasets import make_views
        >>> views = make_views(200, (5, 4), 3, random_state=0)
        >>> views.arrays[1][17] += 40.0
        >>> model = S2MVTC(3, random_state=0).fit(views)
        >>> found = model.find_outliers(views, label_outliers=0.005)
        >>> np.flatnonzero(found.labels == -1).tolist()
        [17]
        """
        check_share(label_outliers)
        views: Views = self._views_to_predict(X)  # type: ignore[attr-defined]
        labels = np.asarray(self.labels_) if is_dask(self.labels_) else self.labels_
        if len(views) != len(labels):
            raise InputError(
                f"The model was fitted on {len(labels)} rows; {len(views)} were given. "
                "Give the views of the fit; model.place(X) tells of new rows."
            )
        with shown(bool(getattr(self, "verbose", False)), "Looking for outliers"):
            parts = self._strangeness(views, labels)
        by_view = np.sqrt(sum(part**2 for part in parts))
        self.outlier_score_ = by_view
        score = np.nan_to_num(by_view).max(axis=1)
        own = to_host(labels).astype(np.intp)
        aside = set_aside(score, label_outliers)
        return Outliers(
            score,
            by_view,
            *parts,
            labels=np.where(aside, ASIDE, own),
            view_names=tuple(views.names),
            row_names=views.row_names,
        )

    def _strangeness(
        self, views: Views, labels: Any
    ) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        place = {
            name: getattr(self, name)
            for name in ("engine", "device", "memory_limit")
            if hasattr(self, name)
        }
        dtype = np.dtype(getattr(self, "dtype", None) or views.dtype)
        engine = open_engine(views, dtype, **place)
        engine.put(LABELS, labels)
        own = getattr(self, "scaling", "auto")
        scaling = own if own in SCALINGS else "auto"
        found = measure_strangeness(engine, scaling, self.n_clusters_)
        far, unlike, size, apart = (found[:, kind] for kind in range(KINDS))
        return far, unlike, size, apart


def set_aside(score: Matrix, share: float) -> Matrix:
    """Which rows: those above the first score that would be too many."""
    most = int(share * len(score))
    if most == 0:
        return np.zeros(len(score), dtype=bool)
    too_many = -np.inf if most >= len(score) else np.sort(score)[-most - 1]
    return np.asarray(score > max(too_many, 0.0))


def check_share(share: Any) -> None:
    """A share below one half: more are no outliers."""
    check_number(share, "label_outliers")
    if share >= 0.5:
        raise InputError(
            f"label_outliers={share} would set half of the rows or more aside. It is a "
            "share of the rows; give for instance 0.05."
        )
