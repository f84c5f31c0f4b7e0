"""The updates that factor methods share, against what they minimise."""

import numpy as np
import pytest
from scipy.optimize import minimize

from manyview.baselines.parts.factor_updates import (
    anchor_step,
    inverse_weights,
    misfit,
)
from manyview.baselines.parts.procrustes import polar


def test_inverse_weights_minimise_the_weighted_sum():
    losses = np.array([3.0, 1.0, 7.0])
    solved = minimize(
        lambda a: (a**2 * losses).sum(),
        np.full(3, 1 / 3),
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1},
        options={"ftol": 1e-15},
    )
    np.testing.assert_allclose(inverse_weights(losses), solved.x, atol=1e-6)
    released = inverse_weights(losses, root=True)
    np.testing.assert_allclose(released * np.sqrt(losses), released[1])


def test_a_view_without_loss_does_not_divide_by_zero():
    for root in (False, True):
        weights = inverse_weights(np.array([0.0, 2.0]), root=root)
        assert np.isfinite(weights).all() and weights[0] > 0.999
    np.testing.assert_allclose(inverse_weights(np.zeros(3)), 1 / 3)


def test_misfit_is_the_squared_distance_and_never_negative():
    rng = np.random.default_rng(0)
    X, Z, M = (rng.normal(size=shape) for shape in ((30, 5), (30, 3), (5, 3)))
    expected = np.sum((X - Z @ M.T) ** 2)
    assert misfit(np.sum(X**2), X @ M, M, Z) == pytest.approx(expected)
    fitted = Z @ M.T
    assert misfit(np.sum(fitted**2) * (1 - 1e-12), fitted @ M, M, Z) == 0.0


def test_anchor_step_takes_the_old_then_the_new_anchors():
    rng = np.random.default_rng(1)
    Xs, A = [rng.normal(size=(20, d)) for d in (4, 6)], polar(rng.normal(size=(3, 3)))
    Z, shares = rng.random((20, 3)), np.array([0.2, 0.7])
    Ws = [polar(x.T @ Z @ A.T) for x in Xs]
    pairs = zip(shares, Ws, Xs, strict=True)
    expected = polar(sum(s * W.T @ x.T @ Z for s, W, x in pairs))
    carried, found = anchor_step(Xs, A, Z, shares)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    for M, W in zip(carried, Ws, strict=True):
        np.testing.assert_allclose(M, W @ expected, atol=1e-12)
