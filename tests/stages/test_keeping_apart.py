"""Clusters of groups that must not share one: against trying every way."""

from itertools import product

import numpy as np
import pytest

from manyview.stages.keeping_apart import keep_apart

FREE = np.full(6, -1)
NONE = np.empty((0, 2), dtype=int)


def is_kept(found, pairs):
    return all(found[a] != found[b] for a, b in pairs)


def test_each_takes_what_suits_it_where_nothing_is_apart():
    scores = np.random.default_rng(0).normal(size=(6, 3))
    np.testing.assert_array_equal(keep_apart(scores, FREE, NONE), scores.argmax(axis=1))


@pytest.mark.parametrize("seed", range(20))
def test_a_way_is_found_exactly_where_there_is_one(seed):
    rng = np.random.default_rng(seed)
    pairs = np.array([p for p in product(range(6), repeat=2) if p[0] < p[1]])
    pairs = pairs[rng.random(len(pairs)) < 0.6]
    fixed = np.where(rng.random(6) < 0.3, rng.integers(0, 3, 6), -1)
    if any(fixed[a] == fixed[b] >= 0 for a, b in pairs):
        fixed = FREE  # one label for two that are apart is refused before
    scores = rng.normal(size=(6, 3))
    every = [
        way
        for way in product(range(3), repeat=6)
        if is_kept(way, pairs)
        and all(f in (-1, w) for f, w in zip(fixed, way, strict=True))
    ]
    found = keep_apart(scores, fixed, pairs)
    assert (found is None) == (not every)
    if found is not None:
        assert tuple(found) in every


def test_the_strongest_wish_of_a_pair_is_not_lost_without_need():
    scores = np.array([[5.0, 0.0], [1.0, 0.9]])
    found = keep_apart(scores, FREE[:2], np.array([[0, 1]]))
    assert found.tolist() == [0, 1]


def test_too_many_for_the_clusters_are_noticed_fast():
    all_pairs = np.array([(a, b) for a in range(9) for b in range(a)])
    fixed = np.full(9, -1)
    assert keep_apart(np.zeros((9, 8)), fixed, all_pairs, alike=True) is None
