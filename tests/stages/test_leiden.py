"""Leiden's clustering: known partitions, exact numbers of clusters, pieces."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.errors import DependencyError
from manyview.stages.leiden import joined, leiden, leiden_with_k, renumbered


def ring_of_cliques(n_cliques, size):
    """Full cliques, each tied to the next by one edge; and whose node is whose."""
    own = np.repeat(np.arange(n_cliques), size)
    W = (own[:, None] == own).astype(float) - np.eye(len(own))
    firsts = np.arange(n_cliques) * size
    for a, b in zip(firsts, np.roll(firsts, -1) + 1, strict=True):
        W[a, b] = W[b, a] = 1.0
    return sp.csr_array(W), own


def modularity(W, labels, resolution):
    """Q over all pairs, as the head of the module writes it."""
    W = W.toarray()
    d = W.sum(axis=1)
    same = labels[:, None] == labels
    return float(((W - resolution * np.outer(d, d) / d.sum()) * same).sum() / d.sum())


def test_cliques_are_found():
    W, own = ring_of_cliques(6, 5)
    np.testing.assert_array_equal(leiden(W, 1.0, 0), own)


@pytest.mark.parametrize("resolution", [0.3, 1.0, 3.0])
def test_no_single_move_is_better(resolution):
    rng = np.random.default_rng(1)
    A = np.triu(rng.random((24, 24)) * (rng.random((24, 24)) < 0.3), 1)
    W = sp.csr_array(A + A.T)
    labels = leiden(W, resolution, 0)
    reached = modularity(W, labels, resolution)
    for node in range(24):
        for other in range(labels.max() + 2):
            moved = labels.copy()
            moved[node] = other
            assert modularity(W, moved, resolution) <= reached + 1e-9


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 4, 6, 11, 30])
def test_as_many_clusters_as_asked(n_clusters):
    W, _ = ring_of_cliques(6, 5)
    labels = leiden_with_k(W, n_clusters, 0)
    assert set(labels) == set(range(n_clusters))


def test_the_seed_decides():
    rng = np.random.default_rng(0)
    A = np.triu((rng.random((80, 80)) < 0.1).astype(float), 1)
    W = sp.csr_array(A + A.T)
    np.testing.assert_array_equal(leiden_with_k(W, 5, 3), leiden_with_k(W, 5, 3))
    runs = {tuple(leiden_with_k(W, 5, seed)) for seed in range(5)}
    assert len(runs) > 1


def test_nodes_without_edges_are_no_clusters():
    W, own = ring_of_cliques(3, 6)
    W = sp.block_diag([W, sp.csr_array((4, 4))], format="csr")
    labels = leiden_with_k(W, 3, 0)
    np.testing.assert_array_equal(labels[:18], own)
    assert len(set(labels[18:])) == 1


@pytest.mark.parametrize("n_clusters", [1, 3, 5])
def test_a_graph_without_edges(n_clusters):
    labels = leiden_with_k(sp.csr_array((5, 5)), n_clusters, 0)
    assert set(labels) == set(range(n_clusters))


def test_fewer_nodes_than_clusters():
    W = sp.csr_array(np.ones((2, 2)) - np.eye(2))
    np.testing.assert_array_equal(leiden_with_k(W, 4, 0), [0, 1])


def test_more_pieces_than_clusters():
    W = sp.block_diag([np.ones((s, s)) - np.eye(s) for s in (9, 7, 5, 3, 2)])
    labels = leiden_with_k(sp.csr_array(W), 3, 0)
    # The lightest pieces have no ties and join the heaviest.
    np.testing.assert_array_equal(labels, np.repeat([0, 1, 2, 0, 0], [9, 7, 5, 3, 2]))


def test_the_lightest_joins_what_it_is_tied_to():
    W = np.zeros((6, 6))
    for a, b, w in [(0, 1, 9), (2, 3, 9), (4, 5, 1), (1, 2, 1), (4, 3, 0.5)]:
        W[a, b] = W[b, a] = w
    labels = joined(sp.csr_array(W), np.repeat([0, 1, 2], 2), 2)
    np.testing.assert_array_equal(labels, [0, 0, 1, 1, 1, 1])


def test_joining_one_after_the_other():
    # A chain: 2 joins 1, and together they are tied to 0 through 1's tie.
    W = np.diag([4.0, 2.0, 1.0, 8.0])
    for a, b, w in [(0, 1, 1), (1, 2, 1)]:
        W[a, b] = W[b, a] = w
    np.testing.assert_array_equal(joined(W, np.arange(4), 2), [0, 0, 0, 1])


def test_numbered_by_first_appearance():
    np.testing.assert_array_equal(renumbered(np.array([7, 2, 7, 9])), [0, 1, 0, 2])


def test_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "graspologic_native", None)
    with pytest.raises(
        DependencyError, match="graspologic-native, which is not installed"
    ):
        leiden(sp.csr_array(np.ones((2, 2))), 1.0, 0)
