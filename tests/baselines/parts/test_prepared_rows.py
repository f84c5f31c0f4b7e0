"""Rows that differ, prepared, in an order that no file decides."""

import numpy as np
import pytest

from manyview.baselines.parts import in_memory
from manyview.baselines.parts.prepared_rows import plain_rows, prepared_rows
from manyview.errors import ResourceError
from manyview.views.views import Views


def prepared(views, scaling="standard", seed=0):
    return prepared_rows(Views(views), scaling, 3, np.random.default_rng(seed))


def test_every_row_finds_itself(three_views):
    views = three_views[0]
    rows = prepared(views)
    widths = {x.shape[1]: x for x in rows.arrays}
    for x in views:
        z = (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)
        np.testing.assert_allclose(widths[x.shape[1]][rows.place], z, atol=1e-8)


def test_rows_that_are_the_same_count_once(three_views):
    views = [np.concatenate([x, x[:50], x[:20]]) for x in three_views[0]]
    rows = prepared(views)
    assert len(rows) == 300 == len(rows.arrays[0])
    np.testing.assert_array_equal(rows.place[300:350], rows.place[:50])
    np.testing.assert_array_equal(rows.place[350:], rows.place[:20])


def test_rows_the_same_in_one_view_alone_stay_two(three_views):
    first, *others = three_views[0]
    first = np.zeros_like(first) + np.arange(300)[:, None] // 2
    assert len(prepared([first, *others])) == 300


def test_neither_rows_nor_views_know_their_place(three_views):
    views = three_views[0]
    order = np.random.default_rng(1).permutation(300)
    here, there = prepared(views), prepared([x[order] for x in reversed(views)])
    for a, b in zip(here.arrays, there.arrays, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(here.place[order], there.place)


def test_another_seed_is_another_order(three_views):
    here, there = prepared(three_views[0]), prepared(three_views[0], seed=1)
    assert (here.place != there.place).any()


def test_rows_of_zeros_lack_a_view_compared_by_angle():
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.5, size=(40, 12)).astype(float)
    counts[:, 0] += 1
    counts[:4] = 0
    rows = prepared([counts, rng.normal(size=(40, 3))], scaling="root")
    of_counts = [x.shape[1] for x in rows.arrays].index(12)
    lacking = np.flatnonzero(~rows.present[:, of_counts])
    assert set(lacking) == set(rows.place[:4])
    assert rows.present[:, 1 - of_counts].all()


def test_rows_as_they_are(three_views):
    views = three_views[0]
    rows = plain_rows(Views(views), np.random.default_rng(0))
    for x, v in zip(rows.arrays, rows.view_order, strict=True):
        np.testing.assert_array_equal(x[rows.place], views[v])


def test_what_does_not_fit_is_refused(three_views, monkeypatch):
    monkeypatch.setattr(in_memory, "physical_memory", lambda: 3 * 8 * 300 * 20 - 1)
    with pytest.raises(ResourceError, match="300 rows of 20 features as dense"):
        plain_rows(Views(three_views[0]), np.random.default_rng(0))
