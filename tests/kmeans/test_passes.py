"""k-means as passes against a plain one."""

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score

from manyview.engine.contract import open_engine
from manyview.kmeans.passes import (
    _search,
    assign_step,
    centroids,
    euclidean,
    kmeans,
    nearest,
    partition,
    pick,
)
from manyview.kmeans.correlation import correlation, correlation_kmeans
from manyview.arrays.ops import z_score
from manyview.views.views import Views


def engine_with(rows, block_rows=None):
    views = Views([np.ones((len(rows), 1))])
    engine = open_engine(views, np.float64, block_rows=block_rows)
    engine.put("B_bar", rows)
    return engine


@pytest.fixture
def blobs():
    rng = np.random.default_rng(0)
    labels = rng.permutation(np.arange(150) % 3)
    return 8.0 * rng.normal(size=(3, 6))[labels] + rng.normal(size=(150, 6)), labels


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_z_score_rows(xp, dtype):
    rows = np.random.default_rng(1).normal(5, 3, size=(20, 7)).astype(dtype)
    found = np.asarray(z_score(xp.asarray(rows)))
    assert found.dtype == dtype
    np.testing.assert_allclose(found.mean(axis=1), 0.0, atol=1e-5)
    np.testing.assert_allclose(found.std(axis=1, ddof=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e20, -1 / 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_without_variance_become_zero(value, dtype):
    assert not z_score(np.full((3, 64), value, dtype=dtype)).any()


def test_z_score_of_one_component_is_zero():
    assert not z_score(np.array([[3.0], [-1.0]])).any()


def test_z_score_does_not_depend_on_units():
    rows = np.random.default_rng(2).normal(size=(5, 4))
    for factor in (1e-100, 1e100):
        np.testing.assert_allclose(z_score(rows * factor), z_score(rows), rtol=1e-12)


def test_nearest_centre_equals_brute_force(blobs):
    rows, _ = blobs
    points = rows[:4]
    d = ((rows[:, None] - points) ** 2).sum(axis=2)
    labels, cost = nearest(rows, euclidean(points))
    np.testing.assert_array_equal(labels, d.argmin(axis=1))
    np.testing.assert_allclose(cost + (rows**2).sum(axis=1), d.min(axis=1), atol=1e-9)


def test_correlation_takes_the_best_correlated_centre(blobs):
    rows = z_score(blobs[0])
    centres = correlation(blobs[0][:3], np.ones(3))
    expected = np.corrcoef(rows, blobs[0][:3])[:150, 150:].argmax(axis=1)
    np.testing.assert_array_equal(nearest(rows, centres)[0], expected)


def test_empty_cluster_is_never_chosen_by_correlation(blobs):
    centres = correlation(blobs[0][:3], np.array([1.0, 0.0, 2.0]))
    assert 1 not in nearest(z_score(blobs[0]), centres)[0]


def test_assign_step_sums(blobs):
    rows, labels = blobs
    points = np.stack([rows[labels == g].mean(axis=0) for g in range(3)])
    engine = engine_with(rows, block_rows=17)
    total, _ = engine.run(assign_step, euclidean(points), views=False)
    np.testing.assert_array_equal(engine.read("labels"), labels)
    np.testing.assert_array_equal(total["counts"], [50, 50, 50])
    np.testing.assert_allclose(total["sums"], points * 50)
    assert total["inertia"] == pytest.approx(((rows - points[labels]) ** 2).sum())


@pytest.mark.parametrize("block_rows", [None, 13])
def test_kmeans_finds_what_scikit_learn_finds(blobs, block_rows):
    rows, _ = blobs
    engine = engine_with(rows, block_rows)
    centres, labels, _, _ = kmeans(engine, 3, np.arange(len(rows)), n_init=5, seed=0)
    expected = KMeans(3, n_init=5, random_state=0).fit(rows)
    assert adjusted_rand_score(labels, expected.labels_) == 1.0
    np.testing.assert_array_equal(nearest(rows, centres)[0], labels)


def test_kmeans_on_all_rows_leaves_the_samples_optimum(blobs):
    rows, truth = blobs
    few = np.arange(20)
    _, labels, _, _ = kmeans(engine_with(rows), 3, few, n_init=5, seed=0)
    assert adjusted_rand_score(labels, truth) == 1.0


def test_kmeans_goes_on_from_an_earlier_partition():
    corners = np.array([[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.0]])
    rows = np.repeat(corners, 10, axis=0)
    across = np.repeat([0, 1, 0, 1], 10)
    everything = np.arange(len(rows))
    engine = engine_with(rows)
    _, best, _, _ = kmeans(engine, 2, everything, n_init=5, seed=0)
    _, labels, _, _ = kmeans(engine, 2, everything, n_init=5, seed=0, first=across)
    assert adjusted_rand_score(best, np.repeat([0, 1], 20)) == 1.0
    assert adjusted_rand_score(labels, across) == 1.0


def test_partition_is_that_of_the_drawn_rows(blobs):
    rows, truth = blobs
    some = np.arange(149, 49, -1)
    labels = partition(engine_with(rows, 13), 3, some, n_init=5, seed=0)
    assert adjusted_rand_score(labels, truth[some]) == 1.0


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_a_search_is_no_worse_than_from_wards_clusters(kind):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 8))[np.arange(1200) % 60] + rng.normal(
        size=(1200, 8), scale=0.3
    )
    merged = AgglomerativeClustering(60).fit_predict(rows)
    first = centroids(rows, merged, 60)
    least = KMeans(60, init=first, n_init=1, tol=0.0).fit(rows).inertia_
    near = rows if kind == "numpy" else pytest.importorskip("torch").as_tensor(rows)
    for seed in range(3):
        found = _search(near, 60, 1, seed)
        inertia = ((rows - found.centres[found.labels]) ** 2).sum()
        assert inertia <= (1 + 1e-5) * least


def test_a_label_without_rows_gets_one_of_them():
    rows = np.array([[1.0, 0.0], [3.0, 0.0]])
    found = centroids(rows, np.array([2, 2]), 3)
    np.testing.assert_allclose(found, [[1.0, 0.0], [3.0, 0.0], [2.0, 0.0]])


def test_empty_cluster_keeps_its_centre():
    rows = np.repeat([[0.0, 1.0], [5.0, 5.0]], 10, axis=0)
    centres, labels, _, _ = kmeans(
        engine_with(rows), 4, np.arange(20), n_init=2, seed=0
    )
    assert centres.points.shape == (4, 2) and np.isfinite(centres.points).all()
    assert len(np.unique(labels)) == 2


def test_kmeans_with_fewer_distinct_rows_gives_no_warning(recwarn):
    kmeans(engine_with(np.zeros((9, 2))), 3, np.arange(9), n_init=2, seed=0)
    assert not recwarn.list


def test_correlation_kmeans_separates_directions():
    rng = np.random.default_rng(3)
    truth = rng.permutation(np.arange(90) % 3)
    rows = z_score(rng.normal(size=(3, 8))[truth] + 0.05 * rng.normal(size=(90, 8)))
    starts = np.array([np.flatnonzero(truth == g)[0] for g in range(3)])
    _, labels, _, _ = correlation_kmeans(engine_with(rows, 20), starts)
    np.testing.assert_array_equal(labels, truth)


def test_pick_gives_rows_in_the_order_asked_for(blobs):
    rows, _ = blobs
    wanted = np.array([140, 3, 77, 3, 0])
    found = pick(engine_with(rows, 10), "B_bar", wanted)
    np.testing.assert_array_equal(found, rows[wanted])
