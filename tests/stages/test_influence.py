"""Influence of views: by hand, with noise, with rows that lack a view."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from manyview.stages.sampling import agreement, measure_influence, neighbours, vote
from manyview.stages.scaling import Scaling
from manyview.views.views import Block

PLAIN = Scaling("none")


def block(*views, present=None):
    n_rows = views[0].shape[0]
    there = np.ones((n_rows, len(views)), dtype=bool) if present is None else present
    return Block(0, views, there)


def test_neighbours_are_the_nearest_others():
    x = np.array([[0.0], [1.0], [3.0], [7.0]])
    (found,) = neighbours(block(x), (PLAIN,))
    assert found[:, 0].tolist() == [1, 0, 1, 2]
    assert found[:, 3].tolist() == [-1] * 4, "four rows have three others"
    (sparse,) = neighbours(block(csr_array(x)), (PLAIN,))
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
    views = block(clear, rng.normal(size=(300, 4)))
    found = measure_influence(views, (PLAIN, PLAIN), labels, np.ones(2), 4)
    assert found.overall.sum() == pytest.approx(1.0) and found.overall[0] > 0.95
    assert found.by_cluster.shape == (4, 2)
    assert found.by_cluster.sum(axis=1) == pytest.approx(np.ones(4))
    assert found.by_cluster[3].tolist() == [0.5, 0.5], "an empty cluster says nothing"


def test_weights_count():
    labels = np.arange(60) % 2
    x = labels[:, None] * 9.0 + np.random.default_rng(0).normal(size=(60, 1))
    views = block(x, x.copy())
    found = measure_influence(views, (PLAIN, PLAIN), labels, np.array([3.0, 1.0]), 2)
    assert found.overall == pytest.approx([0.75, 0.25])


def test_the_vote_of_the_neighbours():
    nearest = np.array([[1, 2], [0, 2], [3, -1], [-1, -1]])
    assert vote(nearest, np.array([0, 1, 1, 1]), 2).tolist() == [1, 0, 1, -1]
