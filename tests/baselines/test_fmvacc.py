import numpy as np
import pytest
from scipy.optimize import minimize

from manyview.baselines import FMVACC
from manyview.baselines.fmvacc import (
    anchor_rounds,
    correspondence,
    doubly_stochastic,
    fuse,
    match,
    settle,
    update_anchors,
    update_graph,
)
from manyview.baselines.parts.simplex import project_simplex
from manyview.metrics import ari, clustering_scores


def test_finds_separate_groups(three_views):
    views, labels = three_views
    assert ari(labels, FMVACC(4, random_state=0).fit_predict(views)) > 0.9


@pytest.mark.parametrize("exact", [False, True])
def test_row_order_does_not_matter(three_views, exact):
    views = three_views[0]
    order = np.random.default_rng(0).permutation(300)
    model = FMVACC(6, anchors_per_cluster=2, exact=exact, random_state=3)
    labels = model.fit_predict(views)
    mixed = model.fit_predict([v[order] for v in views])
    np.testing.assert_array_equal(labels[order], mixed)


@pytest.mark.parametrize("beta", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("n_features", [4, 9])
def test_objective_never_rises(beta, n_features):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, n_features)) @ rng.normal(size=(n_features, n_features))
    start = X[:6]
    # With fewer features than anchors only the exact form descends.
    objective = settle([anchor_rounds(X, start, beta, n_features < 6)])[0].objective
    assert len(objective) >= 10
    assert (np.diff(objective) <= 1e-6 * abs(objective[0])).all()


def test_objective_is_what_the_docstring_says():
    X = np.random.default_rng(0).normal(size=(30, 5))
    fit = settle([anchor_rounds(X, X[:3], 0.5, False)])[0]
    value = ((X - fit.Z @ fit.A) ** 2).sum() + 0.5 * (fit.Z**2).sum()
    np.testing.assert_allclose(fit.objective[-1], value)


@pytest.mark.parametrize("n_features", [3, 8])
def test_graph_step_solves_its_quadratic_program(n_features):
    rng = np.random.default_rng(1)
    X, beta = rng.normal(size=(5, n_features)), 0.3
    A = rng.normal(size=(5, n_features))
    if n_features == 8:
        A = np.linalg.qr(A.T)[0].T
    Z = update_graph(X @ A.T, A, beta, np.full((5, 5), 0.2), n_steps=2000)
    for x, z in zip(X, Z, strict=True):
        solved = minimize(
            lambda w, x=x: ((x - w @ A) ** 2).sum() + beta * (w**2).sum(),
            np.full(5, 0.2),
            bounds=[(0, 1)] * 5,
            constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
            tol=1e-12,
        )
        np.testing.assert_allclose(z, solved.x, atol=1e-4)


def test_anchor_step_is_optimal_in_its_set():
    rng = np.random.default_rng(2)
    Z = rng.dirichlet(np.ones(3), size=40)
    wide, narrow = rng.normal(size=(40, 6)), rng.normal(size=(40, 2))
    A = update_anchors(wide, Z)
    np.testing.assert_allclose(A @ A.T, np.eye(3), atol=1e-12)
    best = ((wide - Z @ A) ** 2).sum()
    for seed in range(20):
        turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(6, 6)))[0][:3]
        assert ((wide - Z @ turn) ** 2).sum() > best
    expected = np.linalg.lstsq(Z, narrow, rcond=None)[0]
    np.testing.assert_allclose(update_anchors(narrow, Z), expected)


def test_first_view_is_the_reference(three_views):
    model = FMVACC(4, anchors_per_cluster=2, random_state=0).fit(three_views[0])
    assert model.matches_.shape == (3, 8)
    np.testing.assert_array_equal(model.matches_[0], np.arange(8))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("weight", "accuracy", "nmi"), [(1.0, 0.1883, 0.1466), (1e4, 0.2122, 0.1631)]
)
def test_ccv_scores(load_npz, weight, accuracy, nmi):
    """1 is the default; 1e4 is the best of the grid when labels choose."""
    views, labels = load_npz("CCV")
    runs = [
        FMVACC(20, feature_weight=weight, random_state=s).fit_predict(views)
        for s in range(3)
    ]
    scores = [clustering_scores(labels, found) for found in runs]
    assert np.mean([s["ACC"] for s in scores]) == pytest.approx(accuracy, abs=0.02)
    assert np.mean([s["NMI"] for s in scores]) == pytest.approx(nmi, abs=0.02)


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


def test_the_authors_stop_all_views_together():
    rng = np.random.default_rng(0)
    noise = [rng.normal(size=(80, d)) for d in (6, 9, 12)]
    model = FMVACC(5, beta=10.0, protocol="authors", random_state=0)
    together = model.fit(noise)
    alone = FMVACC(5, beta=10.0, random_state=0).fit(noise)
    lengths = [len(values) for values in together.objective_]
    own = [len(values) for values in alone.objective_]
    assert len(set(lengths)) == 1 and len(set(own)) > 1
    for joint, values in zip(together.objective_, alone.objective_, strict=True):
        shared = min(len(joint), len(values))
        np.testing.assert_allclose(joint[:shared], values[:shared])
    total = np.sum(together.objective_, axis=0)
    changes = np.abs(np.diff(total)) / total[:-1]
    assert changes[-1] <= 1e-6 and (changes[8:-1] > 1e-6).all()


def test_rounds_are_ten_to_fifty_one():
    values = iter([(None, None, 1.0)] * 99)
    assert len(settle([values])[0].objective) == 10
    halves = ((None, None, 0.5**i) for i in range(99))
    assert len(settle([halves])[0].objective) == 51
