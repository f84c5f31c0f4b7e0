"""Anchors, kernel widths and features against their definitions.

Features made once or made again, Phi or Psi, are the same.
"""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist

from manyview import S2MVTC
from manyview.engine.contract import Result, lowered
from manyview.engine.local import LocalEngine
from manyview.errors import InputError, InputTypeError
from manyview.stages.anchors import (
    Features,
    Kernel,
    anchor_count,
    block_features,
    choose_anchors,
    feature_passes,
    features,
    fit_features,
    make_kernels,
    plain_features,
    spacing,
    sum_grams,
)
from manyview.stages.ridge import centred_products, quick_centre, solve
from manyview.stages.sampling import SAMPLED, draw, draw_rows
from manyview.stages.scaling import Scaling, make_scaling, measure
from manyview.stages.start import DirectionStart, direction_start_step
from manyview.views.views import Views

PLAIN = Scaling("none")


def brute(x, a):
    return ((x[:, None, :] - a[None, :, :]) ** 2).sum(axis=2)


def engine_of(*views, block_rows=None, present=None):
    """Rows in the order of their content, views as they stand."""
    given, order = Views(list(views), present=present), range(len(views))
    return LocalEngine(given, np.float64, block_rows=block_rows, view_order=order)


def widths(engine, *anchors):
    scalings = (PLAIN,) * len(anchors)
    return [k.width for k in make_kernels(engine, "rbf", scalings, anchors)]


def test_rows_that_are_anchors_have_features_of_one_to_rounding():
    x = np.random.default_rng(3).normal(size=(40, 6)).astype(np.float32) + 5.0
    kernel = Kernel("rbf", x, 0.5)
    own = features(x, PLAIN, kernel).diagonal()
    np.testing.assert_allclose(own, 1.0, atol=1e-4)


@pytest.mark.parametrize(
    ("n_anchors", "n_samples", "n_clusters", "expected"),
    [
        (1000, 10_000, 8, 1000),
        (None, 10_000, 8, 500),
        (None, 800, 8, 100),
        (1000, 100, 8, 50),
        (1000, 20, 8, 20),
        (1000, 30, 8, 24),
        (5, 100, 8, 5),
        (1000, 1, 1, 1),
        (1000, 2, 1, 2),
    ],
)
def test_anchor_count(n_anchors, n_samples, n_clusters, expected):
    assert anchor_count(n_anchors, n_samples, n_clusters) == expected


def test_kernel_width_is_twice_the_mean_nearest_distance():
    rng = np.random.default_rng(3)
    x, a = rng.normal(size=(50, 3)), rng.normal(size=(7, 3))
    expected = 2 * np.sqrt(brute(x, a).min(axis=1)).mean()
    assert widths(engine_of(x), a) == [pytest.approx(expected, rel=1e-12)]
    assert widths(engine_of(x, block_rows=7), a) == [pytest.approx(expected, rel=1e-12)]


def test_anchors_among_the_rows_count_as_the_authors_do_it():
    x = np.random.default_rng(4).normal(size=(50, 3))
    nearest = np.sqrt(brute(x, x[:10]).min(axis=1))
    assert widths(engine_of(x), x[:10]) == [pytest.approx(2 * nearest.mean())]


def test_width_uses_the_non_zero_distances_where_most_are_zero():
    x = np.random.default_rng(5).normal(size=(20, 3))
    nearest = np.sqrt(brute(x, x[:15]).min(axis=1))
    assert widths(engine_of(x), x[:15]) == [pytest.approx(2 * nearest[15:].mean())]


