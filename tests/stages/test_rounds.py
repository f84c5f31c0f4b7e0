"""The rounds' small matrices and what they leave behind."""

import numpy as np
import pytest
from sklearn.base import clone

from manyview import S2MVTC, SequenceS2MVTC
from manyview.engine.contract import lowered
from manyview.engine.local import LocalEngine
from manyview.stages.anchors import Features, Kernel
from manyview.stages.rounds import (
    GraphStart,
    Weights,
    graph_start_step,
    objective,
    view_counts,
)
from manyview.stages.scaling import Scaling
from manyview.views.views import Block

pytestmark = pytest.mark.filterwarnings("ignore::manyview.errors.OrderWarning")


def test_view_counts():
    present = np.array([[True, False], [True, True]])
    block = Block(0, (), present)
    found = view_counts(block, np.ones((2, 3)), (0.5, 1.5))
    assert found.tolist() == [[0.5], [2.0]]
    everywhere = Block(0, (), np.ones((5, 2), dtype=bool))
    assert view_counts(everywhere, np.ones((5, 3)), (0.5, 1.5)).tolist() == [[2.0]]


def test_first_products_about_a_centre_are_as_exact_as_the_features():
    """Of the plain ones the mean alone would cost a float32 sum three digits."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(2000, 8)).astype(np.float32)
    kernels = (Kernel("rbf", x[:40].astype(np.float64), 9.0),)
    features = Features((Scaling("none"),), kernels, (np.zeros(40),), (None,))
    block = Block(0, (x,), np.ones((2000, 1), dtype=bool))
    F = np.linalg.qr(rng.normal(size=(2000, 6)))[0].astype(np.float32)
    found = {}
    for name, centres in (("plain", ()), ("about", (np.full(40, 0.8, np.float32),))):
        how = GraphStart(features._replace(centres=centres), np.ones(6), centre=False)
        found[name] = graph_start_step(block, {"F": F}, how).stats["P0"]
    assert found["about"].dtype == np.float64
    np.testing.assert_allclose(found["about"], found["plain"], atol=1e-4)
    assert np.abs(found["about"] - found["plain"]).max() > 0


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
        "disagreement": (B_bar**2 - 2 * B_bar * B).sum(),
    }
    energy = [float(((F.T @ B) ** 2).sum())]
    weights = Weights(beta, 1.0, a, True, (1.0,))
    met = [float(((Phi @ U) * B).sum())]
    found = objective(total, [U], [Phi.T @ old], met, energy, a, weights)
    parts = ((1, B - Phi @ U), (lam, U), (beta, B_bar - B), (a, B - Y))
    expected = 0.5 * sum(weight * (x**2).sum() for weight, x in parts)
    assert found == pytest.approx(expected)


SETTINGS = [
    S2MVTC(4, random_state=0),
    SequenceS2MVTC(4, start="signs", random_state=0),
    SequenceS2MVTC(4, start="directions", random_state=0),
    SequenceS2MVTC(4, graph=True, random_state=0),
    SequenceS2MVTC(4, smoothing_weight=0.0, start="signs", random_state=0),
    SequenceS2MVTC(4, smoothing_weight=0.0, start="directions", random_state=0),
]


@pytest.mark.parametrize("model", SETTINGS, ids=repr)
def test_the_last_round_sees_the_objective_that_a_round_between_sees(
    three_views, model
):
    views, _ = three_views
    model = clone(model).set_params(max_iter=4, lam=0.5)
    whole = model.fit(views).objective_
    for n_rounds in (1, 2, 3):
        short = clone(model).set_params(max_iter=n_rounds).fit(views).objective_
        np.testing.assert_allclose(short, whole[:n_rounds], rtol=1e-9)


def test_a_basis_too_wide_to_keep_gives_what_a_kept_one_gives(three_views, monkeypatch):
    views, _ = three_views
    model = SequenceS2MVTC(4, n_low=40, max_iter=3, lam=0.5, random_state=0)
    order = np.random.default_rng(1).permutation(300)
    trace = np.array([7, 200, 3])
    kept = clone(model).fit(views, order=order, trace=trace)
    monkeypatch.setattr("manyview.stages.sequence_setup.MOST_BASIS_VECTORS", 10)
    gathered = clone(model).fit(views, order=order, trace=trace)
    np.testing.assert_allclose(gathered.embedding_, kept.embedding_, atol=1e-8)
    np.testing.assert_allclose(gathered.objective_, kept.objective_, rtol=1e-9)
    for first, second in zip(kept.trace_, gathered.trace_, strict=True):
        assert first.keys() == second.keys() >= {"B0", "Y0", "B2", "Y2", "B_bar"}
        for name, rows in first.items():
            np.testing.assert_allclose(second[name], rows, atol=1e-8)


@pytest.mark.parametrize(
    "model",
    [
        S2MVTC(4, random_state=0),
        SequenceS2MVTC(4, graph=True, random_state=0),
        SequenceS2MVTC(4, lam=1e-6, rank_tol=0.0, random_state=0),
        SequenceS2MVTC(4, smoothing_weight=0.0, lam=30.0, random_state=0),
    ],
    ids=repr,
)
def test_features_made_again_in_every_pass_give_the_same(
    three_views, monkeypatch, model
):
    views, _ = three_views
    model = clone(model).set_params(max_iter=3)
    with lowered(block_rows=90):
        kept = clone(model).fit(views)
        monkeypatch.setattr(LocalEngine, "keeps", lambda *_: False)
        again = clone(model).fit(views)
    assert kept._passes.start.features.keep and not again._passes.start.features.keep
    np.testing.assert_allclose(again.embedding_, kept.embedding_, atol=1e-8)
    np.testing.assert_allclose(again.objective_, kept.objective_, rtol=1e-9)
