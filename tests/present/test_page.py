import numpy as np
import pytest
import scipy.sparse as sp

from manyview import Views
from manyview.present import plot
from manyview.present.page import (
    choose_rows,
    lay_out,
    lay_out_views,
    reduce,
    side_by_side,
)


def test_few_rows_are_all_shown() -> None:
    np.testing.assert_array_equal(choose_rows(5, most=5), np.arange(5))


def test_many_rows_are_drawn_without_repeats() -> None:
    rows = choose_rows(1000, most=100)
    assert len(rows) == 100 and (np.diff(rows) > 0).all()
    assert 400 < rows.mean() < 600
    np.testing.assert_array_equal(rows, choose_rows(1000, most=100))


def test_further_rows_lie_amid_their_neighbours(monkeypatch) -> None:
    monkeypatch.setattr(plot, "MOST_POINTS", 200)
    rng = np.random.default_rng(0)
    group = np.arange(600) % 2
    rows = rng.normal(size=(600, 4)) + 50 * group[:, None]
    flat = lay_out(rows, np.arange(600), method="pca")
    assert flat.points.shape == (600, 2) and "200 rows" in flat.how
    middle = flat.points[:, 0].mean()
    side = flat.points[:, 0] > middle
    assert (side == side[0]).tolist() == (group == 0).tolist()


def test_a_view_map_leaves_out_the_rows_without_it() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.normal(size=(2, 40, 3))
    second[10:] = np.nan
    shown = np.arange(5, 35)
    found = lay_out_views(Views([first, second]), shown, 2, method="pca")
    assert [len(flat.rows) for flat in found] == [30, 5]
    assert found[1].rows.tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_wide_views_are_reduced(kind) -> None:
    x = np.random.default_rng(0).normal(size=(80, 200))
    reduced = reduce(kind(x), 0)
    assert reduced.shape == (80, 50)
    assert reduce(kind(x[:, :3]), 0) == pytest.approx(x[:, :3])


def test_side_by_side_gives_every_view_the_same_say() -> None:
    rng = np.random.default_rng(0)
    group = np.arange(100) % 2
    loud = 1000 * rng.normal(size=(100, 3))
    telling = rng.normal(size=(100, 3)) * 0.1 + group[:, None]
    joined = side_by_side(Views([loud, telling]), np.arange(100), 2)
    between = np.abs(joined[group == 0].mean(0) - joined[group == 1].mean(0))
    assert (between / joined.std(0)).max() > 1.5
