"""Starts of k-means: spread like k-means++, and not moved by rounding."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from manyview.kmeans.passes import spread_rows


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
