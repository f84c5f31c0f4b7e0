"""Spherical k-means: clusters of directions, by cosine."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from manyview.arrays.ops import index_sum, unit_rows
from manyview.base import FloatArray, IntArray


class SphericalClusters(NamedTuple):
    """Result of `spherical_kmeans`."""

    labels: IntArray
    centres: FloatArray
    inertia: float
    n_iter: int


def spherical_kmeans(
    X: FloatArray,
    n_clusters: int,
    *,
    rng: np.random.Generator,
    n_init: int = 5,
    max_iter: int = 20,
) -> SphericalClusters:
    """Minimise ``Σ_i (1 - x_i' c_{y_i})`` over labels y and unit centres c.

    Rows are brought to unit length. Alternates ``y_i = argmax_j x_i' c_j`` and
    ``c_j ∝ Σ_{y_i = j} x_i`` from `n_clusters` distinct random rows; of `n_init`
    such starts the one of lowest inertia is kept. A cluster that loses all its
    rows starts again from the row that fits its own cluster worst.

    Parameters
    ----------
    X : array (n_samples, n_features)
    n_clusters : int, at most n_samples
    rng : numpy.random.Generator
    n_init : int
    max_iter : int

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.kmeans.spherical import spherical_kmeans
    >>> X = np.array([[1.0, 0.1], [0.1, 2.0], [5.0, 0.0], [0.0, 1.0]])
    >>> y = spherical_kmeans(X, 2, rng=np.random.default_rng(0)).labels
    >>> bool(y[0] == y[2] != y[1] == y[3])
    True
    """
    X = unit_rows(X)
    starts = [rng.choice(len(X), size=n_clusters, replace=False) for _ in range(n_init)]
    runs = (lloyd(X, X[rows], max_iter) for rows in starts)
    return min(runs, key=lambda run: run.inertia)


def lloyd(X: FloatArray, centres: FloatArray, max_iter: int) -> SphericalClusters:
    """One run on unit rows from given unit centres."""
    labels, fit = assign(X, centres)
    n_iter, moved = 0, True
    while moved and n_iter < max_iter:
        n_iter += 1
        centres = update_centres(X, labels, fit, len(centres))
        old = labels
        labels, fit = assign(X, centres)
        moved = not np.array_equal(labels, old)
    return SphericalClusters(labels, centres, float((1 - fit).sum()), n_iter)


def assign(X: FloatArray, centres: FloatArray) -> tuple[IntArray, FloatArray]:
    """Label and cosine of the nearest centre of every row."""
    cosines = X @ centres.T
    labels = np.argmax(cosines, axis=1)
    return labels, np.take_along_axis(cosines, labels[:, None], axis=1)[:, 0]


def update_centres(
    X: FloatArray, labels: IntArray, fit: FloatArray, n_clusters: int
) -> FloatArray:
    """Unit sums of the clusters; empty ones restart at the worst-fitting rows."""
    sums: FloatArray = index_sum(X, labels, n_clusters)
    empty = np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0)
    if len(empty):
        sums[empty] = X[np.argsort(fit, kind="stable")[: len(empty)]]
    return np.asarray(unit_rows(sums))
