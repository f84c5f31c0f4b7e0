"""k-means on all views side by side, and on the view that looks best."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin, silhouette_score

from manyview.arrays.ops import namespace, to_host
from manyview.base import FloatArray, IntArray, by_caller
from manyview.baselines.parts.in_memory import dense_views, restored
from manyview.baselines.parts.parameters import ComparedMethod, check_parameters
from manyview.baselines.parts.standardise import feature_moments, z_feature
from manyview.engine.contract import NO_CHECKPOINT, Result, State, touches
from manyview.engine.local import open_engine
from manyview.errors import InputError
from manyview.files.checkpoint import Checkpoint
from manyview.kmeans import passes as assign
from manyview.kmeans.passes import quiet_fit
from manyview.stages.sampling import draw
from manyview.stages.scaling import Scaling, apply_scaling, measure
from manyview.views.arguments import check_count, child_seed, generator
from manyview.views.views import Block, Views

_MACQUEEN = (
    "J. MacQueen, Some methods for classification and analysis of multivariate "
    "observations, Berkeley Symposium on Mathematical Statistics and Probability, "
    "1967."
)


@dataclass(eq=False, repr=False, kw_only=True)
class ConcatKMeans(ComparedMethod):
    """k-means on the standardised views side by side.

    Every feature is brought to mean 0 and deviation 1, the views are put next to
    each other (X, one row per sample), and

        min_{y, C}  Σ_i ‖x_i - c_{y_i}‖²

    is descended by Lloyd's two steps, y_i = argmin_j ‖x_i - c_j‖² and c_j = mean of
    the rows with y_i = j. The first centres are the best of `n_init` k-means++
    runs on rows drawn by content (on small data, all of them), and one run from
    Ward's clusters. The same rows in another order get the same labels.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_init : int
        Number of k-means starts; the one of lowest inertia is kept.
    random_state : int, numpy.random.Generator or None
        Seed of the starts.
    engine : "local", "dask" or a distributed.Client
        Where the rows are.
    checkpoint : path, optional
        Folder from which a stopped fit resumes.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    cluster_centers_ : array (n_clusters, n_features of all views)
        Centres in standardised units.
    inertia_ : float
        The sum above.
    n_iter_ : int
        Lloyd iterations on all rows.

    Examples
    --------
    >>> from manyview.baselines import ConcatKMeans
    >>> views = [[[0.0, 0.1], [0.1, 0.0], [5.0, 5.1], [5.1, 5.0]], [[0], [0], [1], [1]]]
    >>> labels = ConcatKMeans(n_clusters=2, random_state=0).fit_predict(views)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    citation: ClassVar[str] = _MACQUEEN

    n_init: int = 10
    engine: Any = "local"
    checkpoint: Any = None

    def fit(self, X: Any, y: Any = None) -> Self:
        check_parameters(self)
        views = self._views_to_fit(X, y)
        folder = self.checkpoint
        saved = NO_CHECKPOINT if folder is None else Checkpoint(folder, self)
        rng = saved.keep("rng", generator(self.random_state))
        self._dtype = views.dtype
        engine = open_engine(views, self._dtype, engine=self.engine)
        size = min(engine.n_samples, max(assign.KMEANS_SAMPLE, self.n_clusters))
        moments = measure(engine)
        _require_every_view(all(m.n_rows == engine.n_samples for m in moments))
        drawn = draw(engine, size, child_seed(rng), moments)
        saved.check_data(drawn, engine)
        scalings = tuple(
            Scaling("standard", shift=m.mean, scale=m.inverse_std, dtype=m.dtype)
            for m in drawn.moments
        )
        engine.run(side_by_side_step, scalings, title="Standardising")
        found = assign.kmeans(
            engine,
            self.n_clusters,
            drawn.rows,
            n_init=self.n_init,
            seed=child_seed(rng),
            saved=saved,
        )
        ends = np.cumsum([m.mean.size for m in drawn.moments])
        parts = np.split(found.centres.points.astype(self._dtype), ends[:-1], axis=1)
        # The engine visits the views in an order of its own; the model keeps ours.
        self._scalings = tuple(by_caller(scalings, engine))
        self.cluster_centers_: FloatArray = np.hstack(by_caller(parts, engine))
        self.inertia_, self.n_iter_ = found.inertia, found.n_iter
        return self._store_labels(found.labels)

    def predict(self, X: Any) -> IntArray:
        """Nearest centre (n_samples,) of every row of `X`."""
        views = self._views_to_predict(X)
        found: IntArray = views.each(self._without_rows()._labels_of, np.intp, None)
        return found

    def _labels_of(self, views: Views) -> IntArray:
        engine = open_engine(views, self._dtype, view_order=range(views.n_views))
        engine.run(side_by_side_step, self._scalings, title="Standardising")
        centres = assign.euclidean(self.cluster_centers_.astype(np.float64))
        engine.run(assign.assign_step, centres, title="Labels", views=False)
        return to_host(engine.read(assign.LABELS)).astype(np.intp, copy=False)


