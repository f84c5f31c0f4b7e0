import numpy as np
import pytest
import scipy.sparse as sp

from manyview import Views
from manyview.present import plot
from manyview.report.maps import _side_by_side, place_others, reduce, view_parts
from manyview.report.subject import _judge


def test_further_rows_lie_amid_their_neighbours(monkeypatch) -> None:
    monkeypatch.setattr(plot, "MOST_POINTS", 200)
    rng = np.random.default_rng(0)
    group = np.arange(600) % 2
    rows = rng.normal(size=(600, 4)) + 50 * group[:, None]
    flat = place_others(rows, plot.flatten(rows, method="pca"))
    assert flat.points.shape == (600, 2) and "200 rows" in flat.how
    middle = flat.points[:, 0].mean()
    side = flat.points[:, 0] > middle
    assert (side == side[0]).tolist() == (group == 0).tolist()


def test_a_view_map_leaves_out_the_rows_without_it() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 40, 3))
    second[10:] = np.nan
    shown = np.arange(5, 35)
    parts, places = view_parts(Views([first, second]), shown, 2)
    assert [len(part) for part in parts] == [30, 5]
    assert places[1].tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_wide_views_are_reduced(kind) -> None:
    x = np.random.default_rng(0).normal(size=(80, 200))
    reduced = reduce(kind(x))
    assert reduced.shape == (80, 50)
    assert reduce(kind(x[:, :3])) == pytest.approx(x[:, :3])


def test_side_by_side_gives_every_view_the_same_say() -> None:
    rng = np.random.default_rng(0)
    group = np.arange(100) % 2
    loud = 1000 * rng.normal(size=(100, 3))
    telling = rng.normal(size=(100, 3)) * 0.1 + group[:, None]
    joined = _side_by_side(Views([loud, telling]), np.arange(100), 2)
    between = np.abs(joined[group == 0].mean(0) - joined[group == 1].mean(0))
    assert (between / joined.std(0)).max() > 1.5


def test_maps_and_influence_keep_the_callers_views_and_rows() -> None:
    """The engine visits rows and views in an order of its own."""
    rng = np.random.default_rng(3)
    labels = np.repeat([0, 1, 2], 40)
    telling = 6.0 * np.eye(3, 5)[labels] + rng.normal(size=(120, 5))
    parts = [rng.poisson(0.5, size=(120, 5)), telling, rng.normal(size=(120, 5)) + 9]
    maps = {}
    for first in range(3):
        order = np.roll(np.arange(3), first)
        views = Views([parts[v] for v in order])
        found = _judge(None, views, labels, None).influence
        assert order[found.overall.argmax()] == 1
        assert found.overall.max() > 0.6
        shown, _ = view_parts(views, np.arange(120), 3)
        for v, own in zip(order, shown, strict=True):
            maps.setdefault(v, []).append(own)
    for first, second, third in maps.values():
        np.testing.assert_allclose(second, first, atol=1e-6)
        np.testing.assert_allclose(third, first, atol=1e-6)
