"""New rows for fitted methods of passes: the same passes with the same small values.

So `predict` and `transform` are replays, row by row; on the training rows they give
back what the fit gave.
"""

import os
import warnings
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from array_api_compat import is_torch_array
from sklearn import get_config
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

import manyview
from manyview.arrays.from_torch import in_one_place
from manyview.arrays.ops import to_host
from manyview.engine.contract import Engine
from manyview.engine.local import open_engine
from manyview.errors import OutsideWarning
from manyview.kmeans.certainty import certainty
from manyview.kmeans.nodes import Nodes, label_rows
from manyview.kmeans.passes import FIELD, LABELS, Centres
from manyview.selection import neighbour_score
from manyview.stages.reach import BEYOND, Reach, look_beyond
from manyview.views.arguments import check_no_view
from manyview.views.parsing import is_dask, is_single_table, lies_elsewhere
from manyview.views.views import Views

FloatArray = np.ndarray[Any, Any]
IntArray = np.ndarray[Any, Any]


class Placed(NamedTuple):
    """Where new rows belong, and how clearly.

    Attributes
    ----------
    labels : array (n_rows,)
    certainty : array (n_rows,)
        As `certainty_` of the fit, 0 to 1, less the farther a row lies outside all
        that the model has seen.
    outside : array (n_rows, n_views) of bool
        In which views a row lies farther from the rows of the fit than any of these.
    """

    labels: IntArray
    certainty: FloatArray
    outside: FloatArray


class Passes(NamedTuple):
    """The small values of a fit, in order: what new rows are replayed through.

    `view_order` is the order the engine visits the views in; `spectrum` of the
    graph, `start` and `rounds` as far as the method has them. Rows take the label of
    their nearest `nodes`, where there are such, else of the nearest centre, or of the
    best score where `nodes` are linear scores.
    """

    dtype: str
    view_order: tuple[int, ...]
    spectrum: Any
    start: Any
    rounds: tuple[Any, ...]
    centres: Centres
    nodes: Nodes | Centres | None = None


