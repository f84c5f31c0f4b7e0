"""Rows drawn by content, in any order and units; how much each view shaped them.

A view that has nothing to say is named, not silently left out.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from manyview import AnchorSpectral
from manyview.engine.local import LocalEngine
from manyview.errors import DegenerateWarning, InputError
from manyview.stages.sampling import (
    _hash,
    agreement,
    draw,
    measure_influence,
    neighbours,
    vote,
)
from manyview.stages.scaling import Scaling
from manyview.views.views import Block, Views

PLAIN = Scaling("none")


def drawn(views, size=20, seed=0, block_rows=None, dtype=np.float64, present=None):
    given, order = Views(views, present=present), range(len(views))
    engine = LocalEngine(given, dtype, block_rows=block_rows, view_order=order)
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
    first = drawn(views, size, seed)
    second = drawn([x[shuffle] for x in views], size, seed)
    np.testing.assert_array_equal(shuffle[second.caller_rows], first.caller_rows)
    # To the engine, whose rows stand in the order of their content, all is the same.
    np.testing.assert_array_equal(second.rows, first.rows)
    for own, other in zip(first.block.views, second.block.views, strict=True):
        np.testing.assert_array_equal(own, other)


@pytest.mark.usefixtures("rows_stay_on_disk")
def test_rows_that_are_one_up_to_rounding_are_drawn_in_one_order(views, tmp_path):
    """Also from files, where row numbers follow the file."""
    for x in views:
        x[:100] = x[100:] * (1 + 1e-12)
    shuffle, found = np.random.default_rng(1).permutation(200), []
    for rows in (np.arange(200), shuffle):
        np.save(tmp_path / "x.npy", np.concatenate(views, axis=1)[rows])
        x = np.load(tmp_path / "x.npy", mmap_mode="r")
        found.append(rows[drawn([x[:, :4], x[:, 4:]], 150).caller_rows])
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(found[0], drawn(views, 150).caller_rows)


@pytest.mark.parametrize("block_rows", [1, 7, 64, 199])
def test_block_size_does_not_matter(views, block_rows):
    found = drawn(views, block_rows=block_rows)
    np.testing.assert_array_equal(found.caller_rows, drawn(views).caller_rows)


def test_view_order_does_not_matter(views):
    np.testing.assert_array_equal(
        drawn(views[::-1]).caller_rows, drawn(views).caller_rows
    )


@pytest.mark.parametrize("factor", [1e3, 2.0**-20, 1e-30, 1e30])
def test_units_of_a_view_do_not_matter(views, factor):
    scaled = [views[0] * factor, views[1]]
    np.testing.assert_array_equal(drawn(scaled).caller_rows, drawn(views).caller_rows)


def test_float32_draws_the_same_rows(views):
    narrow = drawn([x.astype(np.float32) for x in views], dtype=np.float32).caller_rows
    shared = np.intersect1d(narrow, drawn(views).caller_rows)
    assert len(shared) >= 18


def test_seed_matters_and_repeats(views):
    np.testing.assert_array_equal(
        drawn(views, seed=5).caller_rows, drawn(views, seed=5).caller_rows
    )
    assert set(drawn(views, seed=5).caller_rows) != set(
        drawn(views, seed=6).caller_rows
    )


def test_every_row_is_as_likely(views):
    counts = np.zeros(200)
    for seed in range(200):
        counts[drawn(views, seed=seed).caller_rows] += 1
    # 200 draws of 20 of 200 rows: mean 20, standard deviation 4.2.
    assert counts.sum() == 4000
    assert counts.min() >= 4 and counts.max() <= 40


def test_rows_are_distinct_and_the_block_holds_them(views):
    found = drawn(views, 50)
    assert len(np.unique(found.caller_rows)) == 50
    for v, x in enumerate(views):
        np.testing.assert_array_equal(found.block.views[v], x[found.caller_rows])
        np.testing.assert_array_equal(found.view(v), x[found.caller_rows])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_spreads_that_only_the_wider_type_holds_are_drawn_by(views, make):
    narrow = [(x * 1e-38).astype(np.float32) for x in views]
    wide = [x.astype(np.float64) for x in narrow]
    first, second = (drawn([make(x) for x in v]).caller_rows for v in (narrow, wide))
    np.testing.assert_array_equal(first, second)


def test_smaller_draw_is_the_start_of_a_larger_one(views):
    np.testing.assert_array_equal(
        drawn(views, 50).caller_rows[:20], drawn(views, 20).caller_rows
    )


def test_draw_larger_than_the_data_gives_every_row(views):
    assert sorted(drawn(views, 10_000).caller_rows) == list(range(200))


def test_sparse_view_in_any_row_order():
    rng = np.random.default_rng(1)
    x = rng.random((100, 30)) * (rng.random((100, 30)) < 0.2)
    shuffle = rng.permutation(100)
    first = drawn([sp.csr_array(x)]).caller_rows
    second = drawn([sp.csr_array(x[shuffle])], block_rows=9).caller_rows
    np.testing.assert_array_equal(shuffle[second], first)


@pytest.mark.filterwarnings("error")
def test_sparse_values_far_from_zero_are_hashed_by_their_lowest_bits():
    rng = np.random.default_rng(2)
    x = 1e6 + rng.normal(size=(100, 3))
    shuffle = rng.permutation(100)
    first = drawn([sp.csr_array(x)]).caller_rows
    second = drawn([sp.csr_array(x[shuffle])]).caller_rows
    np.testing.assert_array_equal(shuffle[second], first)
    steps = np.array([[1.0, -7.0], [2.0**32 + 1.0, -7.0], [1.0, -7.0 - 2.0**33]])
    hashes = _hash(sp.csr_array(steps), np.array([3, 5], dtype=np.int32))
    assert len(set(hashes.tolist())) == 1


def test_missing_views_are_left_out_of_their_rows(views):
    present = np.ones((200, 2), dtype=bool)
    present[::2, 1] = False
    found = drawn(views, 60, present=present)
    there = present[found.caller_rows, 1]
    assert 0 < there.sum() < 60
    np.testing.assert_array_equal(found.view(1), views[1][found.caller_rows][there])
    other = [views[0], np.where(present[:, 1:], views[1], 99.0)]
    np.testing.assert_array_equal(
        drawn(other, 60, present=present).caller_rows, found.caller_rows
    )


def test_constant_columns_add_nothing(views):
    wide = [np.column_stack([views[0], np.full(200, 0.1)]), views[1]]
    np.testing.assert_array_equal(drawn(wide).caller_rows, drawn(views).caller_rows)


def test_identical_rows_only():
    assert len(drawn([np.ones((30, 2))], 10).caller_rows) == 10


def block(*views, present=None):
    n_rows = views[0].shape[0]
    there = np.ones((n_rows, len(views)), dtype=bool) if present is None else present
    return Block(0, views, there)


def test_neighbours_are_the_nearest_others():
    x = np.array([[0.0], [1.0], [3.0], [7.0]])
    (found,) = neighbours(block(x), (PLAIN,))
    assert found[:, 0].tolist() == [1, 0, 1, 2]
    assert found[:, 3].tolist() == [-1] * 4, "four rows have three others"
    (sparse,) = neighbours(block(sp.csr_array(x)), (PLAIN,))
    assert np.array_equal(sparse, found)


def test_rows_without_the_view_have_and_are_no_neighbours():
    x = np.array([[0.0], [1.0], [0.0], [2.0]])
    present = np.array([[True], [True], [False], [True]])
    (found,) = neighbours(block(x, present=present), (PLAIN,))
    assert found[2].tolist() == [-1] * 10
    assert 2 not in found[[0, 1, 3]]


def test_agreement_is_beyond_chance():
    nearest = np.array([[1], [0], [3], [2]])
    assert agreement(nearest, np.array([0, 0, 1, 1])).tolist() == [1, 1, 1, 1]
    apart = agreement(nearest, np.array([0, 1, 0, 1]))
    assert apart == pytest.approx([-0.5] * 4)


def test_a_view_of_noise_has_no_influence_and_shares_sum_to_one():
    rng = np.random.default_rng(0)
    labels = np.arange(300) % 3
    clear = labels[:, None] * 10.0 + rng.normal(size=(300, 2))
    near = neighbours(block(clear, rng.normal(size=(300, 4))), (PLAIN, PLAIN))
    found = measure_influence(near, labels, np.ones(2), 4)
    assert found.overall.sum() == pytest.approx(1.0) and found.overall[0] > 0.95
    assert found.by_cluster.shape == (4, 2)
    assert found.by_cluster.sum(axis=1) == pytest.approx(np.ones(4))
    assert found.by_cluster[3].tolist() == [0.5, 0.5], "an empty cluster says nothing"


def test_weights_count():
    labels = np.arange(60) % 2
    x = labels[:, None] * 9.0 + np.random.default_rng(0).normal(size=(60, 1))
    near = neighbours(block(x, x.copy()), (PLAIN, PLAIN))
    found = measure_influence(near, labels, np.array([3.0, 1.0]), 2)
    assert found.overall == pytest.approx([0.75, 0.25])


def test_the_vote_of_the_neighbours():
    nearest = np.array([[1, 2], [0, 2], [3, -1], [-1, -1]])
    assert vote(nearest, np.array([0, 1, 1, 1]), 2).tolist() == [1, 0, 1, -1]


def fit(views):
    return AnchorSpectral(2, n_graph_anchors=20, n_init=1, random_state=0).fit(views)


@pytest.fixture
def told():
    return np.repeat([[0.0, 1.0], [9.0, 3.0]], 10, axis=0) + np.eye(20, 2)


@pytest.mark.parametrize("constant", [np.ones((20, 3)), sp.csr_array(np.ones((20, 3)))])
def test_a_constant_view_is_named(told, constant):
    with pytest.warns(DegenerateWarning, match="in 'flat': it has no say"):
        model = fit({"told": told, "flat": constant})
    assert sorted(np.bincount(model.labels_)) == [10, 10]


def test_rows_that_are_all_the_same_are_not_blamed_on_scaling():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit({"a": np.ones((20, 3)), "b": np.full((20, 2), 7.0)})
    first, second = (str(w.message) for w in caught)
    assert "rounding, in 'a', 'b': no view tells rows apart" in first
    assert "Are the rows nearly all alike?" in second


def test_fewer_clusters_than_asked_for_are_told():
    x = np.repeat(np.eye(3), 20, axis=0)
    with pytest.warns(DegenerateWarning, match="found 3 of the 5 clusters"):
        AnchorSpectral(5, n_graph_anchors=60, n_init=1, random_state=0).fit([x, x])


def test_one_row_is_no_constant_view():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AnchorSpectral(1, random_state=0).fit([np.ones((1, 2))])


def test_a_view_of_no_row_is_refused(told):
    with pytest.raises(InputError, match="View 'b' is missing in all rows but 0"):
        fit({"a": told, "b": np.full((20, 3), np.nan)})
