"""WNN against its formulas cell by cell, and what weights must say."""

import numpy as np
import pytest

from manyview.baselines import WNN
from manyview.baselines.wnn import (
    CROSS_CONSTANT,
    least_overlap,
    space_of,
    view_weights,
    weighted_nearest,
)
from manyview.metrics import ari

K = 5


@pytest.fixture(scope="module")
def two_spaces():
    rng = np.random.default_rng(0)
    return [space_of(rng.normal(size=(40, d)), K) for d in (3, 5)]


def theta(space, i, z):
    """The affinity of cell i to a profile, as the paper prints it."""
    beyond = max(np.linalg.norm(space.profiles[i] - z) - space.nearest[i], 0)
    return np.exp(-beyond / space.width[i])


def test_reach_by_cell(two_spaces):
    space = two_spaces[0]
    own = [{i, *row} for i, row in enumerate(space.ids)]
    found = least_overlap(space.profiles, space.ids)
    for i in range(40):
        d = np.linalg.norm(space.profiles - space.profiles[i], axis=1)
        shared = [
            (len(own[i] & own[j]) / len(own[i] | own[j]), -d[j])
            for j in range(40)
            if j != i and own[i] & own[j]
        ]
        wanted = -np.mean([apart for _, apart in sorted(shared)[:K]])
        assert found[i] == pytest.approx(wanted)
        assert space.nearest[i] == pytest.approx(np.delete(d, i).min())
        assert space.width[i] == pytest.approx(wanted - space.nearest[i])


def test_weights_by_cell(two_spaces):
    weights = view_weights(two_spaces)
    for i in range(40):
        scores = []
        for own, other in (two_spaces, two_spaces[::-1]):
            within = theta(own, i, own.profiles[own.ids[i]].mean(axis=0))
            cross = theta(own, i, own.profiles[other.ids[i]].mean(axis=0))
            scores.append(within / (cross + CROSS_CONSTANT))
        wanted = np.exp(scores) / np.exp(scores).sum()
        np.testing.assert_allclose(weights[i], wanted)


def test_neighbours_by_cell(two_spaces):
    weights = view_weights(two_spaces)
    found = weighted_nearest(two_spaces, weights, K)
    for i in range(40):
        total = [
            sum(
                weights[i, v] * theta(s, i, s.profiles[j])
                for v, s in enumerate(two_spaces)
            )
            if j != i
            else -1
            for j in range(40)
        ]
        assert set(found[i]) == set(np.argsort(total)[::-1][:K])


def test_a_view_of_noise_weighs_less(three_views):
    views, labels = three_views
    noise = np.random.default_rng(0).normal(size=(300, 5))
    model = WNN(4, random_state=0).fit([noise, views[0]])
    assert ari(labels, model.labels_) > 0.9
    own, other = model.view_weights_.mean(axis=0)
    assert own < other


def test_finds_separate_groups(three_views):
    views, labels = three_views
    model = WNN(4, random_state=0).fit(views)
    assert ari(labels, model.labels_) > 0.95
    np.testing.assert_allclose(model.view_weights_.sum(axis=1), 1)


def test_neither_rows_nor_views_know_their_place(three_views):
    views = three_views[0][:2]
    order = np.random.default_rng(0).permutation(300)
    model = WNN(6, random_state=3).fit(views)
    mixed = WNN(6, random_state=3).fit([x[order] for x in views[::-1]])
    np.testing.assert_array_equal(model.labels_[order], mixed.labels_)
    np.testing.assert_array_equal(
        model.view_weights_[order], mixed.view_weights_[:, ::-1]
    )
