"""Rows drawn by content: blind to row order, blocks, view order and units."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from manyview.engine.contract import open_engine
from manyview.stages.sampling import draw
from manyview.views.views import Views


def drawn(views, size=20, seed=0, block_rows=None, dtype=np.float64, present=None):
    engine = open_engine(Views(views, present=present), dtype, block_rows=block_rows)
    return draw(engine, size, seed)


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(200, 4)), rng.gamma(2.0, size=(200, 7))]


@given(st.integers(0, 2**31), st.integers(1, 60))
def test_shuffled_rows_give_the_same_draw(seed, size):
    rng = np.random.default_rng(seed)
    views = [rng.normal(size=(60, 3)), rng.normal(size=(60, 2))]
    shuffle = rng.permutation(60)
    first = drawn(views, size, seed).rows
    second = drawn([x[shuffle] for x in views], size, seed).rows
    np.testing.assert_array_equal(shuffle[second], first)


@pytest.mark.parametrize("block_rows", [1, 7, 64, 199])
def test_block_size_does_not_matter(views, block_rows):
    found = drawn(views, block_rows=block_rows)
    np.testing.assert_array_equal(found.rows, drawn(views).rows)


def test_view_order_does_not_matter(views):
    np.testing.assert_array_equal(drawn(views[::-1]).rows, drawn(views).rows)


@pytest.mark.parametrize("factor", [1e3, 2.0**-20, 1e-30, 1e30])
def test_units_of_a_view_do_not_matter(views, factor):
    scaled = [views[0] * factor, views[1]]
    np.testing.assert_array_equal(drawn(scaled).rows, drawn(views).rows)


def test_float32_draws_the_same_rows(views):
    narrow = drawn([x.astype(np.float32) for x in views], dtype=np.float32).rows
    shared = np.intersect1d(narrow, drawn(views).rows)
    assert len(shared) >= 18


def test_seed_matters_and_repeats(views):
    np.testing.assert_array_equal(drawn(views, seed=5).rows, drawn(views, seed=5).rows)
    assert set(drawn(views, seed=5).rows) != set(drawn(views, seed=6).rows)


def test_every_row_is_as_likely(views):
    counts = np.zeros(200)
    for seed in range(200):
        counts[drawn(views, seed=seed).rows] += 1
    # 200 draws of 20 of 200 rows: mean 20, standard deviation 4.2.
    assert counts.sum() == 4000
    assert counts.min() >= 4 and counts.max() <= 40


def test_rows_are_distinct_and_the_block_holds_them(views):
    found = drawn(views, 50)
    assert len(np.unique(found.rows)) == 50
    for v, x in enumerate(views):
        np.testing.assert_array_equal(found.block.views[v], x[found.rows])
        np.testing.assert_array_equal(found.view(v), x[found.rows])


def test_smaller_draw_is_the_start_of_a_larger_one(views):
    np.testing.assert_array_equal(drawn(views, 50).rows[:20], drawn(views, 20).rows)


def test_draw_larger_than_the_data_gives_every_row(views):
    assert sorted(drawn(views, 10_000).rows) == list(range(200))


def test_sparse_view_in_any_row_order():
    rng = np.random.default_rng(1)
    x = rng.random((100, 30)) * (rng.random((100, 30)) < 0.2)
    shuffle = rng.permutation(100)
    first = drawn([sp.csr_array(x)]).rows
    second = drawn([sp.csr_array(x[shuffle])], block_rows=9).rows
    np.testing.assert_array_equal(shuffle[second], first)


def test_missing_views_are_left_out_of_their_rows(views):
    present = np.ones((200, 2), dtype=bool)
    present[::2, 1] = False
    found = drawn(views, 60, present=present)
    there = present[found.rows, 1]
    assert 0 < there.sum() < 60
    np.testing.assert_array_equal(found.view(1), views[1][found.rows][there])
    other = [views[0], np.where(present[:, 1:], views[1], 99.0)]
    np.testing.assert_array_equal(drawn(other, 60, present=present).rows, found.rows)


def test_constant_columns_add_nothing(views):
    wide = [np.column_stack([views[0], np.full(200, 0.1)]), views[1]]
    np.testing.assert_array_equal(drawn(wide).rows, drawn(views).rows)


def test_identical_rows_only():
    assert len(drawn([np.ones((30, 2))], 10).rows) == 10
