"""k-means as passes against a plain one; its starts are not moved by rounding."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score

from manyview.engine.local import LocalEngine
from manyview.kmeans.first_centres import spread_rows
from manyview.kmeans.lloyd import lloyd
from manyview.kmeans.passes import (
    _search,
    assign_step,
    centroids,
    euclidean,
    host_lloyd,
    kmeans,
    kmeans_anchors,
    nearest,
    partitions,
    pick,
    quiet_fit,
)
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


class NoTimeAtAll:
    """Random numbers that are all the smallest there is: one in millions is."""

    def standard_exponential(self, shape, dtype):
        return np.zeros(shape, dtype)


@pytest.mark.filterwarnings("error")
def test_a_row_that_repeats_a_picked_one_never_wins_the_race():
    rows = np.repeat([[0.0, 1.0], [2.0, 2.0], [5.0, 1.0]], 4, axis=0)
    picks = spread_rows(rows, 3, NoTimeAtAll())[0]
    assert sorted(picks // 4) == [0, 1, 2]
    # With no row left that stands apart, any will do.
    assert len(spread_rows(rows, 5, np.random.default_rng(0))[0]) == 5


def test_nearest_centre_equals_brute_force(blobs):
    rows, _ = blobs
    points = rows[:4]
    d = ((rows[:, None] - points) ** 2).sum(axis=2)
    labels, cost = nearest(rows, euclidean(points))
    np.testing.assert_array_equal(labels, d.argmin(axis=1))
    np.testing.assert_allclose(cost + (rows**2).sum(axis=1), d.min(axis=1), atol=1e-9)


def test_assign_step_sums(blobs):
    rows, labels = blobs
    points = np.stack([rows[labels == g].mean(axis=0) for g in range(3)])
    engine = engine_with(rows, block_rows=17)
    total, _ = engine.run(
        assign_step, euclidean(points), title="Clustering", views=False
    )
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
    several = partitions(engine_with(rows, 13), 3, some, n_init=5, seed=0)
    assert len(several) == 1  # all runs end in the same clusters
    assert adjusted_rand_score(several[0], truth[some]) == 1.0


@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_other_optima_of_nearly_the_same_inertia_come_after_the_best(kind):
    # The corners of a square, a little wider than high: two are joined either way.
    x = np.repeat([[0.0, 0.0], [1.002, 0.0], [0.0, 1.0], [1.002, 1.0]], 25, axis=0)
    x = np.concatenate([x, [[9.0, 9.0]] * 5])
    rows = x if kind == "numpy" else pytest.importorskip("torch").as_tensor(x)
    how = {"n_init": 10, "seed": 0}
    high, wide = partitions(engine_with(rows), 3, np.arange(len(x)), **how)
    assert adjusted_rand_score(high[:100], x[:100, 0] > 0) == 1.0
    assert adjusted_rand_score(wide[:100], x[:100, 1] > 0) == 1.0
    x[:, 0] *= 1.02  # far more than a hundredth of inertia
    rows = x if kind == "numpy" else pytest.importorskip("torch").as_tensor(x)
    assert len(partitions(engine_with(rows), 3, np.arange(len(x)), **how)) == 1


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
        _, centres, labels = (np.asarray(x) for x in _search(near, 60, 1, seed)[0])
        inertia = ((rows - centres[labels]) ** 2).sum()
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


def test_pick_gives_rows_in_the_order_asked_for(blobs):
    rows, _ = blobs
    wanted = np.array([140, 3, 77, 3, 0])
    found = pick(engine_with(rows, 10), "B_bar", wanted)
    np.testing.assert_array_equal(found, rows[wanted])


def test_rows_are_picked_by_their_squared_distance():
    rows = np.array([[0.0], [1.0], [3.0]])
    counts = np.zeros((3, 3))
    for seed in range(4000):
        rng = np.random.default_rng(seed)
        first, second = spread_rows(rows, 2, rng)[0]
        counts[first, second] += 1
    # Of two tries the one that lowers the sum of squares most is kept; from the
    # row at 0, trying both others, that is the row at 3.
    assert counts.diagonal().sum() == 0
    np.testing.assert_allclose(counts.sum(axis=1) / 4000, 1 / 3, atol=0.03)
    assert counts[0, 2] == counts[0].sum()


@given(st.integers(0, 50))
def test_rounding_does_not_move_the_picks(seed):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(400, 5))
    moved = rows + 1e-7 * rng.normal(size=rows.shape)
    picks = [spread_rows(x, 12, np.random.default_rng(seed)) for x in (rows, moved)]
    np.testing.assert_array_equal(*picks)


def test_clear_groups_get_one_start_each():
    rng = np.random.default_rng(0)
    centres = 100.0 * np.eye(6)
    groups = np.repeat(np.arange(6), 30)
    rows = centres[groups] + rng.normal(size=(180, 6))
    for seed in range(20):
        picks = spread_rows(rows, 6, np.random.default_rng(seed))[0]
        assert sorted(groups[picks]) == list(range(6))


def test_fewer_distinct_rows_than_clusters():
    rows = np.repeat([[1.0, 2.0], [3.0, 4.0]], 5, axis=0)
    picks = spread_rows(rows, 4, np.random.default_rng(0), n_starts=3)
    assert picks.shape == (3, 4)
    for own in picks:
        assert {tuple(r) for r in rows[own]} == {(1.0, 2.0), (3.0, 4.0)}


def test_searches_side_by_side_pick_where_distances_say():
    rng = np.random.default_rng(0)
    rows = 100.0 * np.eye(5)[np.repeat(np.arange(5), 20)] + rng.normal(size=(100, 5))
    picks = spread_rows(rows, 5, np.random.default_rng(1), n_starts=7)
    assert len({tuple(own) for own in picks}) > 1
    for own in picks:
        assert sorted(own // 20) == list(range(5))


def test_sparse_rows_are_picked_like_dense_ones():
    rng = np.random.default_rng(2)
    rows = rng.random((60, 8)) * (rng.random((60, 8)) < 0.4)
    dense = spread_rows(rows, 6, np.random.default_rng(3))
    sparse = spread_rows(sp.csr_array(rows), 6, np.random.default_rng(3))
    np.testing.assert_array_equal(sparse, dense)


def test_repeated_rows_are_clustered_without_a_word(recwarn):
    search = KMeans(3, n_init=1, random_state=0)
    assert quiet_fit(search, np.ones((9, 2))) is search
    assert search.labels_.shape == (9,) and not recwarn.list


def test_kmeans_anchors_are_seeded_and_fewer_than_rows():
    rows = np.random.default_rng(11).normal(size=(200, 3))
    first, again = kmeans_anchors(rows, 8, 3), kmeans_anchors(rows, 8, 3)
    assert first.shape == (8, 3)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(kmeans_anchors(rows, 200, 3), rows)


def test_kmeans_anchors_of_few_distinct_rows_give_no_warning(recwarn):
    assert kmeans_anchors(np.repeat(np.eye(3), 10, axis=0), 9, 0).shape == (9, 3)
    assert not recwarn.list


def test_kmeans_anchors_of_sparse_rows_equal_those_of_dense_ones():
    rng = np.random.default_rng(12)
    rows = rng.random((80, 5)) * (rng.random((80, 5)) < 0.4)
    dense = kmeans_anchors(rows, 6, 0)
    found = kmeans_anchors(sp.csr_array(rows), 6, 0)
    np.testing.assert_allclose(found, dense, atol=1e-15)


def test_anchors_do_not_feel_rounding_where_rows_tie():
    # Many anchors: k-means++ must choose between rows that are mutual neighbours.
    rng = np.random.default_rng(14)
    rows = rng.normal(size=(300, 6))
    noisy = rows + 1e-15 * rng.normal(size=rows.shape)
    first, second = (
        kmeans_anchors(rows, 150, 0),
        kmeans_anchors(noisy, 150, 0),
    )
    np.testing.assert_allclose(first, second, atol=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_one_search_on_the_host_picks_the_rows_of_several(kind):
    """One by itself takes a shorter way."""
    rng = np.random.default_rng(15)
    rows = np.concatenate([rng.normal(size=(80, 5)), np.ones((9, 5))])
    times = rng.standard_exponential((30, 1, 89)).astype(np.float32)

    class Given:
        def standard_exponential(self, shape, dtype):
            return np.broadcast_to(times[: shape[0]], shape).copy()

    (alone,) = spread_rows(kind(rows), 30, Given())
    for picks in spread_rows(kind(rows), 30, Given(), n_starts=2):
        np.testing.assert_array_equal(picks, alone)


def test_sparse_steps_are_those_of_dense_rows():
    rng = np.random.default_rng(0)
    rows = np.maximum(rng.normal(size=(300, 12)), 0.0)
    start = rows[:40]
    found = host_lloyd(sp.csr_array(rows), start, 4)
    np.testing.assert_allclose(found, lloyd(rows, start[None], 4).centres[0])
