"""BMVC: every update against its sub-problem, descent, figures on CCV."""

import itertools

import numpy as np
import pytest
from scipy.linalg import cho_solve
from scipy.optimize import minimize

from manyview.baselines import BMVC
from manyview.baselines.bmvc import (
    State,
    cluster_codes,
    factor,
    first_clusters,
    first_codes,
    iterate,
    nearest_centroid,
    signs,
    view_loss,
    view_weights,
)
from manyview.metrics import clustering_scores

NUMBERS = {"r": 3.0, "beta": 0.5, "gamma": 0.05, "cluster_weight": 0.2, "mu": 1e-2}
MODEL = BMVC(rho=0.0, **NUMBERS)


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    Phis = [rng.normal(size=(90, m)) for m in (8, 12)]
    Phis = [Phi - Phi.mean(axis=0) for Phi in Phis]
    B = first_codes(Phis, 6, rng)
    C = B[:3].copy()
    now = State([], B, C, nearest_centroid(B, C), np.full(2, 0.5))
    return Phis, [factor(Phi, MODEL.beta, MODEL.gamma) for Phi in Phis], now


def bracket(B, Phi, U):
    R = Phi @ U
    fit = np.sum((B - R) ** 2) - MODEL.gamma * np.sum(R**2)
    return fit + MODEL.beta * np.sum(U**2)


def test_objective_is_what_the_docstring_says(problem):
    Phis, factors, now = problem
    now, value = iterate(Phis, factors, now, MODEL)
    parts = zip(now.a, Phis, now.Us, strict=True)
    expected = sum(a**3 * bracket(now.B, Phi, U) for a, Phi, U in parts)
    expected += MODEL.cluster_weight * np.sum((now.B - now.C[now.G]) ** 2)
    np.testing.assert_allclose(value, expected)


def test_every_iteration_descends_without_balance(problem):
    Phis, factors, now = problem
    values = []
    for _ in range(15):
        now, value = iterate(Phis, factors, now, MODEL)
        values.append(value)
    assert (np.diff(values) <= 1e-9 * values[0]).all()
    assert values[-1] < values[0]


def test_projection_step_has_no_slope(problem):
    Phis, factors, now = problem
    U = cho_solve(factors[0], Phis[0].T @ now.B)
    for direction in np.random.default_rng(1).normal(size=(10, *U.shape)):
        ahead = bracket(now.B, Phis[0], U + 1e-4 * direction)
        behind = bracket(now.B, Phis[0], U - 1e-4 * direction)
        assert abs(ahead - behind) < 1e-6
        assert ahead > bracket(now.B, Phis[0], U)


def test_code_step_is_the_best_of_all_codes(problem):
    Phis, factors, now = problem
    new, _ = iterate(Phis, factors, now, MODEL)
    all_codes = np.array(list(itertools.product([-1, 1], repeat=6)))
    for i in (0, 40, 89):
        fits = [
            a**3 * np.sum((all_codes - Phi[i] @ U) ** 2, axis=1)
            for a, Phi, U in zip(now.a, Phis, new.Us, strict=True)
        ]
        away = np.sum((all_codes - now.C[now.G[i]]) ** 2, axis=1)
        centre = MODEL.cluster_weight * away
        np.testing.assert_array_equal(
            new.B[i], all_codes[np.argmin(sum(fits) + centre)]
        )


def test_view_weights_minimise_the_weighted_sum():
    h = np.array([2.0, 5.0, 3.0])
    solved = minimize(
        lambda a: (a**4 * h).sum(),
        np.full(3, 1 / 3),
        bounds=[(1e-6, 1)] * 3,
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1},
        options={"ftol": 1e-15},
    )
    np.testing.assert_allclose(view_weights(h, 4.0), solved.x, atol=1e-5)


def test_view_weights_survive_extreme_losses():
    a = view_weights(np.array([1e-300, 1e300]), 1.01)
    assert np.isfinite(a).all()
    np.testing.assert_allclose(a, [1, 0], atol=1e-12)


def test_view_loss_is_the_bracket(problem):
    Phis, factors, now = problem
    U = cho_solve(factors[1], Phis[1].T @ now.B)
    expected = bracket(now.B, Phis[1], U)
    np.testing.assert_allclose(view_loss(now.B, Phis[1] @ U, U, MODEL), expected)


