"""New rows for fitted methods of passes: the same passes with the same small values.

So `predict` and `transform` are replays, row by row; on the training rows they give
back what the fit gave.
"""

import os
import warnings
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array
from sklearn import get_config
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

import manyview
from manyview.arrays.from_torch import in_one_place
from manyview.arrays.ops import to_host
from manyview.engine.contract import Engine
from manyview.engine.local import open_engine
from manyview.errors import OutsideWarning, UnsupportedError
from manyview.kmeans.nodes import Nodes, label_rows
from manyview.kmeans.passes import FIELD, LABELS, Centres
from manyview.selection import neighbour_score
from manyview.stages.probabilities import (
    all_probabilities,
    as_sparse,
    certainty,
    likeliest,
    soft_scores,
)
from manyview.stages.reach import BEYOND, Reach, look_beyond
from manyview.stages.sampling import Asked
from manyview.views.arguments import check_count, check_no_view
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
        As `certainty_` of the fit, less the farther a row lies outside all that the
        model has seen; NaN where a model of an earlier release does not know.
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
    best score where `nodes` are linear scores. `asked` calibrates probabilities;
    models of earlier versions have it not.
    """

    dtype: str
    view_order: tuple[int, ...]
    spectrum: Any
    start: Any
    rounds: tuple[Any, ...]
    centres: Centres
    nodes: Nodes | Centres | None = None
    asked: Asked | None = None


class PredictsByReplay(
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
):
    """Labels and embedding of new rows.

    A subclass gives `_replay(engine)`, which leaves the embedding in the engine's
    state, and stores its `Passes` in `_passes`.
    """

    device: str | None
    memory_limit: Any
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

    def predict_proba(self, X: Any, *, top: int | None = None) -> Any:
        """Probability of every cluster for every row of new views.

        The chance that one view alone, taken by its weight, would put the row there:
        that most of its nearest rows in this view are in the cluster. `predict` gives
        the likeliest cluster. See `manyview.stages.probabilities`.

        Parameters
        ----------
        X : views, as in `fit`
        top : int, optional
            Only the likeliest clusters of every row, as a sparse SciPy array.

        Returns
        -------
        array (n_rows, n_clusters)
            Rows sum to 1; of the sparse ones, to what the clusters left out leave.

        Examples
        --------
        >>> from manyview import AnchorSpectral
        >>> from manyview.datasets import make_views
        >>> views = make_views(200, (5, 4), 3, random_state=0)
        >>> model = AnchorSpectral(3, random_state=0).fit(views)
        >>> model.predict_proba(views[:5]).shape
        (5, 3)
        >>> model.predict_proba(views[:5], top=1).nnz
        5
        """
        n_clusters, top = self._check_top(top)
        views = self._views_to_predict(X)
        self._warn_of_new_rows()
        width = n_clusters if top is None else 2 * top
        likely = partial(self._without_rows()._likely_of, top=top)
        found = views.each(likely, np.float64, width)
        if top is not None:
            return as_sparse(np.asarray(found), n_clusters)
        return in_one_place([found, *filter(is_torch_array, views.arrays)])[0]

    def labels_proba(self, top: int = 3) -> sp.csr_array:
        """The likeliest clusters of every row of the fit, as `predict_proba` gives."""
        n_clusters, _ = self._check_top(top)
        return as_sparse(self._likeliest(top), n_clusters)

    @property
    def labels_proba_(self) -> FloatArray:
        """Probability of every cluster for every row of the fit, as `predict_proba`.

        A tensor beside tensors of labels. Where that is much, `labels_proba` gives
        the likeliest ones alone.
        """
        self._check_fitted()
        found = all_probabilities(*self._fitted_rows(), self._soft_scores())
        beside: FloatArray = in_one_place([found, self.embedding_])[0]
        return beside

    @property
    def certainty_(self) -> FloatArray:
        """Probability of its own cluster for every row of the fit.

        A tensor beside tensors of labels; see `predict_proba`.
        """
        self._check_fitted()
        found = certainty(*self._fitted_rows(), self._soft_scores())
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
        found = self._labels(self._embed(views))
        # A copy: under a limit they may lie in a scratch file.
        return found if is_torch_array(found) else np.array(found, np.intp)

    def _placed_of(self, views: Views, *, embedded: bool = False) -> FloatArray:
        """Labels, certainty and distances in units of the reach, side by side.

        With `embedded` the embedding stands beside them.
        """
        engine = self._embed(views)
        labels, rows = to_host(self._labels(engine)), to_host(engine.read(FIELD))
        sure = np.full(len(labels), np.nan)
        if self._passes.asked is not None:
            sure = certainty(rows, labels, self._soft_scores())
        beyond = np.zeros((len(labels), views.n_views))
        if getattr(self, "_reach", None) is not None:
            own = to_host(engine.read(BEYOND))
            beyond = own[:, np.argsort(self._passes.view_order)].astype(np.float64)
        sure = sure / np.maximum(beyond.max(axis=1), 1.0)
        parts = [labels, sure, beyond, *([rows] if embedded else [])]
        return np.column_stack(parts)

    def _likeliest(self, top: int) -> FloatArray:
        """The `top` likeliest clusters of every row of the fit, and how likely."""
        rows, labels, soft = *self._fitted_rows(), self._soft_scores()
        return likeliest(rows, labels, soft, min(top, len(soft.points)))

    def _fitted_rows(self) -> tuple[FloatArray, IntArray]:
        return to_host(self.embedding_), to_host(self.labels_)

    def _likely_of(self, views: Views, top: int | None) -> FloatArray:
        """Probabilities of all clusters, or numbers and probabilities of the `top`."""
        engine = self._embed(views)
        labels, rows = to_host(self._labels(engine)), to_host(engine.read(FIELD))
        if top is None:
            return all_probabilities(rows, labels, self._soft_scores())
        return likeliest(rows, labels, self._soft_scores(), top)

    def _labels(self, engine: Engine) -> IntArray:
        label_rows(engine, self._passes.centres, self._passes.nodes)
        found: IntArray = engine.read(LABELS)
        return found

    def _soft_scores(self) -> Centres:
        passes = self._passes
        if passes.asked is None:
            raise UnsupportedError(
                "The model knows no probabilities: an earlier release has written it. "
                "Fit it again."
            )
        return soft_scores(passes.asked, passes.centres, passes.nodes)

    def _check_top(self, top: int | None) -> tuple[int, int | None]:
        """Of a fitted model: how many clusters it numbers, and as many at most."""
        self._check_fitted()
        n_clusters = len(self._passes.centres.points)
        if top is None:
            return n_clusters, None
        check_count(top, "top")
        return n_clusters, min(top, n_clusters)

    def _embedding_of(self, views: Views) -> FloatArray:
        found: FloatArray = self._embed(views).read(FIELD)
        return found

    def _embed(self, views: Views) -> Engine:
        engine = open_engine(
            views,
            np.dtype(self._passes.dtype),
            device=self.device,
            memory_limit=self.memory_limit,
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
