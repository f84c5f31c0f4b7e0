"""k-means on all views side by side, and on the view that looks best."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin, silhouette_score

from ..base import (
    FloatArray,
    IntArray,
    MultiViewClusterer,
    check_count,
    child_seed,
    dense_views,
    generator,
)
from ..quiet_kmeans import quiet_fit
from ..standardise import feature_moments, z_feature
from .content_order import content_ordered, restored

_MACQUEEN = (
    "J. MacQueen, Some methods for classification and analysis of multivariate "
    "observations, Berkeley Symposium on Mathematical Statistics and Probability, "
    "1967."
)


class ConcatKMeans(MultiViewClusterer):
    """k-means on the standardised views side by side.

    Every feature is brought to mean 0 and deviation 1, the views are put next to
    each other (X, one row per sample), and

        min_{y, C}  Σ_i ‖x_i - c_{y_i}‖²

    is descended by Lloyd's two steps, y_i = argmin_j ‖x_i - c_j‖² and c_j = mean of
    the rows with y_i = j, from `n_init` k-means++ starts; the lowest sum wins.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_init : int
        Number of starts.
    random_state : int, numpy.random.Generator or None
        Seed of the starts.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    cluster_centers_ : array (n_clusters, n_features of all views)
        Centres in standardised units.
    inertia_ : float
        The sum above.
    n_iter_ : int
        Lloyd iterations of the winning start.

    Notes
    -----
    The same rows in another order get the same labels.

    Examples
    --------
    >>> from manyview.baselines import ConcatKMeans
    >>> views = [[[0.0, 0.1], [0.1, 0.0], [5.0, 5.1], [5.1, 5.0]], [[0], [0], [1], [1]]]
    >>> labels = ConcatKMeans(n_clusters=2, random_state=0).fit_predict(views)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    citation: ClassVar[str] = _MACQUEEN

    def __init__(
        self, n_clusters: int = 8, *, n_init: int = 10, random_state: Any = None
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of `X` (views of n_samples rows each); `y` is ignored."""
        check_count(self.n_init, "n_init")
        views = self._begin(X)
        rng = generator(self.random_state)
        Xs, order = content_ordered(views, rng)
        self._moments = [feature_moments(x) for x in Xs]
        seed = child_seed(rng)
        found = _kmeans(self._side_by_side(Xs), self.n_clusters, self.n_init, seed)
        self.cluster_centers_: FloatArray = found.cluster_centers_
        self.inertia_ = float(found.inertia_)
        self.n_iter_ = int(found.n_iter_)
        return self._finish(restored(found.labels_, order))

    def predict(self, X: Any) -> IntArray:
        """Nearest centre (n_samples,) of every row of `X`."""
        Xs = dense_views(self._again(X), self.cluster_centers_.dtype)
        return _nearest(self._side_by_side(Xs), self.cluster_centers_)

    def _side_by_side(self, Xs: list[FloatArray]) -> FloatArray:
        pairs = zip(Xs, self._moments, strict=True)
        return np.concatenate([z_feature(x, m) for x, m in pairs], axis=1)


class BestViewKMeans(MultiViewClusterer):
    """k-means on the one view whose clusters are best separated.

    Every view is standardised and clustered alone as in `ConcatKMeans`; the view
    with the largest mean silhouette on a sample of rows,

        s = mean_i (b_i - a_i) / max(a_i, b_i),

    a_i the mean distance of row i to its own cluster and b_i to the next nearest,
    is kept. No labels are looked at; the view that would be best by the known
    labels is often another one.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_init : int
        Number of k-means starts per view.
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

    Notes
    -----
    The same rows in another order get the same labels.

    Examples
    --------
    >>> from manyview.baselines import BestViewKMeans
    >>> views = [[[0.0], [9.0], [4.0], [6.0]], [[0.0], [0.1], [5.0], [5.1]]]
    >>> BestViewKMeans(n_clusters=2, random_state=0).fit(views).best_view_
    1
    """

    citation: ClassVar[str] = _MACQUEEN

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 10,
        n_scored: int = 2000,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.n_scored = n_scored
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of `X` (views of n_samples rows each); `y` is ignored."""
        check_count(self.n_init, "n_init")
        check_count(self.n_scored, "n_scored", least=2)
        views = self._begin(X)
        rng = generator(self.random_state)
        Xs, order = content_ordered(views, rng)
        seed = child_seed(rng)  # one for all views: a view's place must not matter
        runs, scores = [], []
        for x in Xs:
            Z = z_feature(x)
            runs.append(_kmeans(Z, self.n_clusters, self.n_init, seed))
            scores.append(_separation(Z, runs[-1].labels_, self.n_scored))
        self.view_scores_ = np.array(scores)
        self.best_view_ = int(np.argmax(self.view_scores_))
        best = runs[self.best_view_]
        self._moments = feature_moments(Xs[self.best_view_])
        self.cluster_centers_: FloatArray = best.cluster_centers_
        self.n_iter_ = int(best.n_iter_)
        return self._finish(restored(best.labels_, order))

    def predict(self, X: Any) -> IntArray:
        """Nearest centre (n_samples,) of every row of `X` in the kept view."""
        Xs = dense_views(self._again(X), self.cluster_centers_.dtype)
        Z = z_feature(Xs[self.best_view_], self._moments)
        return _nearest(Z, self.cluster_centers_)


def _kmeans(X: FloatArray, n_clusters: int, n_init: int, seed: int) -> KMeans:
    return quiet_fit(KMeans(n_clusters, n_init=n_init, random_state=seed), X)


def _nearest(X: FloatArray, centres: FloatArray) -> IntArray:
    return np.asarray(pairwise_distances_argmin(X, centres), dtype=np.intp)


def _separation(X: FloatArray, labels: IntArray, n_scored: int) -> float:
    """Mean silhouette of the first rows, which the content order has drawn."""
    rows, found = X[:n_scored], labels[:n_scored]
    if not 1 < len(np.unique(found)) < len(rows):
        return -1.0
    return float(silhouette_score(rows, found))
