"""Spherical k-means: clusters of directions, by cosine."""

from typing import NamedTuple

import numpy as np

from manyview.arrays.ops import Matrix, index_sum, unit_rows
from manyview.kmeans.passes import Centres, nearest


class SphericalClusters(NamedTuple):
    """Result of `spherical_kmeans`."""

    labels: Matrix
    centres: Matrix
    inertia: float
    n_iter: int


def spherical_kmeans(
    X: Matrix, n_clusters: int, rng: np.random.Generator, n_init: int, max_iter: int
) -> SphericalClusters:
    """Minimise ``Σ_i (1 - x_i' c_{y_i})`` over labels y and unit centres c.

    Rows are brought to unit length. Alternates ``y_i = argmax_j x_i' c_j`` and
    ``c_j ∝ Σ_{y_i = j} x_i`` from `n_clusters` (at most n_samples) distinct random
    rows; of `n_init` such starts the one of lowest inertia is kept. A cluster that
    loses all its rows starts again from the row that fits its own cluster worst.
    """
    X = unit_rows(X)
    starts = [rng.choice(len(X), size=n_clusters, replace=False) for _ in range(n_init)]
    runs = (directional_lloyd(X, X[rows], max_iter) for rows in starts)
    return min(runs, key=lambda run: run.inertia)


def directional_lloyd(X: Matrix, centres: Matrix, max_iter: int) -> SphericalClusters:
    """One run on unit rows from given unit centres."""
    labels, cosines = best_direction(X, centres)
    n_iter, moved = 0, True
    while moved and n_iter < max_iter:
        n_iter += 1
        centres = update_centres(X, labels, cosines, len(centres))
        old = labels
        labels, cosines = best_direction(X, centres)
        moved = not np.array_equal(labels, old)
    return SphericalClusters(labels, centres, float((1 - cosines).sum()), n_iter)


def best_direction(X: Matrix, centres: Matrix) -> tuple[Matrix, Matrix]:
    """Label and cosine of the nearest centre of every row, all of unit length."""
    labels, cost = nearest(X, Centres(centres, np.zeros(len(centres))))
    return labels, cost / -2


def update_centres(
    X: Matrix, labels: Matrix, cosines: Matrix, n_clusters: int
) -> Matrix:
    """Unit sums of the clusters; empty ones restart at the worst-fitting rows."""
    sums: Matrix = index_sum(X, labels, n_clusters)
    empty = np.flatnonzero(np.bincount(labels, minlength=n_clusters) == 0)
    if len(empty):
        sums[empty] = X[np.argsort(cosines, kind="stable")[: len(empty)]]
    return np.asarray(unit_rows(sums))