def test_labels_are_nearest_in_hamming_distance():
    rng = np.random.default_rng(2)
    B, C = signs(rng.normal(size=(50, 16)), tie=1), signs(rng.normal(size=(5, 16)), 1)
    distance = (B[:, None] != C[None]).sum(axis=2)
    np.testing.assert_array_equal(nearest_centroid(B, C), distance.argmin(axis=1))


def test_clustering_codes_never_moves_away_and_keeps_empty_centroids():
    rng = np.random.default_rng(3)
    B = signs(rng.normal(size=(60, 10)), tie=1)
    C = np.concatenate([B[:3], -np.ones((1, 10))])
    G = nearest_centroid(B, C[:3])
    new, labels = cluster_codes(B, C, G, MODEL)
    assert np.sum((B - new[labels]) ** 2) <= np.sum((B - C[G]) ** 2)
    assert set(np.unique(new)) <= {-1.0, 1.0}


def test_centroids_are_the_three_proximal_steps():
    # The steps in the columns-are-samples notation of the paper, one round at a time.
    rng = np.random.default_rng(4)
    B = signs(rng.normal(0.4, 1, size=(40, 20)), tie=1)
    C, G = B[:3], nearest_centroid(B, B[:3])
    new, labels = cluster_codes(B, C, G, BMVC(rho=0.3, **NUMBERS))
    for _ in range(10):
        S = B.T @ np.eye(3)[G]
        D = np.where(S >= 0, 1, -1)
        for _ in range(3):
            step = D + (S - 0.3 * np.ones((20, 20)) @ D) / MODEL.mu
            D = np.where(step >= 0, 1, -1)
        G = np.argmax(B @ D, axis=1)
    np.testing.assert_array_equal(new, D.T)
    np.testing.assert_array_equal(labels, G)


def test_first_codes_are_signs_of_principal_components():
    rng = np.random.default_rng(5)
    Phi = rng.normal(size=(80, 6)) * np.array([9, 6, 4, 2, 1, 0.5])
    Phi -= Phi.mean(axis=0)
    B = first_codes([Phi], 3, rng)
    scores = Phi @ np.linalg.svd(Phi, full_matrices=False)[2][:3].T
    agreement = np.abs(np.mean(B * np.sign(scores), axis=0))
    np.testing.assert_allclose(agreement, 1)
    assert first_codes([Phi], 11, rng).shape == (80, 11)


@pytest.mark.data
@pytest.mark.slow
def test_level_on_ccv_with_the_tuned_setting(load_npz):
    views, labels = load_npz("CCV")
    tuned = {"n_bits": 256, "r": 9.0, "beta": 10.0, "init_view": 1}
    found = BMVC(20, **tuned, random_state=0).fit_predict(views)
    scores = clustering_scores(labels, found)
    assert scores["ACC"] == pytest.approx(0.2384, abs=0.02)
    assert scores["NMI"] == pytest.approx(0.2090, abs=0.02)


def test_the_authors_start_from_one_view_and_one_draw(three_views):
    fits = {
        name: BMVC(4, random_state=0, **setting).fit(three_views[0]).embedding_
        for name, setting in {
            "authors": {"protocol": "authors"},
            "first": {"protocol": "authors", "init_view": 0, "n_init": 99},
            "second": {"protocol": "authors", "init_view": 1},
            "all": {},
        }.items()
    }
    np.testing.assert_array_equal(fits["authors"], fits["first"])
    assert (fits["authors"] != fits["second"]).any()
    assert (fits["authors"] != fits["all"]).any()


def test_the_first_draw_is_taken_as_it_is():
    B = signs(np.random.default_rng(0).normal(size=(50, 8)), tie=1)
    model = BMVC(3, protocol="authors")
    C, G = first_clusters(B, model, np.random.default_rng(5))
    drawn = B[np.random.default_rng(5).choice(50, 3, replace=False)]
    np.testing.assert_array_equal(C, drawn)
    np.testing.assert_array_equal(G, np.argmax(B @ drawn.T, axis=1))