class PredictsByReplay(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
):
    """Labels and embedding of new rows.

    A subclass gives `_replay(engine)`, which leaves the embedding in the engine's
    state, and stores its `Passes` in `_passes`.
    """

    device: str | None
    embedding_: FloatArray
    labels_: IntArray
    _passes: Passes
    _reach: Reach

    def predict(self, X: Any) -> IntArray:
        """Cluster of every row of new views, row by row."""
        views = self._views_to_predict(X)
        self._warn_of_new_rows()
        found: IntArray = views.each(self._without_rows()._labels_of, np.intp, None)
        return found

    def place(self, X: Any) -> Placed:
        """Cluster of every row of new views, and how clearly it belongs there.

        Examples
        --------
        >>> import numpy as np
        >>> from manyview import S2MVTC
        >>> from manyview.datasets import make_views
        >>> views = make_views(120, (5, 4), 3, random_state=0)
        >>> model = S2MVTC(3, random_state=0).fit(views)
        >>> new = model.place(views[:5])
        >>> bool((new.labels == model.labels_[:5]).all()), bool(new.outside.any())
        (True, False)
        """
        views = self._views_to_predict(X)
        self._warn_of_new_rows()
        width = 2 + views.n_views
        found = views.each(self._without_rows()._placed_of, np.float64, width)
        parts = [found[:, 0].astype(np.intp), found[:, 1], found[:, 2:] > 1]
        tensors = [a for a in views.arrays if is_torch_array(a)]
        return Placed(*in_one_place([*parts, *tensors])[: len(parts)])

    def transform(self, X: Any) -> FloatArray:
        """Consensus embedding of every row of new views, row by row."""
        views = self._views_to_predict(X)
        self._warn_of_new_rows()
        kind, width = np.dtype(self._passes.dtype), self._n_features_out
        values = views.each(self._without_rows()._embedding_of, kind, width)
        return self._named_rows(values, views)

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> FloatArray:
        """Fit, and give back `embedding_`."""
        as_given = lies_elsewhere(X) or is_single_table(X)
        views = X if as_given else Views.of(X)
        found = self.fit(views, y, **fit_params).embedding_
        as_it_is = is_dask(found) or is_torch_array(found)
        return self._named_rows(found if as_it_is else np.asarray(found), views)

    @property
    def certainty_(self) -> FloatArray:
        """How clearly every row of the fit belongs to its cluster, 0 to 1.

        (d₂ − d₁)/d₂ for the distances of its embedding to the centre of its cluster
        and to the nearest other one, 0 where that is nearer; a tensor beside tensors
        of labels.
        """
        self._check_fitted()
        rows, labels = to_host(self.embedding_), to_host(self.labels_)
        found = certainty(rows, self._passes.centres, labels)
        beside: FloatArray = in_one_place([found, self.embedding_])[0]
        return beside

    def refit(
        self, X: Any, *, former: Any = None, n_clusters: Any = None, **fit_params: Any
    ) -> Self:
        """Fit to other rows; clusters that live on keep their numbers.

        `changes_` tells which were kept, moved, split, merged, born or died; see
        `manyview.growing.refit`.
        """
        found: Self = manyview.growing.refit(
            self, X, former=former, n_clusters=n_clusters, **fit_params
        )
        return found

    def score(self, X: Any, y: Any = None) -> float:
        """How far neighbours share their clusters: 1 always, 0 as often as by chance.

        The share of a row's ten nearest rows, in each view, that `predict` puts into
        the row's own cluster, beyond chance; the mean over views and at most 1,000
        rows. No label enters, and `y` is ignored. It compares settings at one number
        of clusters: fewer are easier to agree on.
        """
        here = not lies_elsewhere(X)
        return neighbour_score(self, self._views_to_predict(X) if here else X)

    def report(
        self, path: str | os.PathLike[str], views: Any, labels: Any = None, **more: Any
    ) -> Path:
        """Write one page about the fit, for any browser; see `manyview.report`."""
        written: Path = manyview.report.write_report(self, path, views, labels, **more)
        return written

    def _labels_of(self, views: Views) -> IntArray:
        engine = self._embed(views)
        label_rows(engine, self._passes.centres, self._passes.nodes)
        found: IntArray = engine.read(LABELS)
        return found if is_torch_array(found) else found.astype(np.intp, copy=False)

    def _placed_of(self, views: Views, *, embedded: bool = False) -> FloatArray:
        """Labels, certainty and distances in units of the reach, side by side.

        With `embedded` the embedding stands beside them.
        """
        engine = self._embed(views)
        label_rows(engine, self._passes.centres, self._passes.nodes)
        labels, rows = to_host(engine.read(LABELS)), to_host(engine.read(FIELD))
        sure = certainty(rows, self._passes.centres, labels)
        beyond = np.zeros((len(labels), views.n_views))
        if getattr(self, "_reach", None) is not None:
            own = to_host(engine.read(BEYOND))
            beyond = own[:, np.argsort(self._passes.view_order)].astype(np.float64)
        sure = sure / np.maximum(beyond.max(axis=1), 1.0)
        parts = [labels, sure, beyond, *([rows] if embedded else [])]
        return np.column_stack(parts)

    def _embedding_of(self, views: Views) -> FloatArray:
        found: FloatArray = self._embed(views).read(FIELD)
        return found

    def _embed(self, views: Views) -> Engine:
        engine = open_engine(
            views,
            np.dtype(self._passes.dtype),
            device=self.device,
            view_order=self._passes.view_order,
        )
        reach: Reach | None = getattr(self, "_reach", None)
        if reach is not None:
            names = tuple(views.names[v] for v in self._passes.view_order)
            outside = look_beyond(engine, reach, names)
            if outside is not None:
                warnings.warn(outside, OutsideWarning, stacklevel=5)
        self._replay(engine)
        return engine

    def _replay(self, engine: Engine) -> None:
        raise NotImplementedError

    def _warn_of_new_rows(self) -> None:
        """Nothing to say of a method whose passes know no order."""

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def _named_rows(self, values: FloatArray, views: Any) -> FloatArray:
        """With the names of the rows, where a pandas table is asked for."""
        names = getattr(views, "row_names", None)
        own = getattr(self, "_sklearn_output_config", {})
        wanted = own.get("transform", get_config()["transform_output"])
        if names is None or wanted != "pandas":
            return values
        import pandas

        named: FloatArray = pandas.DataFrame(values, index=names)
        return named


class GrowsByPieces:
    """Rows that come in pieces; for methods that know no order of the rows."""

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """Add the rows of `X`; the first call fits the model to them.

        Up to 8,192 rows the model keeps them and fits all of them again: the clusters
        are those of one fit of everything, in whatever order the pieces came, and the
        ones that live on keep their numbers. Beyond, anchors, graph and labels stand,
        and new rows go through the same passes. `labels_` and `embedding_` are of all
        rows, in the order they came; `changes_` says which old rows have another label,
        and whether new rows drift so far that a `refit` is due, as a warning does.

        Parameters
        ----------
        X : views, as in `fit`
            New rows, in the views of those before.
        y : ignored

        Examples
        --------
        >>> from manyview import S2MVTC
        >>> from manyview.datasets import make_views
        >>> views = make_views(300, (5, 4), 3, random_state=0)
        >>> model = S2MVTC(3, random_state=0)
        >>> for start in (0, 100, 200):
        ...     model = model.partial_fit(views[start : start + 100])
        >>> len(model.labels_), model.n_rows_kept_, model.changes_.changed_rows < 5
        (300, 300, True)
        """
        check_no_view(y)
        found: Self = manyview.growing.partial_fit(self, X)
        return found

    @property
    def n_rows_kept_(self) -> int:
        """How many rows the model holds, and its file with it, in order to grow."""
        rows = getattr(getattr(self, "_growth", None), "rows", None)
        return 0 if rows is None else int(rows[0].shape[0])

    def forget_rows(self) -> Self:
        """Let go of the rows that `partial_fit` has kept, for instance before `save`.

        The model does all else as before; few rows cannot be added to any more.
        """
        self.__dict__.pop("_growth", None)
        return self
