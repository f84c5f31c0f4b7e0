"""Graphs of neighbours against dense ones written out, and pieces tied together."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from manyview.metrics import ari
from manyview.stages.leiden import leiden_with_k
from manyview.stages.neighbour_graph import (
    _ties,
    first_of_kind,
    kinds_of_rows,
    linked,
    nearest_rows,
    neighbour_graph,
    neighbours_of_views,
    normalised,
    self_tuned_graph,
)

# Of their size, for rows that are the same up to rounding, and for others.
SHARES = 1e-8, 1e-5


def everywhere(*arrays):
    return np.ones((len(arrays[0]), len(arrays)), bool)


def graph_of(arrays, present, sizes):
    near = neighbours_of_views(arrays, kinds_of_rows(arrays, present), max(sizes))
    return neighbour_graph(near, len(present), sizes)


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
    found = graph_of(arrays, everywhere(*arrays), sizes).toarray()
    np.testing.assert_allclose(found, wanted, atol=1e-12)


def test_rows_without_a_view_have_no_neighbours_there():
    rng = np.random.default_rng(3)
    arrays = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    present = everywhere(*arrays)
    present[:9, 1] = False
    found = graph_of(arrays, present, (8,)).toarray()
    wanted = dense_graph(arrays[0], 8)
    wanted[9:, 9:] += dense_graph(arrays[1][9:], 8)
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
    W = graph_of([X], everywhere(X), (3,))
    assert connected_components(W)[0] == 3
    whole = linked(W, [X], everywhere(X))
    new = np.argwhere((whole.toarray() > 0) & (W.toarray() == 0))
    assert sorted(map(tuple, new)) == [(14, 15), (15, 14), (29, 30), (30, 29)]
    assert whole[14, 15] == W.data.min()


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
@pytest.mark.parametrize("together", [37, 2**20])
def test_ties_are_those_of_all_distances(kind, together, monkeypatch):
    # Whole numbers: many are level, and then the first row of each comes first.
    monkeypatch.setattr("manyview.stages.neighbour_graph.JOB_NUMBERS", together)
    rng = np.random.default_rng(0)
    X, piece = (
        rng.integers(9, size=(60, 3)).astype(np.float32),
        rng.integers(6, size=60),
    )
    there = rng.random(60) < 0.8
    d = ((X[:, None].astype(float) - X) ** 2).sum(axis=2)
    d[(piece[:, None] == piece) | ~there[:, None] | ~there] = np.inf
    largest = np.bincount(piece).argmax()
    own = [np.flatnonzero(piece == p) for p in range(6) if p != largest]
    wanted = [(rows[d[rows].argmin() // 60], d[rows].argmin() % 60) for rows in own]
    np.testing.assert_array_equal(_ties(kind(X), there, piece), wanted)


def test_a_whole_graph_stays_as_it_is():
    X = np.random.default_rng(0).normal(size=(40, 3))
    W = graph_of([X], everywhere(X), (10,))
    assert linked(W, [X], everywhere(X)) is W


def test_rows_that_share_no_view_stay_apart():
    arrays = np.zeros((4, 1)), np.zeros((4, 1))
    present = everywhere(*arrays)
    present[:2, 0] = present[2:, 1] = False
    W = csr_array(np.kron(np.eye(2), [[0.0, 1.0], [1.0, 0.0]]))
    assert connected_components(linked(W, arrays, present))[0] == 2


def test_sparse_rows_are_as_near_as_dense_ones():
    X = np.random.default_rng(5).poisson(0.3, size=(50, 30)).astype(float)
    apart = nearest_rows(X, 7)[0]
    np.testing.assert_allclose(nearest_rows(csr_array(X), 7)[0], apart, atol=1e-9)
    far = csr_array(np.concatenate([X[:20], X[:20] + 100.0]))
    there = np.ones((40, 1), bool)
    whole = linked(graph_of([far], there, (3,)), [far], there)
    assert connected_components(whole)[0] == 1


@pytest.mark.parametrize("kind", [np.asarray, csr_array])
def test_rows_that_are_the_same_are_tied_to_as_many_each(kind):
    # Two kinds of 30 and of 3 rows, and 20 that differ from all.
    X = np.concatenate(
        [np.zeros((30, 2)), np.ones((3, 2)), np.eye(20, 2) + np.arange(2, 22)[:, None]]
    )
    kinds = kinds_of_rows([kind(X)], np.ones((53, 1), bool))
    near = neighbours_of_views([kind(X)], kinds, 8)
    assert sorted(len(rows) for rows in near[0].same) == [3, 30]
    W = neighbour_graph(near, 53, (8,)).toarray()
    np.testing.assert_allclose(W, W.T, rtol=1e-12)
    assert (np.diag(W) == 0).all()
    ties = (W[:30, :30] > 0).sum(axis=1)
    assert (ties == 8).all() and (W[1:30, 30:] == 0).all() and W[0, 30:].any()
    assert (W[30:33, 30:33] > 0).sum() == 6


def test_few_kinds_of_rows_have_a_full_say():
    """A view of three words, each in a third of the rows, tells these apart."""
    rng = np.random.default_rng(0)
    own = np.arange(300) % 3
    arrays = [np.eye(3)[own], rng.normal(size=(300, 8))]
    labels = leiden_with_k(graph_of(arrays, everywhere(*arrays), (10,)), 3, 0)
    assert ari(own, labels) == 1.0


@pytest.mark.parametrize("width", [3, 40])
def test_a_device_finds_the_same_neighbours(width, monkeypatch):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    X = 1e3 + np.random.default_rng(0).normal(size=(200, width))
    monkeypatch.setattr("manyview.stages.neighbour_graph.BATCH_NUMBERS", 7000)
    there = nearest_rows(torch.as_tensor(X), 9)
    here = nearest_rows(X, 9)
    np.testing.assert_array_equal(there[1], here[1])
    np.testing.assert_allclose(there[0], here[0], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "float16"])
def test_copies_are_found_among_rows_of_few_values(dtype):
    X = 100 * np.random.default_rng(0).integers(-1, 2, (300, 4)).astype(dtype)
    X = np.where(X == 0, -X, X)  # zeros of either sign
    rows = (X + 0.0).tolist()
    assert first_of_kind(X).tolist() == [rows.index(row) for row in rows]
    np.testing.assert_array_equal(
        first_of_kind(csr_array(X.astype(float))), first_of_kind(X)
    )


@pytest.mark.parametrize("size", [1e-50, 1.0, 1e50])
@pytest.mark.parametrize("width", [1, 3, 300])
def test_rows_are_the_same_up_to_rounding_alone(size, width):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, width))
    same, other = (X * (1 + share * rng.choice([-1, 1], X.shape)) for share in SHARES)
    found = first_of_kind(size * np.concatenate([X, same, other]))
    np.testing.assert_array_equal(found[:200], np.arange(200))
    np.testing.assert_array_equal(found[200:400], np.arange(200))
    np.testing.assert_array_equal(found[400:], np.arange(400, 600))


def test_rounding_of_rows_does_not_move_their_graph():
    """Groups of rows within rounding of each other, of more rows than neighbours."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    for start in range(0, 180, 60):
        spread = 10.0 ** rng.uniform(-16, -8, (60, 1)) * rng.normal(size=(60, 5))
        X[start : start + 60] = X[start] + spread
    moved = X * (1 + 4e-16 * rng.choice([-1, 0, 1], X.shape))
    graphs = [graph_of([x], everywhere(x), (5, 10)).toarray() for x in (X, moved)]
    np.testing.assert_allclose(*graphs, atol=1e-6)


@pytest.mark.parametrize("size", [1e-60, 1e-3, 1e60])
@pytest.mark.parametrize("kind", ["near", "level", "wide"])
def test_quick_products_miss_no_neighbour(kind, size):
    """Rows a millionth apart, many level distances, and rows wider than many."""
    rng = np.random.default_rng(0)
    shape = (300, 120) if kind == "wide" else (300, 9)
    X = rng.integers(0, 2, shape) if kind == "level" else rng.normal(size=shape)
    if kind == "near":
        X = np.concatenate([X[:100] + 1e-6 * step for step in rng.normal(size=(3, 9))])
    X = size * np.unique(X, axis=0)
    apart, ids = nearest_rows(X, 12)
    d = cdist(X, X) + np.diag(np.full(len(X), np.inf))
    np.testing.assert_allclose(apart, np.sort(d, axis=1)[:, :12], rtol=1e-9)
    np.testing.assert_allclose(np.take_along_axis(d, ids, axis=1), apart, rtol=1e-9)
    assert all(len(set(row)) == 12 for row in ids.tolist())
