import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize

from manyview.baselines.parts import bipartite
from manyview.baselines.parts.bipartite import (
    anchor_graph,
    component_graph,
    components,
    nearest_anchors,
    settle_components,
    spectrum,
)
from manyview.baselines.parts.simplex import project_simplex


def blocks_with_noise(n_blocks, seed=0, leak=0.05):
    """A graph of blocks (6 rows, 3 anchors each) with a little weight in between."""
    rng = np.random.default_rng(seed)
    G = np.kron(np.eye(n_blocks), np.ones((6, 3))) * rng.uniform(0.5, 1, (1, 1))
    G = G * rng.uniform(0.5, 1.5, G.shape) + leak * rng.uniform(size=G.shape)
    return sp.csr_array(G / G.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_nearest_anchors_match_brute_force_far_from_the_origin(dtype, shift):
    rng = np.random.default_rng(5)
    X = (rng.normal(size=(70, 4)) + shift).astype(dtype)
    A = (rng.normal(size=(12, 4)) + shift).astype(dtype)
    squared, ids = nearest_anchors(X, A, 3)
    all_pairs = ((X[:, None].astype(float) - A) ** 2).sum(axis=2)
    np.testing.assert_array_equal(ids, np.argsort(all_pairs, axis=1)[:, :3])
    close = 1e-4 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(squared, np.sort(all_pairs)[:, :3], atol=close)


def test_nearest_anchors_do_not_depend_on_the_block_size(monkeypatch):
    rng = np.random.default_rng(0)
    X, A = rng.normal(size=(50, 3)), rng.normal(size=(9, 3))
    whole = nearest_anchors(X, A, 4)
    monkeypatch.setattr(bipartite, "BLOCK_ENTRIES", 64)
    np.testing.assert_array_equal(nearest_anchors(X, A, 4)[1], whole[1])


def test_anchor_weights_minimise_the_regularised_problem_they_come_from():
    rng = np.random.default_rng(1)
    X, A, k = rng.normal(size=(30, 3)), rng.normal(size=(10, 3)), 4
    B = anchor_graph(X, A, k).toarray()
    h = ((X[:, None] - A) ** 2).sum(axis=2)
    ranked = np.sort(h, axis=1)
    gamma = (k * ranked[:, k] - ranked[:, :k].sum(axis=1)) / 2
    np.testing.assert_allclose(B, project_simplex(-h / (2 * gamma[:, None])), atol=1e-9)
    assert (np.count_nonzero(B, axis=1) == k).all()


def test_anchor_weights_are_equal_where_anchors_are_equally_far():
    B = anchor_graph(np.zeros((2, 2)), np.array([[1.0, 0], [0, 1], [-1, 0]]), 2)
    np.testing.assert_allclose(np.sort(B.toarray()), [[0, 0.5, 0.5]] * 2)
    same = anchor_graph(np.full((4, 2), 3.7), np.full((3, 2), 3.7), 10)
    np.testing.assert_allclose(same.sum(axis=1), 1)


def test_a_single_anchor_takes_every_row():
    np.testing.assert_array_equal(
        anchor_graph(np.arange(3.0)[:, None], np.ones((1, 1)), 5).toarray(), 1
    )


def test_p_step_is_the_optimum_of_its_quadratic_program():
    G = sp.csr_array(np.array([[0.5, 0.3, 0.2, 0.0], [0.1, 0.0, 0.5, 0.4]]))
    t, lam = np.array([0.4, 1.0, 0.1, 0.9, 0.2, 0.3]), 0.7
    P = bipartite._bend(G, t, lam, exact=True).toarray()
    row = [0, 0, 0, 1, 1, 1]

    def value(p):
        return ((p - G.data) ** 2).sum() + lam * (p * t).sum()

    sums = [
        {"type": "eq", "fun": lambda p, r=r: p[np.array(row) == r].sum() - 1}
        for r in (0, 1)
    ]
    solved = minimize(
        value, np.full(6, 1 / 3), bounds=[(0, 1)] * 6, constraints=sums, tol=1e-12
    )
    np.testing.assert_allclose(P[row, G.indices], solved.x, atol=1e-5)


def test_spread_is_the_distance_of_the_two_embeddings(monkeypatch):
    monkeypatch.setattr(bipartite, "BLOCK_ENTRIES", 20)
    rng = np.random.default_rng(0)
    G = blocks_with_noise(2)
    a, b = rng.normal(size=(12, 3)), rng.normal(size=(6, 3))
    rows, columns = G.nonzero()
    expected = ((a[rows] - b[columns]) ** 2).sum(axis=1)
    np.testing.assert_allclose(bipartite._spread(G, a, b), expected)


def test_spectrum_is_the_svd_of_the_normalised_graph():
    G = blocks_with_noise(3)
    D1, D2 = G.sum(axis=1), G.sum(axis=0)
    S = G.toarray() / np.sqrt(D1[:, None] * D2)
    singular = np.linalg.svd(S)[1]
    found = spectrum(G, 3)
    np.testing.assert_allclose(found.eigenvalues, singular[:4] ** 2, atol=1e-12)
    F = np.vstack([found.U, found.V])
    np.testing.assert_allclose(F.T @ F, np.eye(3), atol=1e-12)
    np.testing.assert_allclose(S @ found.V, found.U * singular[:3], atol=1e-12)


def test_eigenvalue_one_counts_components_and_isolated_anchors_do_not():
    G = sp.csr_array(np.kron(np.eye(3), np.ones((4, 2))))
    padded = sp.csr_array(sp.hstack([G, sp.csr_array((12, 1))]))
    for graph in (G, padded):
        found = spectrum(graph, 3)
        assert found.has_at_least(3, 1e-9)
        assert not found.has_at_least(4, 1e-9)


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_component_graph_cuts_a_noisy_graph_into_its_blocks(exact, seed):
    found = component_graph(blocks_with_noise(4, seed), 4, exact=exact)
    truth = np.repeat(np.arange(4), 6)
    pairs = {(int(a), int(b)) for a, b in zip(truth, found.components, strict=True)}
    assert len(pairs) == 4
    assert found.components.max() == 3
    if exact:
        np.testing.assert_allclose(found.P.sum(axis=1), 1)


def test_component_graph_stays_on_the_support_of_its_input():
    G = blocks_with_noise(3).toarray()
    G[0, :3] = 0
    found = component_graph(sp.csr_array(G / G.sum(axis=1, keepdims=True)), 3)
    assert not found.P.toarray()[G == 0].any()


def test_component_graph_leaves_a_graph_that_is_already_cut():
    G = blocks_with_noise(2, leak=0.0)
    found = component_graph(G, 2)
    assert found.P is G
    np.testing.assert_array_equal(found.P.toarray(), G.toarray())


def test_component_graph_does_not_see_the_order_of_rows():
    G = blocks_with_noise(4, seed=9)
    order = np.random.default_rng(0).permutation(24)
    plain, mixed = component_graph(G, 4), component_graph(G[order], 4)
    np.testing.assert_allclose(
        mixed.P.toarray(), plain.P.toarray()[order], rtol=0, atol=1e-8
    )


def test_components_are_numbered_over_rows():
    P = sp.csr_array(np.array([[1.0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 0, 1]]))
    np.testing.assert_array_equal(components(P), [0, 1, 0, 1])


def test_too_many_components_merge_the_smallest_into_the_nearest():
    X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [4.0]])
    labels = np.array([0, 0, 0, 1, 1, 2])
    settled = settle_components(sp.csr_array((6, 3)), labels, [X], 2)
    np.testing.assert_array_equal(settled, [0, 0, 0, 1, 1, 1])


def test_too_few_components_cut_the_largest_at_its_weakest_place():
    G = blocks_with_noise(2, leak=0.02)
    settled = settle_components(G, components(G), [np.zeros((12, 1))], 2)
    assert len(set(settled[:6])) == len(set(settled[6:])) == 1
    assert settled[0] != settled[6]


def test_rows_that_are_all_alike_stay_together():
    P = sp.csr_array(np.full((5, 2), 0.5))
    settled = settle_components(P, np.zeros(5, int), [np.zeros((5, 1))], 3)
    np.testing.assert_array_equal(settled, 0)
