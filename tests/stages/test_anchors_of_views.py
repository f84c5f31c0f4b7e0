"""Anchors of several views at once are those of each alone."""

import numpy as np
import pytest

from manyview.engine.local import LocalEngine
from manyview.kmeans.passes import kmeans_anchors
from manyview.stages.anchors import anchors_of_views
from manyview.stages.sampling import draw
from manyview.stages.scaling import apply_scaling, make_scaling
from manyview.views.views import Views


def drawn_rows(*widths, n_rows=60):
    rng = np.random.default_rng(10)
    views = Views([rng.normal(size=(n_rows, w)) for w in widths])
    found = draw(LocalEngine(views, np.float64), n_rows, 0)
    return found, tuple(make_scaling(m, "standard") for m in found.moments)


@pytest.fixture
def drawn():
    return drawn_rows(3, 2)


def test_anchors_of_every_search_are_those_of_each_view_alone(drawn):
    found, scalings = drawn
    searches = [(9, 0), (4, 7)]
    made = anchors_of_views(found, scalings, searches)
    assert len(made) == 2
    for own, (size, seed) in zip(made, searches, strict=True):
        for v, anchors in enumerate(own):
            rows = apply_scaling(found.view(v), scalings[v])
            np.testing.assert_array_equal(anchors, kmeans_anchors(rows, size, seed))


def test_products_of_wide_views_are_made_once_and_change_nothing():
    views = Views([np.random.default_rng(8).normal(size=(40, w)) for w in (90, 3)])
    engine = LocalEngine(views, np.float64)
    found = draw(engine, 40, 0)
    scalings = tuple(make_scaling(m, "standard") for m in found.moments)
    kept = {}
    alone = [anchors_of_views(found, scalings, [(m, 1)])[0] for m in (5, 9)]
    both = [
        anchors_of_views(found, scalings, [(m, 1)], products=kept)[0] for m in (5, 9)
    ]
    assert [products.shape for products in kept.values()] == [(40, 40)]
    for one, other in zip(alone, both, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("together", [0, 10**6])
def test_neither_threads_nor_views_prepared_together_change_anchors(
    monkeypatch, threads, together
):
    found, scalings = drawn_rows(3, 90, 2)
    searches = [(9, 0), (4, 7), (60, 1)]
    usual = anchors_of_views(found, scalings, searches)
    monkeypatch.setattr("manyview.engine.threads.CORES", threads)
    monkeypatch.setattr("manyview.stages.anchors.TOGETHER", together)
    for one, other in zip(
        usual, anchors_of_views(found, scalings, searches), strict=True
    ):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)