def _require_every_view(complete: bool) -> None:
    if not complete:
        raise InputError(
            "ConcatKMeans needs every view of every row, but some rows of NaN mark "
            "missing views. Use S2MVTC, or drop the incomplete rows."
        )


@touches(writes=[assign.FIELD])
def side_by_side_step(
    block: Block, state: State, shared: tuple[Scaling, ...]
) -> Result:
    """All views of a row next to each other, every feature standardised."""
    _require_every_view(block.complete)
    dense = [x.toarray() if sp.issparse(x) else x for x in block.views]
    parts = [apply_scaling(x, s) for x, s in zip(dense, shared, strict=True)]
    return Result(state={assign.FIELD: namespace(*parts).concat(parts, axis=1)})


@dataclass(eq=False, repr=False, kw_only=True)
class BestViewKMeans(ComparedMethod):
    """k-means on the one view whose clusters are best separated.

    Every view is standardised and clustered alone as in `ConcatKMeans`; the view
    with the largest mean silhouette on a sample of rows,

        s = mean_i (b_i - a_i) / max(a_i, b_i),

    a_i the mean distance of row i to its own cluster and b_i to the next nearest,
    is kept. No labels are looked at; the view that would be best by the known
    labels is often another one. The same rows in another order get the same labels.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_init : int
        Number of k-means starts per view; the one of lowest inertia is kept.
    n_scored : int
        Number of rows the silhouette is taken on.
    random_state : int, numpy.random.Generator or None
        Seed of the starts and of the scored rows.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    best_view_ : int
        Position of the view that was kept.
    view_scores_ : array (n_views,)
        Silhouette of every view; -1 for a view that gave fewer than 2 clusters.
    cluster_centers_ : array (n_clusters, n_features of the view)
        Centres in standardised units.

    Examples
    --------
    >>> from manyview.baselines import BestViewKMeans
    >>> views = [[[0.0], [9.0], [4.0], [6.0]], [[0.0], [0.1], [5.0], [5.1]]]
    >>> BestViewKMeans(n_clusters=2, random_state=0).fit(views).best_view_
    1
    """

    citation: ClassVar[str] = _MACQUEEN

    n_init: int = 10
    n_scored: int = 2000

    def fit(self, X: Any, y: Any = None) -> Self:
        check_count(self.n_scored, "n_scored", least=2)
        Xs, order, rng = self._ordered(X, y)
        seed = child_seed(rng)  # one for all views: a view's place must not matter
        runs, scores = [], []
        for x in Xs:
            Z = z_feature(x)
            search = KMeans(self.n_clusters, n_init=self.n_init, random_state=seed)
            runs.append(quiet_fit(search, Z))
            scores.append(_separation(Z, runs[-1].labels_, self.n_scored))
        self.view_scores_ = np.array(scores)
        self.best_view_ = int(np.argmax(self.view_scores_))
        best = runs[self.best_view_]
        self._moments = feature_moments(Xs[self.best_view_])
        self.cluster_centers_: FloatArray = best.cluster_centers_
        self.n_iter_ = int(best.n_iter_)
        return self._store_labels(restored(best.labels_, order))

    def predict(self, X: Any) -> IntArray:
        """Nearest centre (n_samples,) of every row of `X` in the kept view."""
        Xs = dense_views(self._views_to_predict(X), self.cluster_centers_.dtype)
        Z = z_feature(Xs[self.best_view_], self._moments)
        nearest = pairwise_distances_argmin(Z, self.cluster_centers_)
        return np.asarray(nearest, dtype=np.intp)


def _separation(X: FloatArray, labels: IntArray, n_scored: int) -> float:
    """Mean silhouette of the first rows, which the content order has drawn."""
    rows, found = X[:n_scored], labels[:n_scored]
    if not 1 < len(np.unique(found)) < len(rows):
        return -1.0
    return float(silhouette_score(rows, found))
