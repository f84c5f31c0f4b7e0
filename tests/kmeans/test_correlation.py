"""k-means by correlation against correlations themselves."""

import numpy as np
import pytest

from manyview.arrays.ops import z_score
from manyview.engine.local import LocalEngine
from manyview.kmeans.correlation import correlation, correlation_kmeans
from manyview.kmeans.passes import nearest
from manyview.views.views import Views


def engine_with(rows, block_rows=None):
    views = Views([np.ones((len(rows), 1))])
    engine = LocalEngine(views, np.float64, block_rows=block_rows)
    engine.put("B_bar", rows)
    return engine


@pytest.fixture
def blobs():
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(150) % 3)
    return 8.0 * rng.normal(size=(3, 6))[labels] + rng.normal(size=(150, 6)), labels


def test_correlation_takes_the_best_correlated_centre(blobs):
    rows = z_score(blobs[0])
    centres = correlation(blobs[0][:3], np.ones(3))
    expected = np.corrcoef(rows, blobs[0][:3])[:150, 150:].argmax(axis=1)
    np.testing.assert_array_equal(nearest(rows, centres)[0], expected)


def test_empty_cluster_is_never_chosen_by_correlation(blobs):
    centres = correlation(blobs[0][:3], np.array([1.0, 0.0, 2.0]))
    assert 1 not in nearest(z_score(blobs[0]), centres)[0]


def test_correlation_kmeans_separates_directions():
    rng = np.random.default_rng(3)
    truth = rng.permutation(np.arange(90) % 3)
    rows = z_score(rng.normal(size=(3, 8))[truth] + 0.05 * rng.normal(size=(90, 8)))
    starts = np.array([np.flatnonzero(truth == g)[0] for g in range(3)])
    _, labels, _, _ = correlation_kmeans(engine_with(rows, 20), starts)
    np.testing.assert_array_equal(labels, truth)


def test_steps_are_those_of_plain_means_and_correlations():
    rng = np.random.default_rng(4)
    rows, starts = z_score(rng.normal(size=(60, 5))), np.array([7, 40, 3, 21])
    means = rows[starts]
    for _ in range(4):
        labels = np.corrcoef(rows, means)[:60, 60:].argmax(axis=1)
        means = np.stack([rows[labels == j].mean(axis=0) for j in range(4)])
    labels = np.corrcoef(rows, means)[:60, 60:].argmax(axis=1)
    found = correlation_kmeans(engine_with(rows, 20), starts, max_iter=4)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_allclose(found.centres.points, z_score(means))
    assert found.n_iter == 4
