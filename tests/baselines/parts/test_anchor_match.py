import numpy as np
import pytest
from scipy.optimize import minimize

from manyview.baselines.parts.anchor_match import (
    correspondence,
    doubly_stochastic,
    fuse,
    match,
)
from manyview.baselines.parts.simplex import project_simplex


def graph(seed=0, n_anchors=5):
    sharp = 4 * np.random.default_rng(seed).normal(size=(200, n_anchors))
    return project_simplex(sharp + np.arange(n_anchors) / 2)


@pytest.mark.parametrize("lam", [1.0, 1e4])
@pytest.mark.parametrize("exact", [False, True])
def test_renumbered_anchors_are_found_again(lam, exact):
    Z = graph()
    renumbered = np.array([3, 0, 4, 1, 2])
    np.testing.assert_array_equal(match(Z, Z[:, renumbered], lam, exact), renumbered)


def test_exact_matching_is_one_to_one_where_the_released_one_is_not():
    Z1, Zv = graph(0), np.tile(graph(0).mean(axis=1, keepdims=True), 5)
    assert len(set(match(Z1, Zv, 1.0, exact=False).tolist())) < 5
    assert sorted(match(Z1, Zv, 1.0, exact=True)) == [0, 1, 2, 3, 4]


def test_one_round_is_the_projection_on_unit_sums_then_clipping():
    Y = np.random.default_rng(0).uniform(size=(3, 3))
    sums = [
        {
            "type": "eq",
            "fun": lambda p, i=i: p.reshape(3, 3).sum(axis=i // 3)[i % 3] - 1,
        }
        for i in range(5)
    ]
    solved = minimize(
        lambda p: ((p - Y.ravel()) ** 2).sum(), Y.ravel(), constraints=sums, tol=1e-14
    )
    expected = np.maximum(solved.x.reshape(3, 3), 0)
    np.testing.assert_allclose(doubly_stochastic(Y, 1), expected, atol=1e-6)


def test_many_rounds_give_unit_sums():
    P = doubly_stochastic(np.random.default_rng(0).uniform(size=(4, 4)), 500)
    np.testing.assert_allclose(P.sum(axis=0), 1, atol=1e-6)
    np.testing.assert_allclose(P.sum(axis=1), 1, atol=1e-6)
    assert P.min() >= 0


def test_correspondence_is_scaled_to_largest_entry_one():
    Z1, Zv = graph(0), graph(1)
    M = correspondence(Z1.T @ Z1, Zv.T @ Zv, Z1.T @ Zv, 1.0)
    assert M.max() == 1
    assert M.min() >= 0


def test_fusion_adds_matched_columns_and_keeps_rows_stochastic():
    Z1, Zv = np.array([[0.6, 0.4, 0.0]]), np.array([[0.2, 0.3, 0.5]])
    fused = fuse([Z1, Zv], np.array([[0, 1, 2], [1, 1, 0]]))
    np.testing.assert_allclose(fused, [[0.55, 0.45, 0.0]])
