"""The first B_bar without a graph, against dense references."""

import numpy as np
import pytest

from manyview.arrays.ops import z_score
from manyview.engine.local import LocalEngine
from manyview.stages.anchors import (
    Features,
    features,
    fit_features,
    make_kernels,
    sum_grams,
)
from manyview.stages.sampling import draw
from manyview.stages.scaling import make_scaling
from manyview.stages.start import (
    DirectionStart,
    principal_directions,
    principal_start,
    start_from_directions,
)
from manyview.views.views import Views


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


def test_directions_of_next_to_no_size_are_zero_below_the_floor():
    rows = np.random.default_rng(3).normal(size=(60, 3)) * [1.0, 1e-2, 1e-5]
    assert principal_directions(rows, 3, 0).any(axis=0).tolist() == [True] * 3
    found = principal_directions(rows, 3, 0, floor=1e-6).any(axis=0)
    assert found.tolist() == [True, True, False]


def opened(present=None, rank_tol=0.0, lam=0.5):
    """An engine with the features of two views, and these features as dense arrays."""
    rng = np.random.default_rng(4)
    views = [rng.normal(size=(40, 3)), rng.normal(size=(40, 5))]
    given = Views(views, present=present)
    engine = LocalEngine(given, np.float64, block_rows=11, view_order=(0, 1))
    drawn = draw(engine, 40, 0)
    scalings = tuple(make_scaling(m, "standard") for m in drawn.moments)
    anchors = (rng.normal(size=(7, 3)), rng.normal(size=(7, 5)))
    kernels = make_kernels(engine, "rbf", scalings, anchors)
    plain = Features(scalings, kernels)
    kept, ridges = fit_features(plain, sum_grams(engine, plain), lam, rank_tol)
    dense = [features(x, scalings[v], kernels[v]) for v, x in enumerate(views)]
    there = np.ones((40, 2), dtype=bool) if present is None else present
    for v, phi in enumerate(dense):
        phi -= phi[there[:, v]].mean(axis=0)
    return engine, drawn, kept, ridges, dense, there


def holes():
    present = np.ones((40, 2), dtype=bool)
    present[::5, 0], present[1::5, 1] = False, False
    return present


@pytest.mark.parametrize("present", [None, holes()], ids=["complete", "missing"])
@pytest.mark.parametrize("signs", [False, True])
def test_the_first_embedding_and_its_products_are_those_of_all_rows(present, signs):
    engine, _, kept, ridges, dense, there = opened(present)
    rng = np.random.default_rng(5)
    weights = tuple(rng.normal(size=(7, 3)) for _ in range(2))
    offsets = tuple(r.mean @ w for r, w in zip(ridges, weights, strict=True))
    start = DirectionStart(kept, weights, offsets, signs)
    carried = start_from_directions(engine, start, ridges)
    firsts = [
        np.where(there[:, v : v + 1], phi @ weights[v], 0.0)
        for v, phi in enumerate(dense)
    ]
    if signs:
        expected = z_score(np.sign(np.concatenate(firsts, axis=1)), centre=False)
        embeddings = [expected * there[:, v : v + 1] for v in range(2)]
    else:
        expected = sum(firsts) / there.sum(axis=1, keepdims=True)
        embeddings = firsts
    np.testing.assert_allclose(engine.read("B_bar"), expected, atol=1e-10)
    for v, phi in enumerate(dense):
        own = np.where(there[:, v : v + 1], phi, 0.0)
        np.testing.assert_allclose(
            carried.products[v], own.T @ embeddings[v], atol=1e-9
        )
    assert carried.smooth is None
    assert carried.unfiltered == (None if signs else weights)


@pytest.mark.parametrize("rank_tol", [0.0, 0.3])
def test_the_start_is_the_features_along_their_leading_directions(rank_tol):
    engine, drawn, kept, ridges, dense, _ = opened(rank_tol=rank_tol, lam=3.0)
    assert (ridges[0].reduce is None) == (rank_tol == 0.0)
    start = principal_start(drawn, kept, ridges, 2, 0, signs=False)
    start_from_directions(engine, start, ridges)
    directions = []
    for r, phi in zip(ridges, dense, strict=True):
        if r.reduce is not None:
            # Only what the kept directions span is seen.
            basis = np.linalg.qr(r.reduce)[0]
            phi = phi @ basis @ basis.T
        directions.append((phi, np.linalg.svd(phi)[2][:2].T))
    sides = [
        np.sign(np.sum(w * lead, axis=0))
        for w, (_, lead) in zip(leads(drawn, kept), directions, strict=True)
    ]
    expected = sum(
        phi @ (lead * side) for (phi, lead), side in zip(directions, sides, strict=True)
    )
    np.testing.assert_allclose(engine.read("B_bar"), expected / 2, atol=1e-8)


def leads(drawn, kept):
    """Leading directions of the drawn rows' features, their signs settled."""
    for v in range(2):
        phi = features(drawn.view(v), kept.scalings[v], kept.kernels[v])
        yield principal_directions(phi, 2, 0)


@pytest.mark.parametrize(("n_components", "width"), [(4, 2), (5, 3), (1, 1)])
def test_signs_share_the_columns_among_the_views(n_components, width):
    engine, drawn, kept, ridges, *_ = opened()
    start = principal_start(drawn, kept, ridges, n_components, 0, signs=True)
    assert [w.shape for w in start.weights] == [(7, width)] * 2
    carried = start_from_directions(engine, start, ridges)
    B_bar = engine.read("B_bar")
    assert B_bar.shape == (40, 2 * width) and carried.unfiltered is None
    size = np.sqrt((2 * width - 1) / (2 * width)) if width > 0 else 0.0
    np.testing.assert_allclose(np.abs(B_bar), size)