def test_width_where_every_row_is_an_anchor_is_the_anchors_spacing():
    x = np.random.default_rng(6).normal(size=(20, 3))
    apart = brute(x, x) + np.diag(np.full(20, np.inf))
    expected = np.sqrt(apart.min(axis=1)).mean()
    assert spacing(x, x.dtype) == pytest.approx(expected)
    assert widths(engine_of(x), x) == [pytest.approx(2 * expected)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_of_wide_rows_is_no_distance_from_their_own_anchor(dtype):
    """Sums of so many products: one row beyond their rounding would be the width."""
    x = np.random.default_rng(8).random((80, 20_000))
    x = (x / np.linalg.norm(x, axis=1, keepdims=True)).astype(dtype)
    expected = cdist(x, x)[~np.eye(80, dtype=bool)].reshape(80, 79).min(axis=1).mean()
    assert spacing(x, x.dtype) == pytest.approx(expected, rel=1e-4)
    engine = LocalEngine(Views([sp.csr_array(x)]), dtype)
    kernels = make_kernels(engine, "rbf", (PLAIN,), (x,))
    assert kernels[0].width == pytest.approx(2 * expected, rel=1e-4)


def test_spacing_ignores_copies_and_needs_two_places():
    assert spacing(np.array([[0.0], [0.0], [3.0]]), np.float64) == pytest.approx(3.0)
    assert spacing(np.ones((4, 2)), np.float64) == 0.0
    assert spacing(np.ones((1, 2)), np.float64) == 0.0
    close = np.array([[1.0], [1.0 + 1e-7]])
    assert spacing(close, np.float32) == 0.0 < spacing(close, np.float64)


def test_rows_without_the_view_do_not_count_for_its_width():
    rng = np.random.default_rng(7)
    x, other, a = rng.normal(size=(30, 3)), rng.normal(size=(30, 2)), np.eye(3)
    present = np.ones((30, 2), dtype=bool)
    present[::3, 0] = False
    engine = engine_of(x, other, present=present)
    expected = 2 * np.sqrt(brute(x, a).min(axis=1))[present[:, 0]].mean()
    assert widths(engine, a, other[:4])[0] == pytest.approx(expected)


def test_linear_kernel_has_no_width_and_needs_no_pass():
    assert make_kernels(None, "linear", (PLAIN,), (np.eye(2),))[0].width == 0.0


def test_rbf_features_are_the_papers(xp):
    rng = np.random.default_rng(8)
    x, a = rng.normal(size=(9, 4)), rng.normal(size=(5, 4))
    found = np.asarray(features(xp.asarray(x), PLAIN, Kernel("rbf", a, 1.7)))
    np.testing.assert_allclose(found, np.exp(-brute(x, a) / (2 * 1.7**2)), atol=1e-12)


def test_linear_features_are_inner_products():
    rng = np.random.default_rng(9)
    x, a = rng.normal(size=(9, 4)), rng.normal(size=(5, 4))
    kernel = Kernel("linear", a, 0.0)
    np.testing.assert_allclose(features(x, PLAIN, kernel), x @ a.T)
    sparse = features(sp.csr_array(x), PLAIN, kernel)
    assert isinstance(sparse, np.ndarray)
    np.testing.assert_allclose(sparse, x @ a.T)


def test_features_do_not_write_into_the_rows():
    x = np.ones((3, 2))
    x.flags.writeable = False
    features(x, PLAIN, Kernel("rbf", np.eye(2), 1.0))


def test_zero_width_gives_equal_features_not_nan():
    kernel = Kernel("rbf", np.ones((2, 3)), 0.0)
    assert (features(np.ones((4, 3)), PLAIN, kernel) == 1.0).all()


@pytest.fixture
def drawn():
    rng = np.random.default_rng(10)
    engine = engine_of(rng.normal(size=(60, 3)), rng.normal(size=(60, 2)))
    found = draw(engine, 60, 0)
    return found, tuple(make_scaling(m, "standard") for m in found.moments)


def test_random_anchors_are_the_first_drawn_rows_prepared(drawn):
    found, scalings = drawn
    anchors = choose_anchors(found, scalings, "random", 9, 0, (0, 1))
    for v, a in enumerate(anchors):
        moments = found.moments[v]
        rows = (found.view(v)[:9] - moments.mean) / moments.std
        np.testing.assert_allclose(a, rows, atol=1e-12)


def test_given_anchors_are_in_input_units(drawn):
    found, scalings = drawn
    given = [found.view(0)[:4], found.view(1)[:6]]
    first, second = choose_anchors(found, scalings, given, 99, 0, (0, 1))
    assert first.shape == (4, 3) and second.shape == (6, 2)
    moments = found.moments[1]
    np.testing.assert_allclose(second, (given[1] - moments.mean) / moments.std)


@pytest.mark.parametrize(
    "given", [[np.ones((4, 3))], [np.ones((4, 3)), np.ones((4, 5))]]
)
def test_given_anchors_must_fit_the_views(drawn, given):
    found, scalings = drawn
    with pytest.raises(InputError, match=r"given anchors have \[3.*data \[3, 2\]"):
        choose_anchors(found, scalings, given, 99, 0, (0, 1))


def test_given_anchors_come_in_the_callers_order_of_the_views(drawn):
    found, scalings = drawn
    given = [found.view(0)[:4], found.view(1)[:6]]
    straight = choose_anchors(found, scalings, given, 99, 0, (0, 1))
    turned = choose_anchors(found, scalings, given[::-1], 99, 0, (1, 0))
    for one, other in zip(straight, turned, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(InputError, match=r"have \[3, 2\].*data \[2, 3\]"):
        choose_anchors(found, scalings, given, 99, 0, (1, 0))


@pytest.mark.parametrize("given", [-1, None, np.zeros((3, 2)), object(), [1, 2]])
def test_anchors_of_another_kind_are_refused_by_name(three_views, given):
    views, _ = three_views
    with pytest.raises(InputTypeError, match="anchors"):
        S2MVTC(3, anchors=given).fit(views)


def opened(keep=True, block_rows=None, present=None, dtype=np.float64):
    rng = np.random.default_rng(0)
    views = [rng.normal(size=(50, 3)), rng.normal(size=(50, 4))]
    given = Views(views, present=present)
    engine = LocalEngine(given, dtype, block_rows=block_rows, view_order=(0, 1))
    scalings = tuple(make_scaling(m, "standard") for m in measure(engine))
    anchors = (rng.normal(size=(9, 3)), rng.normal(size=(9, 4)))
    kernels = make_kernels(engine, "rbf", scalings, anchors)
    return engine, Features(scalings, kernels, keep=keep), views


def fitted_to(engine, plain, lam, rank_tol):
    return fit_features(plain, sum_grams(engine, plain), lam, rank_tol)


def phi_of(small, views, v):
    return features(views[v], small.scalings[v], small.kernels[v])


def test_features_of_all_views_in_one_pass():
    engine, small, views = opened(block_rows=7)
    fitted, ridges = fitted_to(engine, small, 1.0, 0.0)
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
    fitted, ridges = fitted_to(engine, small, 1.0, 0.0)
    phi = phi_of(small, views, 1)[present[:, 1]]
    np.testing.assert_allclose(fitted.means[1], phi.mean(axis=0), atol=1e-12)
    away = phi - phi.mean(axis=0)
    np.testing.assert_allclose(ridges[1].gram, away.T @ away, atol=1e-10)


def test_features_take_the_place_of_the_distances_they_are_made_of():
    engine, small, views = opened(block_rows=20)
    anchors = tuple(k.anchors for k in small.kernels)
    make_kernels(engine, "rbf", small.scalings, anchors, keep=True)
    assert engine.read("D1").shape == (50, 9)
    fitted_to(engine, small, 1.0, 0.0)
    for v in range(2):
        np.testing.assert_allclose(engine.read(f"Phi{v}"), phi_of(small, views, v))
        with pytest.raises(KeyError):
            engine.read(f"D{v}")


@pytest.mark.parametrize("lam", [1e-3, 20.0])
@pytest.mark.parametrize("started", [False, True])
def test_features_made_again_equal_the_kept_ones(lam, started):
    found = {}
    for keep in (True, False):
        engine, small, _ = opened(keep, block_rows=20)
        fitted, ridges = fitted_to(engine, small, lam, 0.1)
        assert (fitted.reduces[0] is not None) == (keep and lam == 20.0)
        if started:
            zeros = tuple(np.zeros((r.mean.size, 2)) for r in ridges)
            start = DirectionStart(fitted, zeros, (np.zeros(2),) * 2)
            engine.run(direction_start_step, start, title="Start")

        def gather(block, state, small):
            return Result(note=block_features(block, state, small, 1))

        phi = np.concatenate(engine.run(gather, fitted, title="Gathering")[1])
        B = np.random.default_rng(1).normal(size=(50, 2))
        products = centred_products(ridges[1], phi.T @ B, B.sum(axis=0))
        found[keep] = (phi - ridges[1].mean) @ solve(ridges[1], products)
    np.testing.assert_allclose(found[True], found[False], atol=1e-10)


def test_reduced_features_take_the_place_of_those_they_are_made_of():
    engine, small, _ = opened(block_rows=20)
    fitted, ridges = fitted_to(engine, small, 20.0, 0.1)
    zeros = tuple(np.zeros((r.mean.size, 2)) for r in ridges)
    start = DirectionStart(fitted, zeros, (np.zeros(2),) * 2)
    engine.run(direction_start_step, start, title="Start")
    for v in range(2):
        assert engine.read(f"Psi{v}").shape == (50, ridges[v].mean.size)
        with pytest.raises(KeyError):
            engine.read(f"Phi{v}")


def test_grams_of_a_sample_are_scaled_up_to_all_rows():
    for keep in (True, False):
        engine, small, views = opened(keep, block_rows=20)
        with lowered(sampled_rows=30):
            draw_rows(engine, measure(engine), 10, 0)
        chosen = engine.read(SAMPLED)
        assert 10 < chosen.sum() < 50
        fitted, ridges = fitted_to(engine, small._replace(sampled=True), None, 0.0)
        phi = phi_of(small, views, 0)[chosen]
        away = phi - phi.mean(axis=0)
        expected = away.T @ away * (50 / chosen.sum())
        np.testing.assert_allclose(ridges[0].gram, expected, atol=1e-10)
        np.testing.assert_allclose(fitted.means[0], phi.mean(axis=0))


def plain_of(engine, small, lam, most):
    """How features are made where more than `most` rows are many."""
    anchors = tuple(k.anchors for k in small.kernels)
    how = {"kernel": "rbf", "lam": lam, "n_rounds": 3}
    drawn = draw(engine, 25, 0)
    with lowered(sampled_rows=most):
        return plain_features(engine, drawn, small.scalings, anchors, **how)


@pytest.mark.parametrize("missing", [False, True])
def test_grams_about_a_centre_equal_the_exact_ones(missing):
    present = np.ones((50, 2), dtype=bool)
    present[::3, 1] = not missing
    engine, small, _ = opened(block_rows=20, present=present, dtype=np.float32)
    about = plain_of(engine, small, 0.1, 30)
    fitted, ridges = fitted_to(engine, about, 0.1, 0.0)
    plain, exact = fitted_to(engine, about._replace(centres=()), 0.1, 0.0)
    for v in range(2):
        assert fitted.centres[v] is not None and fitted.centres[v].dtype == np.float32
        np.testing.assert_allclose(ridges[v].gram, exact[v].gram, atol=1e-5)
        np.testing.assert_allclose(fitted.means[v], plain.means[v], rtol=1e-6)
        unit = np.eye(len(exact[v].gram))
        found, wanted = solve(ridges[v], unit), solve(exact[v], unit)
        np.testing.assert_allclose(found, wanted, atol=1e-3)


def test_quick_grams_of_a_sample_keep_what_float32_would_lose():
    engine, small, views = opened(block_rows=20, dtype=np.float32)
    with lowered(sampled_rows=30):
        drawn = draw(engine, 25, 0)
    chosen = engine.read(SAMPLED)
    # Wide kernels: features near 1 that hardly differ.
    kernels = tuple(k._replace(width=300.0) for k in small.kernels)
    some = [features(drawn.view(v), small.scalings[v], kernels[v]) for v in range(2)]
    centres = tuple(quick_centre(phi, np.inf, 50) for phi in some)
    small = small._replace(kernels=kernels, sampled=True, centres=centres)
    _, ridges = fitted_to(engine, small, None, 0.0)
    phi = phi_of(small, [x[chosen] for x in views], 0)
    away = phi - phi.mean(axis=0)
    expected = away.T @ away * (50 / chosen.sum())
    error = np.linalg.norm(ridges[0].gram - expected, 2)
    assert error < 1e-3 * np.linalg.norm(expected, 2)


@pytest.mark.parametrize(("lam", "most"), [(1e-9, 30), (1e-9, 60), (None, 60)])
def test_small_ridge_weights_ask_for_exact_grams_and_few_rows_without_one(lam, most):
    engine, small, _ = opened(block_rows=20, dtype=np.float32)
    plain = plain_of(engine, small, lam, most)
    assert not any(c is not None for c in plain.centres)
    assert not plain.sampled


@pytest.mark.parametrize("most", [30, 60])
def test_a_large_ridge_weight_is_content_with_float32_however_many_rows(most):
    engine, small, _ = opened(block_rows=20, dtype=np.float32)
    plain = plain_of(engine, small, 10.0, most)
    assert not plain.sampled and all(c is not None for c in plain.centres)
    assert plain_of(engine, small, 0.1, most).centres[0] is not None


def test_a_weight_that_follows_the_gram_is_content_with_a_sample():
    engine, small, _ = opened(block_rows=20, dtype=np.float32)
    plain = plain_of(engine, small, None, 30)
    assert plain.sampled and all(c is not None for c in plain.centres)


def test_passes_that_need_all_features_are_the_grams_the_start_and_the_rounds():
    assert feature_passes(7, sampled=False) == 9
    assert feature_passes(7, sampled=True) == 8
