"""The rounds' small matrices, starts and traces."""

import numpy as np
import pytest
from sklearn.base import clone

from manyview.s2mvtc import S2MVTC
from manyview.stages import kernels as kept_features
from manyview.stages.rounds import Weights, objective, view_counts
from manyview.stages.start import principal_directions
from manyview.views.views import Block


def test_principal_directions_are_the_leading_ones():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 6)) * [9.0, 5.0, 3.0, 1.0, 0.5, 0.1] + 7.0
    found = principal_directions(rows, 4, 0)
    np.testing.assert_allclose(found.T @ found, np.eye(4), atol=1e-10)
    away = rows - rows.mean(axis=0)
    expected = np.linalg.svd(away, full_matrices=False)[2][:4].T
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-8)


def test_principal_directions_beyond_the_features_are_zero():
    found = principal_directions(np.random.default_rng(1).normal(size=(9, 3)), 5, 0)
    assert found.shape == (3, 5)
    assert found[:, :3].any(axis=0).all() and not found[:, 3:].any()


def test_signs_of_principal_directions_come_from_the_seed_only():
    rows = np.random.default_rng(2).normal(size=(50, 8))
    found = principal_directions(rows, 8, 3)
    np.testing.assert_array_equal(found, principal_directions(rows, 8, 3))
    shuffled = principal_directions(rows[::-1], 8, 3)
    np.testing.assert_allclose(found, shuffled, atol=1e-8)
    sides = [principal_directions(rows, 8, seed)[0] > 0 for seed in range(20)]
    assert 0.2 < np.mean(sides) < 0.8


def test_view_counts():
    present = np.array([[True, False], [True, True]])
    block = Block(0, (), present)
    found = view_counts(block, np.ones((2, 3)), (0.5, 1.5))
    assert found.tolist() == [[0.5], [2.0]]
    everywhere = Block(0, (), np.ones((5, 2), dtype=bool))
    assert view_counts(everywhere, np.ones((5, 3)), (0.5, 1.5)).tolist() == [[2.0]]


def test_objective_from_small_matrices_equals_the_one_from_all_rows():
    rng = np.random.default_rng(3)
    n, m, k, lam, beta, a = 30, 5, 4, 0.7, 0.3, 1.2
    Phi = rng.normal(size=(n, m))
    old, B, B_bar = rng.normal(size=(3, n, k))
    F = np.linalg.qr(rng.normal(size=(n, 6)))[0]
    U = np.linalg.solve(Phi.T @ Phi + lam * np.eye(m), Phi.T @ old)
    Y = F @ (F.T @ B)
    total = {
        "square0": (B**2).sum(),
        "apart": (B_bar**2 - 2 * B_bar * B).sum(),
    }
    energy = [float(((F.T @ B) ** 2).sum())]
    weights = Weights(beta, 1.0, True, True, (1.0,))
    met = [float(((Phi @ U) * B).sum())]
    found = objective(total, [U], [Phi.T @ old], met, energy, a, weights)
    parts = ((1, B - Phi @ U), (lam, U), (beta, B_bar - B), (a, B - Y))
    expected = 0.5 * sum(weight * (x**2).sum() for weight, x in parts)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize("start", ["signs", "directions"])
@pytest.mark.parametrize("kind", ["graph", "sequence", "graph+sequence", None])
def test_the_last_round_sees_the_objective_that_a_round_between_sees(
    three_views, kind, start
):
    views, _ = three_views
    model = S2MVTC(4, smoothing=kind, start=start, max_iter=4, lam=0.5, random_state=0)
    whole = model.fit(views).objective_
    for n_rounds in (1, 2, 3):
        short = clone(model).set_params(max_iter=n_rounds).fit(views).objective_
        np.testing.assert_allclose(short, whole[:n_rounds], rtol=1e-9)


@pytest.mark.parametrize(
    "setting",
    [
        {"smoothing": "graph"},
        {"smoothing": "sequence", "lam": 1e-6, "rank_tol": 0.0},
        {"smoothing": None, "lam": 30.0},
    ],
)
def test_features_made_again_in_every_pass_give_the_same(
    three_views, monkeypatch, setting
):
    views, _ = three_views
    model = S2MVTC(4, max_iter=3, block_rows=90, random_state=0, **setting)
    kept = model.fit(views)

    class Forgetful(kept_features.Features):
        """Keeps nothing between passes."""

        def __new__(cls, *args, **options):
            return super().__new__(cls, *args, **(options | {"keep": False}))

    monkeypatch.setattr("manyview.stages.set_up.Features", Forgetful)
    again = clone(model).fit(views)
    np.testing.assert_allclose(again.embedding_, kept.embedding_, atol=1e-8)
    np.testing.assert_allclose(again.objective_, kept.objective_, rtol=1e-9)
