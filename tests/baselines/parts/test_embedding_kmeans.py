"""Left singular rows and the label-free choice among k-means runs."""

import numpy as np
from sklearn.cluster import KMeans

from manyview.baselines.parts.embedding_kmeans import cluster_rows, singular_rows


def test_rows_are_unit_and_span_the_columns():
    Z = np.random.default_rng(0).random((40, 4))
    E = singular_rows(Z)
    np.testing.assert_allclose(np.linalg.norm(E, axis=1), 1)
    U = np.linalg.svd(Z, full_matrices=False)[0]
    cosines = np.abs(np.sum(E * U, axis=1)) / np.linalg.norm(U, axis=1)
    np.testing.assert_allclose(cosines, 1)


def test_directions_that_are_rounding_are_left_out():
    Z = np.random.default_rng(0).random((40, 3))
    twice = np.concatenate([Z, Z[:, :1], np.zeros((40, 1))], axis=1)
    assert singular_rows(twice).shape == (40, 3)
    assert singular_rows(np.zeros((5, 2))).shape == (5, 1)


def test_lowest_inertia_wins():
    E = np.random.default_rng(0).normal(size=(200, 3))

    def inertia(labels):
        centres = np.array([E[labels == j].mean(axis=0) for j in range(8)])
        return ((E - centres[labels]) ** 2).sum()

    best = inertia(cluster_rows(E, 8, 20, np.random.default_rng(0)))
    single = [
        inertia(KMeans(8, n_init=1, random_state=s).fit_predict(E)) for s in range(10)
    ]
    assert best <= np.median(single)


def test_authors_start_from_any_rows_and_miss_clusters_that_spread_starts_find():
    rng = np.random.default_rng(0)
    centres = 100 * rng.normal(size=(40, 5))
    E = np.repeat(centres, 10, axis=0) + rng.normal(size=(400, 5))

    def found(protocol):
        labels = cluster_rows(E, 40, 1, np.random.default_rng(0), protocol)
        groups = labels.reshape(40, 10)
        return len(set(groups[:, 0])), len(set(labels))

    assert found("manyview")[0] > found("authors")[0]
    # Centres that lose all rows are given one, as in the authors' k-means.
    assert found("authors")[1] == 40
