"""Rows in content order: the same for every shuffle, another for another seed."""

import numpy as np

from manyview.baselines.parts.in_memory import content_ordered, restored
from manyview.views.views import Views


def ordered(views, seed):
    return content_ordered(Views(views), np.random.default_rng(seed))


def test_a_shuffle_gives_the_same_rows_in_the_same_order(three_views):
    views = three_views[0]
    p = np.random.default_rng(1).permutation(300)
    Xs, order = ordered(views, 0)
    mixed, mixed_order = ordered([v[p] for v in views], 0)
    for X, M in zip(Xs, mixed, strict=True):
        np.testing.assert_array_equal(X, M)
    np.testing.assert_array_equal(order, p[mixed_order])


def test_another_seed_gives_another_order(three_views):
    first, second = (ordered(three_views[0], seed)[1] for seed in (0, 1))
    assert (np.sort(first) == np.arange(300)).all()
    assert (first != second).mean() > 0.9


def test_order_does_not_follow_the_values():
    X = np.arange(2000.0)[:, None]
    _, order = ordered([X], 0)
    assert abs(np.corrcoef(order, np.arange(2000))[0, 1]) < 0.1


def test_restored_undoes_the_order(three_views):
    Xs, order = ordered(three_views[0], 0)
    np.testing.assert_array_equal(restored(Xs[1], order), three_views[0][1])
