"""How far the rows of a fit reach, against distances by hand."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.engine.local import LocalEngine
from manyview.stages.reach import (
    BEYOND,
    MOST_LANDMARKS,
    ROUNDING,
    look_beyond,
    measure_reach,
)
from manyview.stages.sampling import draw
from manyview.stages.scaling import Scaling
from manyview.views.views import Views

PLAIN = Scaling("none")


def engine_of(views, present=None, block_rows=None):
    given, order = Views(views, present=present), range(len(views))
    return LocalEngine(given, np.float64, block_rows=block_rows, view_order=order)


def reach_of(views, *scalings, present=None):
    engine = engine_of(views, present)
    drawn = draw(engine, engine.n_samples, 0)
    return drawn, measure_reach(drawn, scalings or (PLAIN,) * len(views))


def distances(rows, landmarks):
    return np.linalg.norm(rows[:, None, :] - landmarks[None, :, :], axis=2).min(axis=1)


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(90, 3)), rng.gamma(2.0, size=(90, 4))]


def test_the_farthest_drawn_row_is_the_reach(views):
    drawn, reach = reach_of(views)
    for v in range(2):
        rows = np.asarray(drawn.view(v))
        np.testing.assert_array_equal(reach.landmarks[v], rows[:9])
        farthest = distances(rows[9:], rows[:9]).max()
        assert reach.radii[v] == pytest.approx((1 + ROUNDING) * farthest)
        assert reach.counts[v] == 81


def test_many_rows_have_few_landmarks():
    _, reach = reach_of([np.random.default_rng(0).normal(size=(1500, 2))])
    assert len(reach.landmarks[0]) == MOST_LANDMARKS
    assert reach.counts[0] == 1000 - MOST_LANDMARKS


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("block_rows", [7, None])
def test_distances_are_in_units_of_the_reach(views, make, block_rows):
    scalings = (Scaling("global", scale=np.full(3, 4.0)), PLAIN)
    _, reach = reach_of([make(x) for x in views], *scalings)
    new = [np.random.default_rng(1).normal(size=(20, d)) for d in (3, 4)]
    engine = engine_of([make(x) for x in new], block_rows=block_rows)
    look_beyond(engine, reach, ("a", "b"))
    expected = [
        distances(factor * x, reach.landmarks[v]) / reach.radii[v]
        for v, (x, factor) in enumerate(zip(new, (4.0, 1.0), strict=True))
    ]
    np.testing.assert_allclose(engine.read(BEYOND), np.stack(expected, axis=1))


def test_rows_of_the_fit_lie_within(views):
    _, reach = reach_of(views)
    engine = engine_of(views)
    assert look_beyond(engine, reach, ("a", "b")) is None
    assert engine.read(BEYOND).max() <= 1.0


def test_one_row_far_away_is_said(views):
    _, reach = reach_of(views)
    new = [x[:10].copy() for x in views]
    new[1][4] += 100.0
    words = look_beyond(engine_of(new), reach, ("a", "b"))
    assert words.startswith("1 of 10 rows lie outside all that the model has seen")
    assert "(1 in view 'b')" in words and "model.place(X)" in words


def test_many_rows_a_little_outside_are_said_and_one_is_chance(views):
    _, reach = reach_of(views)
    edge = reach.landmarks[0][0] + 1.0
    while distances(edge[None], reach.landmarks[0]) < 1.2 * reach.radii[0]:
        edge = edge + 0.1
    for n, said in ((1, False), (8, True)):
        new = [x[:60].copy() for x in views]
        new[0][:n] = edge
        words = look_beyond(engine_of(new), reach, ("a", "b"))
        assert (words is not None) is said


def test_a_view_that_a_row_lacks_says_nothing(views):
    _, reach = reach_of(views)
    new = [np.full((3, d), 1e6) for d in (3, 4)]
    new[1] = views[1][:3]
    present = np.array([[False, True]] * 3)
    engine = engine_of(new, present)
    assert look_beyond(engine, reach, ("a", "b")) is None
    assert (engine.read(BEYOND)[:, 0] == 0.0).all()


def test_rows_that_are_all_the_same_or_alone_know_of_no_outside():
    for n in (1, 20):
        _, reach = reach_of([np.zeros((n, 2))])
        assert reach.radii == (np.inf,)
        assert look_beyond(engine_of([np.ones((4, 2))]), reach, ("a",)) is None
    _, reach = reach_of([np.full((20, 2), 1e4)])
    rounded = np.full((4, 2), 1e4) + 1e-3
    assert look_beyond(engine_of([rounded]), reach, ("a",)) is None
