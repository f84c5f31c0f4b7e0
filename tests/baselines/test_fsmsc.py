"""FSMSC: every update against its sub-problem, descent, figures on CCV."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import minimize

from manyview.baselines import FSMSC
from manyview.baselines.fsmsc import Factors, codes, guide, iterate
from manyview.baselines.parts.procrustes import polar
from manyview.baselines.parts.standardise import z_sample
from manyview.metrics import clustering_scores

TAU, LAMBDA1, LAMBDA2 = 0.3, 2.0, 0.7
NUMBERS = {"tau": TAU, "lambda1": LAMBDA1, "lambda2": LAMBDA2}


class Problem(NamedTuple):
    Xs: list
    Xbar: np.ndarray
    model: FSMSC


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(70, d)) @ rng.normal(size=(d, d)) for d in (6, 8)]


def problem_of(views, exact):
    Xs = [z_sample(v) for v in views]
    Xbar = z_sample(np.concatenate(views, axis=1))
    return Problem(Xs, Xbar, FSMSC(4, **NUMBERS, exact=exact))


def after(problem, n_iter):
    Z = np.eye(70, 4)
    now, value = Factors(np.zeros((4, 4)), Z, Z), np.inf
    for _ in range(n_iter):
        before = now
        now, value = iterate(problem.Xs, problem.Xbar, before, problem.model)
    return before, now, value


def written_out(problem, Ws, D, Q, now):
    value = sum(
        np.sum((x - now.Z @ now.A.T @ W.T) ** 2)
        for x, W in zip(problem.Xs, Ws, strict=True)
    )
    value += TAU * np.sum((problem.Xbar - now.Zbar @ D.T) ** 2)
    value += LAMBDA1 * np.sum((now.Z - now.Zbar @ Q.T) ** 2)
    return value + LAMBDA2 * np.sum(Q**2)


def others(problem, before):
    """W_v, D and Q as the iteration takes them from what it starts with."""
    Ws = [polar(x.T @ before.Z @ before.A.T) for x in problem.Xs]
    D = polar(problem.Xbar.T @ before.Zbar)
    return Ws, D, guide(before.Z, before.Zbar, LAMBDA1, LAMBDA2)


@pytest.mark.parametrize("exact", [False, True])
def test_objective_is_what_the_docstring_says(views, exact):
    problem = problem_of(views, exact)
    before, now, value = after(problem, 5)
    expected = written_out(problem, *others(problem, before), now)
    np.testing.assert_allclose(value, expected)


def test_exact_form_descends(views):
    model = FSMSC(4, **NUMBERS, exact=True)
    values = np.array(model.fit(views).objective_)
    assert (np.diff(values[1:]) <= 1e-9 * values[0]).all()
    assert values[-1] < values[1]


def gradient(f, x):
    """Central differences."""
    steps = 1e-5 * np.eye(x.size).reshape(-1, *x.shape)
    return np.array([(f(x + s) - f(x - s)) / 2e-5 for s in steps])


def test_guide_step_has_no_slope(views):
    problem = problem_of(views, True)
    before, _, _ = after(problem, 3)

    def value(Q):
        gap = before.Z - before.Zbar @ Q.T
        return LAMBDA1 * np.sum(gap**2) + LAMBDA2 * np.sum(Q**2)

    Q = guide(before.Z, before.Zbar, LAMBDA1, LAMBDA2)
    np.testing.assert_allclose(gradient(value, Q), 0, atol=1e-6)


def test_exact_code_step_has_no_slope_and_the_released_one_has(views):
    problem = problem_of(views, True)
    before, _, _ = after(problem, 3)
    _, D, Q = others(problem, before)
    Xbar, Z = problem.Xbar[:5], before.Z[:5]

    def value(Zbar):
        fit = TAU * np.sum((Xbar - Zbar @ D.T) ** 2)
        return fit + LAMBDA1 * np.sum((Z - Zbar @ Q.T) ** 2)

    exact = codes(Xbar @ D, D, Z, Q, FSMSC(4, **NUMBERS, exact=True))
    np.testing.assert_allclose(gradient(value, exact), 0, atol=1e-6)
    released = codes(Xbar @ D, D, Z, Q, FSMSC(4, **NUMBERS))
    assert value(released) > value(exact)


def test_exact_graph_step_solves_every_rows_quadratic_program(views):
    problem = problem_of(views, True)
    before, now, _ = after(problem, 4)
    Ws, _, Q = others(problem, before)
    for i in (0, 30):
        guided = Q @ now.Zbar[i]

        def value(z, i=i, guided=guided):
            pairs = zip(problem.Xs, Ws, strict=True)
            fit = sum(np.sum((x[i] - W @ now.A @ z) ** 2) for x, W in pairs)
            return fit + LAMBDA1 * np.sum((z - guided) ** 2)

        solved = minimize(
            value,
            np.full(4, 0.25),
            bounds=[(0, None)] * 4,
            constraints={"type": "eq", "fun": lambda z: z.sum() - 1},
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(now.Z[i], solved.x, atol=1e-5)


def test_graph_rows_are_weights(views):
    Z = FSMSC(4, random_state=0).fit(views).anchor_graph_
    assert (Z >= 0).all()
    np.testing.assert_allclose(Z.sum(axis=1), 1)


def test_two_features_are_standardised_per_feature():
    # Per sample, a sign would be all that is left of them.
    X = np.random.default_rng(0).normal(size=(40, 2)) * [1.0, 30.0]
    fits = [
        FSMSC(3, scaling=kind, random_state=0).fit(X) for kind in ("sample", "standard")
    ]
    np.testing.assert_array_equal(fits[0].anchor_graph_, fits[1].anchor_graph_)


@pytest.mark.data
def test_level_on_ccv(load_npz):
    # Published: the best of many k-means by labels; its mean lies at .21 and .176.
    views, labels = load_npz("CCV")
    found = (FSMSC(20, random_state=s).fit_predict(views) for s in range(5))
    scores = [clustering_scores(labels, f) for f in found]
    assert np.mean([s["ACC"] for s in scores]) == pytest.approx(0.210, abs=0.02)
    assert np.mean([s["NMI"] for s in scores]) == pytest.approx(0.176, abs=0.02)
