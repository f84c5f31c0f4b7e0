import numpy as np

from manyview.arrays.ops import unit_rows
from manyview.kmeans.spherical import (
    best_direction,
    directional_lloyd,
    spherical_kmeans,
    update_centres,
)


def directions(seed=0, n_rows=200, n_clusters=4):
    rng = np.random.default_rng(seed)
    truth = np.arange(n_rows) % n_clusters
    X = 3 * np.eye(n_clusters)[truth] + 0.3 * rng.normal(size=(n_rows, n_clusters))
    return X * rng.uniform(0.1, 10, (n_rows, 1)), truth


def test_finds_directions_whatever_the_lengths():
    X, truth = directions()
    labels = spherical_kmeans(X, 4, np.random.default_rng(0), 5, 20).labels
    assert len(set(zip(truth, labels, strict=True))) == 4


def test_inertia_never_rises_with_more_iterations():
    rng = np.random.default_rng(3)
    X = unit_rows(rng.normal(size=(300, 5)))
    inertias = [
        directional_lloyd(X, X[:9], max_iter).inertia for max_iter in range(1, 15)
    ]
    assert inertias[-1] < inertias[0]
    assert (np.diff(inertias) <= 1e-9).all()


def test_centres_maximise_the_cosines_of_their_rows():
    X = unit_rows(np.random.default_rng(0).normal(size=(40, 3)))
    labels, fit = best_direction(X, X[:3])
    best = update_centres(X, labels, fit, 3)
    value = np.vecdot(X, best[labels]).sum()
    for seed in range(50):
        noise = 0.1 * np.random.default_rng(seed).normal(size=best.shape)
        other = unit_rows(best + noise)
        assert np.vecdot(X, other[labels]).sum() < value


def test_the_start_of_lowest_inertia_wins():
    X = unit_rows(np.random.default_rng(1).normal(size=(150, 4)))
    one_by_one = np.random.default_rng(5)
    runs = [
        directional_lloyd(X, X[one_by_one.choice(150, 8, replace=False)], 20)
        for _ in range(6)
    ]
    found = spherical_kmeans(X, 8, np.random.default_rng(5), 6, 20)
    np.testing.assert_allclose(found.inertia, min(run.inertia for run in runs))
    assert found.inertia < max(run.inertia for run in runs) - 0.1


def test_an_empty_cluster_restarts_at_the_worst_row():
    X = unit_rows(np.array([[1, 0], [1, 0.01], [1, 0.02], [0.1, 1.0]]))
    found = directional_lloyd(X, X[[0, 0]], 10)
    np.testing.assert_array_equal(found.labels == found.labels[3], [0, 0, 0, 1])


def test_zero_rows_and_equal_rows_are_harmless():
    X = np.vstack([np.zeros((3, 2)), np.ones((4, 2))])
    found = spherical_kmeans(X, 5, np.random.default_rng(0), 5, 20)
    assert np.isfinite(found.inertia)
    assert len(set(found.labels[3:])) == 1
