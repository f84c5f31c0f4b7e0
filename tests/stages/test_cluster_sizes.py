"""Stated sizes: exact, at the least cost, and refused where they cannot be."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from manyview.errors import InputError, InputTypeError
from manyview.stages.cluster_sizes import (
    STEPS,
    Sizes,
    assign,
    check_sizes,
    check_told,
    drawn_to_sizes,
    sized,
)


def best_sum(scores, sizes):
    """The slow way: every cluster as often as it has room, all against all."""
    place = np.repeat(np.arange(len(sizes)), sizes)
    rows, columns = linear_sum_assignment(-scores[:, place])
    return scores[rows, place[columns]].sum()


def assert_best(priced, labels):
    """At these prices no row would be better off elsewhere, or as well."""
    np.testing.assert_array_equal(priced.argmax(axis=1), labels)
    first, second = -np.sort(-priced, axis=1)[:, :2].T
    assert (first > second + 1e-9).all()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n_clusters", [2, 3, 7])
def test_equal_sizes_cost_as_little_as_can_be(seed, n_clusters):
    rng = np.random.default_rng(seed)
    n = 6 * n_clusters
    scores = rng.normal(size=(n, n_clusters)) + 2 * rng.random(n_clusters)
    equal = np.full(n_clusters, 6)
    labels, prices = assign(scores, equal, equal)
    assert (np.bincount(labels, minlength=n_clusters) == 6).all()
    total = scores[np.arange(n), labels].sum()
    assert total == pytest.approx(best_sum(scores, equal))
    assert_best(scores - prices, labels)


@pytest.mark.parametrize("seed", range(5))
def test_least_sizes_cost_as_little_as_can_be(seed):
    rng = np.random.default_rng(seed)
    scores = np.array([3.0, 0.5, 0.0]) + rng.normal(size=(20, 3))
    labels, prices = assign(scores, np.full(3, 4), np.full(3, 20))
    counts = np.bincount(labels, minlength=3)
    assert counts.min() == 4
    every = [(a, b, 20 - a - b) for a in range(4, 13) for b in range(4, 17 - a)]
    best = max(best_sum(scores, np.array(sizes)) for sizes in every)
    assert scores[np.arange(20), labels].sum() == pytest.approx(best)
    assert_best(scores - prices, labels)


def test_where_sizes_are_right_nothing_has_a_price():
    scores = np.eye(3)[np.arange(12) % 3]
    labels, prices = assign(scores, np.full(3, 4), np.full(3, 4))
    np.testing.assert_array_equal(labels, np.arange(12) % 3)
    np.testing.assert_allclose(prices, 0.0)


def test_rows_that_are_all_alike_are_parted():
    labels, _ = assign(np.zeros((11, 4)), np.full(4, 2), np.full(4, 3))
    assert sorted(np.bincount(labels)) == [2, 3, 3, 3]


@pytest.fixture
def ring():
    """Twelve rows, of which each is tied to the next; two of them are copies."""
    next_one = (np.arange(12) + 1) % 12
    graph = sp.coo_array((np.ones(12), (np.arange(12), next_one)), shape=(12, 12))
    return sp.csr_array(graph + graph.T), np.append(np.arange(12), [0, 0])


def test_rows_move_along_the_graph(ring):
    graph, place = ring
    labels = (place > 2).astype(int)  # 0, 1, 2 and the copies of 0, against nine
    found = sized(graph, place, labels, 2, Sizes(7, 7))
    assert np.bincount(found).tolist() == [7, 7]
    # The rows that went stand next to each other.
    assert set(place[found == 0]) == {11, 0, 1, 2, 3}


def test_only_who_is_needed_fills_up_a_small_cluster(ring):
    graph, place = ring
    labels = (place > 2).astype(int)
    found = sized(graph, place, labels, 2, Sizes(6, 14))
    assert np.bincount(found).tolist() == [6, 8] and (found != labels).sum() == 1
    np.testing.assert_array_equal(sized(graph, place, labels, 2, Sizes(5, 14)), labels)


def test_sizes_are_reached_in_small_steps_by_scores_of_the_step_before():
    """On a line that wants to be cut elsewhere the border wanders, and never jumps."""
    place, seen = np.arange(200.0), []
    labels = (place >= 160).astype(int)

    def scored(labels):
        seen.append(np.bincount(labels))
        return np.stack([160.0 - place, np.zeros(200)], axis=1)

    found = drawn_to_sizes(scored, labels, 2, Sizes(100, 100))
    np.testing.assert_array_equal(found, (place >= 100).astype(int))
    sizes = np.array([counts[0] for counts in seen])
    assert len(seen) > STEPS and np.abs(np.diff(sizes)).max() <= 2


def test_sizes_of_a_part():
    assert Sizes(10, 11).of_sample(50, 100) == Sizes(5, 6)
    assert Sizes(3, 100).of_sample(10, 100) == Sizes(0, 10)
    assert Sizes(3, 4).excess(np.array([2, 6, 4])) == 2
    assert Sizes(3, 9).excess(np.array([1, 1, 7])) == 4


def test_what_is_asked_for():
    assert check_sizes("equal", None, 12, 4) == Sizes(3, 3)
    assert check_sizes("equal", 3, 14, 4) == Sizes(3, 4)
    assert check_sizes(None, 2, 14, 4) == Sizes(2, 14)


@pytest.mark.parametrize(
    ("asked", "n_clusters", "kind", "sentence"),
    [
        (("even", None), 3, InputError, "cluster_sizes='even' is unknown; choose one"),
        (
            (None, 5),
            3,
            InputError,
            "min_cluster_size=5 cannot be had: 3 clusters of 14",
        ),
        (("equal", 5), 3, InputError, "have 4 rows at most"),
        ((None, 0), 3, InputError, "min_cluster_size must be at least 1"),
        ((None, 2.5), 3, InputTypeError, "min_cluster_size must be a whole number"),
        (("equal", None), "auto", InputError, "n_clusters='auto' cannot be chosen"),
    ],
)
def test_what_cannot_be_is_refused(asked, n_clusters, kind, sentence):
    with pytest.raises(kind, match=sentence):
        check_sizes(*asked, 14, n_clusters)


def test_sizes_and_links_do_not_go_together():
    with pytest.raises(InputError, match="beside must_link"):
        check_told(([[0, 1]], None, None), ("equal", None), [None] * 14, 3)
