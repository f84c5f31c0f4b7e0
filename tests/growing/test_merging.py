"""Ties between leaves against the dense graph; merges against counting all pairs."""

import numpy as np
import pytest

from manyview import AnchorSpectral
from manyview.datasets import make_views
from manyview.engine.local import open_engine
from manyview.growing.merging import (
    LEAST_ROWS,
    leaf_ties,
    merge,
    split_clusters,
    view_shares,
    with_missing,
)
from manyview.stages.anchor_graph import piece_shares, ties


def random_ties(seed, n=12):
    found = np.random.default_rng(seed).random((n, n)) ** 3
    found = found + found.T
    return found / found.sum()


def test_leaf_ties_are_those_of_the_dense_graph():
    views = make_views(90, (4, 3), 3, random_state=0)
    model = AnchorSpectral(3, random_state=0).fit(views)
    spectrum, order = model._passes.spectrum, model._passes.view_order
    graph = spectrum.graph
    engine = open_engine(views, np.float64, view_order=order)
    block = engine.take(np.arange(90))
    columns, weights = ties(block, graph)
    Z = np.zeros((90, sum(graph.sizes)))
    np.add.at(Z, (np.arange(90)[:, None], columns), weights)
    owner = np.repeat([p.view for p in graph.pieces], graph.sizes)
    share = np.repeat(piece_shares(graph), graph.sizes) * spectrum.weights[owner]
    leaf = np.random.default_rng(0).integers(0, 7, 90)
    hot = np.eye(7)[leaf]
    dense = []
    for v in range(2):
        H = (Z * np.sqrt(share / np.maximum(Z.sum(axis=0), 1e-300)))[:, owner == v]
        dense.append(hot.T @ (H @ H.T) @ hot)
    dense = np.stack(dense)
    found = leaf_ties(hot.T @ Z, spectrum)
    np.testing.assert_allclose(found, dense / dense.sum(), atol=1e-12)


def slow_merges(tied, clusters):
    """Every pair of groups of leaves looked at anew before every merge."""
    groups = [(i, [i], {clusters[i]}) for i in range(len(tied))]
    fresh, out = len(tied), []
    p = tied.sum(axis=1)
    while len(groups) > 1:
        pairs = [
            (a, b)
            for i, a in enumerate(groups)
            for b in groups[i + 1 :]
            if a[2] == b[2] and len(a[2]) == 1
        ] or [(a, b) for i, a in enumerate(groups) for b in groups[i + 1 :]]

        def apart(pair):
            (_, a, _), (_, b, _) = pair
            chance = p[a].sum() * p[b].sum()
            return chance / (chance + tied[np.ix_(a, b)].sum())

        best = min(pairs, key=apart)
        out.append((best[0][0], best[1][0], apart(best)))
        groups = [g for g in groups if g not in best]
        groups.append((fresh, best[0][1] + best[1][1], best[0][2] | best[1][2]))
        fresh += 1
    return out


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_are_merged_first(seed):
    tied, clusters = random_ties(seed), np.repeat([0, 1, 2, 5], 3)
    found, slow = merge(tied, clusters), slow_merges(tied, clusters)
    assert [set(p) for p in found.pairs.tolist()] == [{a, b} for a, b, _ in slow]
    assert (np.diff(found.distances) >= 0).all()
    # Between clusters distances are what they are, and never fall.
    np.testing.assert_allclose(found.distances[8:], [d for *_, d in slow[8:]])
    assert found.distances[7] < found.distances[8]


def test_leaves_without_ties_are_merged_last():
    tied = np.kron(np.eye(2), np.ones((2, 2))) / 8
    found = merge(tied, np.arange(4))
    assert found.distances.tolist() == pytest.approx([1 / 3, 1 / 3, 1.0])
    assert merge(np.ones((1, 1)), np.zeros(1, dtype=int)).pairs.shape == (0, 2)


def test_leaves_are_split_where_the_spread_is():
    rng = np.random.default_rng(0)
    rows = np.concatenate(
        [
            rng.normal(0, 0.01, (60, 2)),
            rng.normal(5, 0.01, (30, 2)),
            rng.normal(9, 0.01, (30, 2)),
        ]
    )
    labels = np.repeat([3, 7], 60)
    points, clusters = split_clusters(rows, labels, 3, 0)
    assert clusters.tolist() == [3, 7, 7]
    assert sorted(points[1:, 0].round()) == [5, 9]
    many, _ = split_clusters(rows, labels, 500, 0)
    assert len(many) <= 120 // LEAST_ROWS


def test_a_cluster_without_drawn_rows_is_a_leaf_of_its_own():
    points, centres = np.arange(4.0)[:, None], 10 * np.arange(4.0)[:, None]
    found = with_missing(points, np.array([0, 0, 3, 3]), centres, np.array([0, 2, 3]))
    assert found[0].ravel().tolist() == [0, 1, 20, 2, 3]
    assert found[1].tolist() == [0, 0, 2, 3, 3]


def test_views_that_do_not_see_a_split_have_no_share():
    apart = np.kron(np.eye(2), np.ones((2, 2)))
    alike = np.ones((4, 4))
    sides = np.array([0, 1]), np.array([2, 3])
    shares = view_shares(np.stack([apart, alike]), *sides, np.array([0.5, 0.5]))
    np.testing.assert_allclose(shares, [1, 0], atol=1e-12)
    both = view_shares(np.stack([apart, apart]), *sides, np.array([0.75, 0.25]))
    np.testing.assert_allclose(both, [0.75, 0.25])
    none = view_shares(np.stack([alike, alike]), *sides, np.array([0.5, 0.5]))
    np.testing.assert_allclose(none, [0.5, 0.5])
