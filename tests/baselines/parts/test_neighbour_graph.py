"""Graphs of neighbours against dense ones written out, and pieces tied together."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from manyview.baselines.parts.neighbour_graph import (
    linked,
    nearest_rows,
    neighbour_graph,
    normalised,
    self_tuned_graph,
)
from manyview.baselines.parts.prepared_rows import PreparedRows


def as_rows(*arrays):
    n_rows = len(arrays[0])
    there = np.ones((n_rows, len(arrays)), bool)
    views = tuple(range(len(arrays)))
    return PreparedRows(list(arrays), there, np.arange(n_rows), views)


def dense_graph(X, k):
    """Every step over all pairs."""
    d = cdist(X, X)
    np.fill_diagonal(d, np.inf)
    s = np.sort(d, axis=1)[:, 6]
    near = d <= np.sort(d, axis=1)[:, k - 1 : k]
    W = np.where(near | near.T, np.exp(-(d**2) / np.outer(s, s)), 0.0)
    degree = W.sum(axis=1)
    return W / np.sqrt(np.outer(degree, degree))


@pytest.mark.parametrize("width", [2, 40])
def test_nearest_rows_are_the_nearest(width):
    X = np.random.default_rng(0).normal(size=(60, width))
    apart, ids = nearest_rows(X, 5)
    d = cdist(X, X)
    np.fill_diagonal(d, np.inf)
    np.testing.assert_allclose(apart, np.sort(d, axis=1)[:, :5])
    np.testing.assert_array_equal(ids, np.argsort(d, axis=1)[:, :5])


def test_close_rows_far_from_zero_keep_their_distances():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 20)) * 1e-5 + 100.0
    d = cdist(X, X) + np.diag(np.full(50, np.inf))
    np.testing.assert_allclose(nearest_rows(X, 1)[0][:, 0], d.min(axis=1), rtol=1e-6)


def test_a_row_is_none_of_its_own_neighbours():
    X = np.repeat(np.arange(3.0), 20)[:, None]
    ids = nearest_rows(X, 4)[1]
    assert (ids != np.arange(60)[:, None]).all()
    np.testing.assert_array_equal(X[ids, 0], np.repeat(X, 4, axis=1))


def test_no_more_neighbours_than_rows():
    assert nearest_rows(np.eye(3), 10)[1].shape == (3, 2)


@pytest.mark.parametrize("sizes", [(10,), (5, 10, 20)])
def test_the_sum_of_all_graphs(sizes):
    rng = np.random.default_rng(2)
    arrays = rng.normal(size=(70, 3)), rng.normal(size=(70, 6))
    wanted = sum(dense_graph(X, k) for X in arrays for k in sizes)
    found = neighbour_graph(as_rows(*arrays), sizes).toarray()
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_rows_without_a_view_have_no_neighbours_there():
    rng = np.random.default_rng(3)
    rows = as_rows(rng.normal(size=(40, 3)), rng.normal(size=(40, 2)))
    rows.present[:9, 1] = False
    found = neighbour_graph(rows, (8,)).toarray()
    wanted = dense_graph(rows.arrays[0], 8)
    wanted[9:, 9:] += dense_graph(rows.arrays[1][9:], 8)
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_copies_have_the_mean_width_of_the_others():
    # Nine copies, whose 7th neighbour is none away, and a row beside them.
    X = np.concatenate([np.zeros((9, 1)), np.arange(1.0, 12)[:, None]])
    apart, ids = nearest_rows(X, 10)
    W = self_tuned_graph(apart, ids, 10).toarray()
    widths = apart[9:, 6]
    assert W[9, 0] == pytest.approx(np.exp(-1 / (widths[0] * widths.mean())))


def test_normalised_has_a_first_eigenvalue_of_one():
    X = np.random.default_rng(0).normal(size=(40, 3))
    W = normalised(self_tuned_graph(*nearest_rows(X, 10), 10))
    np.testing.assert_allclose(np.linalg.eigvalsh(W.toarray())[-1], 1)


def test_pieces_are_tied_where_they_are_nearest():
    # Three groups on a line: the outer ones are nearest to the middle one.
    X = np.concatenate([c + np.arange(15) / 15 for c in (0.0, 10.0, 30.0)])[:, None]
    rows = as_rows(X)
    W = neighbour_graph(rows, (3,))
    assert connected_components(W)[0] == 3
    whole = linked(W, rows)
    new = np.argwhere((whole.toarray() > 0) & (W.toarray() == 0))
    assert sorted(map(tuple, new)) == [(14, 15), (15, 14), (29, 30), (30, 29)]
    assert whole[14, 15] == W.data.min()


def test_a_whole_graph_stays_as_it_is():
    rows = as_rows(np.random.default_rng(0).normal(size=(40, 3)))
    W = neighbour_graph(rows, (10,))
    assert linked(W, rows) is W


def test_rows_that_share_no_view_stay_apart():
    rows = as_rows(np.zeros((4, 1)), np.zeros((4, 1)))
    rows.present[:2, 0] = rows.present[2:, 1] = False
    W = csr_array(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]))
    assert connected_components(linked(W, rows))[0] == 2
