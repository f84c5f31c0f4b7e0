"""The ridge weight by generalised cross-validation, from small matrices."""

import numpy as np
import pytest

from manyview.stages import ridge
from manyview.stages.ridge import (
    LEAST_EXPLAINED,
    SHARES,
    Target,
    choose_weight,
    validation_error,
)


def problem(noise, n=80, m=12, seed=0):
    """Centred features of unequal size and what they are to predict."""
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(n, m)) * np.geomspace(3.0, 0.05, m)
    Phi -= Phi.mean(axis=0)
    B = Phi @ rng.normal(size=(m, 4)) + noise * rng.normal(size=(n, 4)) + 7.0
    return Phi, B


def target_of(features, B):
    away = B - B.mean(axis=0)
    return Target(features.T @ away, float((away**2).sum()), len(B))


def error_from_all_rows(Phi, B, lam):
    """GCV by its definition, with the n × n matrix H."""
    away = B - B.mean(axis=0)
    H = Phi @ np.linalg.solve(Phi.T @ Phi + lam * np.eye(Phi.shape[1]), Phi.T)
    return ((away - H @ away) ** 2).sum() / (1.0 - np.trace(H) / len(B)) ** 2


def plain_ridge(Phi, lam):
    return ridge.factor_gram(Phi.T @ Phi, np.zeros(Phi.shape[1]), lam, 0.0)


@pytest.mark.parametrize("lam", [1e-3, 0.5, 40.0])
def test_error_from_small_matrices_equals_the_one_from_all_rows(lam):
    Phi, B = problem(noise=1.0)
    found = validation_error(plain_ridge(Phi, lam), lam, target_of(Phi, B))
    assert found == pytest.approx(error_from_all_rows(Phi, B, lam), rel=1e-9)


def test_error_of_leading_directions_is_that_of_the_features_they_span():
    Phi, B = problem(noise=1.0)
    lam, zero = 30.0, np.zeros(12)
    made = ridge.factor_gram(Phi.T @ Phi, zero, lam, 0.5)
    assert made.reduce is not None
    Psi = ridge.reduced(Phi, zero, made.reduce)
    found = validation_error(made, lam, target_of(Psi, B))
    U = np.linalg.svd(Phi, full_matrices=False)[0][:, : Psi.shape[1]]
    few = U @ (U.T @ Phi)
    assert found == pytest.approx(error_from_all_rows(few, B, lam), rel=1e-8)


@pytest.mark.parametrize("noise", [0.0, 0.3, 3.0])
def test_the_weight_of_least_error_is_chosen(noise):
    Phi, B = problem(noise)
    size = np.trace(Phi.T @ Phi) / 12
    errors = [error_from_all_rows(Phi, B, s * size) for s in SHARES]
    best = SHARES[int(np.argmin(errors))] * size
    made, explained = choose_weight(plain_ridge(Phi, 1.0), target_of(Phi, B))
    inverse = np.linalg.inv(Phi.T @ Phi + best * np.eye(12))
    np.testing.assert_allclose(made.factor, inverse, rtol=1e-8)
    square = ((B - B.mean(axis=0)) ** 2).sum()
    assert explained == pytest.approx(max(1 - min(errors) / square, LEAST_EXPLAINED))


def test_more_noise_asks_for_a_larger_weight_and_explains_less():
    found = []
    for noise in (0.0, 5.0):
        Phi, B = problem(noise)
        made, explained = choose_weight(plain_ridge(Phi, 1.0), target_of(Phi, B))
        found.append((np.trace(made.factor), explained))
    assert found[0][0] > found[1][0] and found[0][1] > 0.99 > found[1][1]


def test_features_that_tell_nothing_keep_their_ridge():
    nothing = plain_ridge(np.zeros((9, 3)), 0.0)
    target = Target(np.zeros((3, 2)), 5.0, 9)
    assert choose_weight(nothing, target) == (nothing, LEAST_EXPLAINED)
    Phi, _ = problem(0.0)
    constant = Target(np.zeros((12, 2)), 0.0, 80)
    assert choose_weight(plain_ridge(Phi, 1.0), constant)[1] == LEAST_EXPLAINED


def test_noise_explains_next_to_nothing():
    rng = np.random.default_rng(3)
    Phi, B = problem(0.0)
    noise = rng.normal(size=B.shape)
    _, explained = choose_weight(plain_ridge(Phi, 1.0), target_of(Phi, noise))
    assert explained == LEAST_EXPLAINED
