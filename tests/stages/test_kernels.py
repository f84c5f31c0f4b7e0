"""Kept features: made once or made again, Phi or Psi, they are the same."""

import numpy as np
import pytest

from manyview.engine.contract import Result, open_engine
from manyview.stages.anchors import features, make_kernels
from manyview.stages.anchors import Features, block_features, fit_features
from manyview.arrays.ops import masked
from manyview.stages.ridge import centred_products, solve
from manyview.stages.start import DirectionStart, direction_start_step
from manyview.stages.sampling import SAMPLED, draw, draw_rows
from manyview.stages.scaling import make_scaling, measure
from manyview.views.views import Views


def opened(keep=True, block_rows=None, present=None, dtype=np.float64):
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(50, 3)), rng.normal(size=(50, 4))]
    engine = open_engine(Views(views, present=present), dtype, block_rows=block_rows)
    scalings = tuple(make_scaling(m, "standard") for m in measure(engine))
    anchors = (rng.normal(size=(9, 3)), rng.normal(size=(9, 4)))
    kernels = make_kernels(engine, "rbf", scalings, anchors)
    return engine, Features(scalings, kernels, keep=keep), views


def phi_of(small, views, v):
    return features(views[v], small.scalings[v], small.kernels[v])


def test_features_of_all_views_in_one_pass():
    engine, small, views = opened(block_rows=7)
    fitted, ridges = fit_features(engine, small, 1.0, 0.0)
    for v in range(2):
        phi = phi_of(small, views, v)
        np.testing.assert_allclose(engine.read(f"Phi{v}"), phi, atol=1e-12)
        np.testing.assert_allclose(fitted.means[v], phi.mean(axis=0), atol=1e-12)
        away = phi - phi.mean(axis=0)
        np.testing.assert_allclose(ridges[v].gram, away.T @ away, atol=1e-10)


def test_missing_rows_are_left_out_of_gram_and_mean():
    present = np.ones((50, 2), dtype=bool)
    present[::4, 1] = False
    engine, small, views = opened(present=present)
    fitted, ridges = fit_features(engine, small, 1.0, 0.0)
    phi = phi_of(small, views, 1)[present[:, 1]]
    np.testing.assert_allclose(fitted.means[1], phi.mean(axis=0), atol=1e-12)
    away = phi - phi.mean(axis=0)
    np.testing.assert_allclose(ridges[1].gram, away.T @ away, atol=1e-10)


def test_features_take_the_place_of_the_distances_they_are_made_of():
    engine, small, views = opened(block_rows=20)
    anchors = tuple(k.anchors for k in small.kernels)
    make_kernels(engine, "rbf", small.scalings, anchors, keep=True)
    fit_features(engine, small._replace(reuse=True), 1.0, 0.0)
    for v in range(2):
        np.testing.assert_allclose(engine.read(f"Phi{v}"), phi_of(small, views, v))


@pytest.mark.parametrize("lam", [1e-3, 20.0])
@pytest.mark.parametrize("started", [False, True])
def test_features_made_again_equal_the_kept_ones(lam, started):
    found = {}
    for keep in (True, False):
        engine, small, _ = opened(keep, block_rows=20)
        fitted, ridges = fit_features(engine, small, lam, 0.1)
        assert (fitted.reduces[0] is not None) == (keep and lam == 20.0)
        if started:
            zeros = tuple(np.zeros((r.mean.size, 2)) for r in ridges)
            engine.run(start_step, DirectionStart(fitted, zeros, (np.zeros(2),) * 2))

        def gather(block, state, small):
            return Result(note=block_features(block, state, small, 1))

        phi = np.concatenate(engine.run(gather, fitted)[1])
        B = np.random.default_rng(1).normal(size=(50, 2))
        products = centred_products(ridges[1], phi.T @ B, B.sum(axis=0))
        found[keep] = (phi - ridges[1].mean) @ solve(ridges[1], products)
    np.testing.assert_allclose(found[True], found[False], atol=1e-10)


def test_grams_of_a_sample_are_scaled_up_to_all_rows(monkeypatch):
    monkeypatch.setattr("manyview.stages.sampling.SAMPLED_ROWS", 30)
    for keep in (True, False):
        engine, small, views = opened(keep, block_rows=20)
        draw_rows(engine, measure(engine), 10, 0)
        chosen = engine.read(SAMPLED)
        assert 10 < chosen.sum() < 50
        fitted, ridges = fit_features(engine, small._replace(sampled=True), None, 0.0)
        phi = phi_of(small, views, 0)[chosen]
        away = phi - phi.mean(axis=0)
        expected = away.T @ away * (50 / chosen.sum())
        np.testing.assert_allclose(ridges[0].gram, expected, atol=1e-10)
        np.testing.assert_allclose(fitted.means[0], phi.mean(axis=0))


@pytest.mark.parametrize("missing", [False, True])
def test_grams_about_a_centre_equal_the_exact_ones(monkeypatch, missing):
    monkeypatch.setattr("manyview.stages.kernels.SAMPLED_ROWS", 30)
    present = np.ones((50, 2), dtype=bool)
    present[::3, 1] = not missing
    how = {"block_rows": 20, "present": present, "dtype": np.float32}
    engine, small, _ = opened(**how)
    fitted, ridges = fit_features(engine, small, 0.1, 0.0, draw(engine, 25, 0))
    engine, small, _ = opened(**how)
    plain, exact = fit_features(engine, small, 0.1, 0.0)
    for v in range(2):
        assert fitted.centres[v] is not None and fitted.centres[v].dtype == np.float32
        np.testing.assert_allclose(ridges[v].gram, exact[v].gram, atol=1e-5)
        np.testing.assert_allclose(fitted.means[v], plain.means[v], rtol=1e-6)
        np.testing.assert_allclose(ridges[v].factor, exact[v].factor, atol=1e-3)


def test_quick_grams_of_a_sample_keep_what_float32_would_lose(monkeypatch):
    for module in ("draw", "features"):
        monkeypatch.setattr(f"manyview.{module}.SAMPLED_ROWS", 30)
    engine, small, views = opened(block_rows=20, dtype=np.float32)
    drawn = draw(engine, 25, 0)
    chosen = engine.read(SAMPLED)
    # Wide kernels: features near 1 that hardly differ.
    small = small._replace(
        kernels=tuple(k._replace(width=300.0) for k in small.kernels), sampled=True
    )
    _, ridges = fit_features(engine, small, None, 0.0, drawn)
    phi = phi_of(small, [x[chosen] for x in views], 0)
    away = phi - phi.mean(axis=0)
    expected = away.T @ away * (50 / chosen.sum())
    error = np.linalg.norm(ridges[0].gram - expected, 2)
    assert error < 1e-3 * np.linalg.norm(expected, 2)


@pytest.mark.parametrize(("lam", "most"), [(1e-9, 30), (0.1, 60), (None, 60)])
def test_small_ridge_weights_and_few_rows_ask_for_exact_grams(monkeypatch, lam, most):
    monkeypatch.setattr("manyview.stages.kernels.SAMPLED_ROWS", most)
    engine, small, _ = opened(block_rows=20, dtype=np.float32)
    fitted, _ = fit_features(engine, small, lam, 0.0, draw(engine, 25, 0))
    assert not any(c is not None for c in fitted.centres)


def test_masked_rows_are_zero_and_others_untouched(xp):
    rows = xp.asarray(np.ones((3, 2)))
    assert masked(rows, None) is rows
    found = masked(rows, xp.asarray([True, False, True]))
    np.testing.assert_array_equal(np.asarray(found), [[1, 1], [0, 0], [1, 1]])
