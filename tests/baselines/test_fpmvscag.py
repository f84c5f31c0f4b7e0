"""FPMVS-CAG: every update against its sub-problem, descent, figures on CCV."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.cluster import KMeans

from manyview.baselines import FPMVSCAG
from manyview.baselines.fpmvscag import Factors, iterate, start
from manyview.baselines.parts.embedding_kmeans import singular_rows
from manyview.baselines.parts.procrustes import polar
from manyview.baselines.parts.standardise import z_feature
from manyview.metrics import clustering_scores


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    mixing = rng.normal(size=(3, 6, 6))
    Xs = [z_feature(rng.normal(size=(80, 6)) @ M) for M in mixing]
    return Xs


def carriers(Xs, A, Z):
    """W_v as the iteration takes them from the A and Z it starts with."""
    return [polar(x.T @ Z @ A.T) for x in Xs]


def loss(Xs, Ws, A, Z, alpha):
    terms = zip(alpha, Xs, Ws, strict=True)
    return sum(a**2 * np.sum((x - Z @ A.T @ W.T) ** 2) for a, x, W in terms)


def after(problem, n_iter, exact):
    Xs = problem
    now, value = start(Xs, 4), np.inf
    for _ in range(n_iter):
        before = now
        now, value = iterate(Xs, before, exact=exact)
    return before, now, value


@pytest.mark.parametrize("exact", [False, True])
def test_objective_is_what_the_docstring_says(problem, exact):
    Xs = problem
    before, now, value = after(problem, 5, exact)
    Ws = carriers(Xs, before.A, before.Z)
    np.testing.assert_allclose(value, loss(Xs, Ws, now.A, now.Z, now.alpha))


def test_exact_form_descends(problem):
    Xs = problem
    values = np.array(FPMVSCAG(4, exact=True, max_iter=30).fit(Xs).objective_)
    assert (np.diff(values[1:]) <= 1e-9 * values[0]).all()
    assert values[-1] < values[1]


def test_anchor_step_beats_other_orthogonal_anchors(problem):
    Xs = problem
    before, now, _ = after(problem, 4, True)
    Ws = carriers(Xs, before.A, before.Z)
    best = loss(Xs, Ws, now.A, before.Z, before.alpha)
    rng = np.random.default_rng(1)
    for _ in range(40):
        other = polar(now.A + 0.2 * rng.normal(size=(4, 4)))
        assert loss(Xs, Ws, other, before.Z, before.alpha) >= best - 1e-9


def test_carrier_step_beats_other_orthogonal_carriers(problem):
    Xs = problem
    before, _, _ = after(problem, 4, True)
    Ws = carriers(Xs, before.A, before.Z)
    best = loss(Xs, Ws, before.A, before.Z, before.alpha)
    rng = np.random.default_rng(2)
    for _ in range(40):
        others = [polar(W + 0.2 * rng.normal(size=W.shape)) for W in Ws]
        assert loss(Xs, others, before.A, before.Z, before.alpha) >= best - 1e-9


def test_graph_step_solves_every_rows_quadratic_program(problem):
    Xs = problem
    before, now, _ = after(problem, 4, True)
    Ws = carriers(Xs, before.A, before.Z)
    for i in (0, 17, 63):
        row = [x[i : i + 1] for x in Xs]
        solved = minimize(
            lambda z, row=row: loss(row, Ws, now.A, z[None], before.alpha),
            np.full(4, 0.25),
            bounds=[(0, None)] * 4,
            constraints={"type": "eq", "fun": lambda z: z.sum() - 1},
            options={"ftol": 1e-14},
        )
        np.testing.assert_allclose(now.Z[i], solved.x, atol=1e-5)


def test_starts_from_the_first_features_and_rows(problem):
    Xs = problem
    first = start(Xs, 4)
    assert isinstance(first, Factors)
    now, _ = iterate(Xs, first, exact=False)
    expected = polar(sum(x[:4, :4].T for x in Xs) / 9)
    np.testing.assert_allclose(now.A, expected, atol=1e-12)


def test_released_graph_is_nearly_one_hot(problem):
    Xs = problem
    used = {
        exact: np.mean(
            FPMVSCAG(4, exact=exact, random_state=0).fit(Xs).anchor_graph_ > 0
        )
        for exact in (False, True)
    }
    assert used[False] < used[True]


def test_tolerance_stops_early(problem):
    Xs = problem
    model = FPMVSCAG(4, tol=1e-3, max_iter=200, random_state=0).fit(Xs)
    assert model.n_iter_ == len(model.objective_) < 200


@pytest.mark.data
def test_level_on_ccv(load_npz):
    views, labels = load_npz("CCV")
    found = (FPMVSCAG(20, random_state=s).fit_predict(views) for s in range(4))
    scores = [clustering_scores(labels, f) for f in found]
    assert np.mean([s["ACC"] for s in scores]) == pytest.approx(0.2282, abs=0.02)
    assert np.mean([s["NMI"] for s in scores]) == pytest.approx(0.1582, abs=0.02)


@pytest.mark.data
def test_released_recipe_on_ccv(load_npz):
    # First rows of the file, 20 iterations, single k-means runs from drawn rows.
    views, labels = load_npz("CCV")
    Xs = [z_feature(v) for v in views]
    now = start(Xs, 20)
    for _ in range(20):
        now, _ = iterate(Xs, now, exact=False)
    scores = []
    for seed in range(20):
        search = KMeans(20, init="random", n_init=1, max_iter=100, random_state=seed)
        found = search.fit_predict(singular_rows(now.Z))
        scores.append(clustering_scores(labels, found))
    assert np.mean([s["ACC"] for s in scores]) == pytest.approx(0.2282, abs=0.005)
    assert np.mean([s["NMI"] for s in scores]) == pytest.approx(0.1582, abs=0.005)
