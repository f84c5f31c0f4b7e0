"""What labels tell of the views' graphs, and moves that raise their likelihood."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score as ari
from sklearn.metrics import mutual_info_score

from manyview.stages.block_model import (
    LEAST_RATE,
    follow,
    information,
    moved_by_views,
    tells_more,
    ties_to_clusters,
)


def planted(own, inside=0.3, between=0.02, seed=0):
    """A random graph of these clusters."""
    rng = np.random.default_rng(seed)
    chance = np.where(own[:, None] == own, inside, between)
    W = np.triu(rng.uniform(size=chance.shape) < chance, 1)
    return sp.csr_array((W + W.T) * 1.0)


def likelihood(graphs, labels, n_clusters):
    """Σ_views Σ_ij W_ij log w − d_i d_j w / 2m, written down as it stands."""
    total = 0.0
    for W in (graph.toarray() for graph in graphs):
        d, same = W.sum(axis=1), labels[:, None] == labels
        chance = np.outer(d, d) / d.sum()
        rate = np.full(W.shape, W[~same].sum() / chance[~same].sum() + LEAST_RATE)
        for j in range(n_clusters):
            at = np.ix_(labels == j, labels == j)
            rate[at] = W[at].sum() / chance[at].sum() + LEAST_RATE
        total += (W * np.log(rate) - chance * rate).sum()
    return total


@pytest.fixture
def own():
    return np.random.default_rng(3).permutation(np.arange(300) % 3)


def test_moves_raise_the_likelihood_and_find_the_planted_clusters(own):
    graphs = [planted(own, seed=seed) for seed in (0, 1)]
    rng = np.random.default_rng(1)
    wrong = np.where(rng.uniform(size=300) < 0.5, rng.integers(0, 3, 300), own)
    found = moved_by_views(graphs, wrong, 3)
    assert ari(own, wrong) < 0.5 and ari(own, found) > 0.98
    assert likelihood(graphs, found, 3) > likelihood(graphs, wrong, 3)
    np.testing.assert_array_equal(moved_by_views(graphs, found, 3), found)


def test_ties_follow_the_rows_that_move(own):
    graphs = [planted(own, seed=seed) for seed in (0, 1)]
    for v, graph in enumerate(graphs):
        graph.data *= np.random.default_rng(v).uniform(size=graph.nnz)
        graphs[v] = sp.csr_array(graph + graph.T)
    some, now = slice(1, None, 2), own.copy()
    better = np.arange(150) % 3 == 0
    now[some] = np.where(better, (own[some] + 1) % 3, own[some])
    ties = ties_to_clusters(graphs, own, 3)
    ties = follow(ties, graphs, now, (some, better), own[some])
    np.testing.assert_allclose(ties, ties_to_clusters(graphs, now, 3), atol=1e-12)
    expected = graphs[1] @ np.eye(3)[now]
    np.testing.assert_allclose(ties[:, 1], expected, atol=1e-12)


def test_clusters_that_one_view_cannot_tell_apart_stay_apart_by_another(own):
    blind = planted(np.minimum(own, 1), seed=0)  # joins the clusters 1 and 2
    seeing = planted(own, 0.2, 0.05, seed=1)
    rng = np.random.default_rng(2)
    wrong = np.where(rng.uniform(size=300) < 0.2, rng.integers(0, 3, 300), own)
    assert ari(own, moved_by_views([blind, seeing], wrong, 3)) > 0.9


def test_weights_of_ties_weigh_views(own):
    noise = planted(np.random.default_rng(9).permutation(own))
    clear = planted(own, 0.1, 0.03)
    start = np.where(np.arange(300) % 10 == 0, (own + 1) % 3, own)
    heard = moved_by_views([100.0 * clear, noise], start, 3)
    drowned = moved_by_views([0.01 * clear, noise], start, 3)
    assert ari(own, heard) > 0.8 > 0.3 > ari(own, drowned)


def test_parts_without_ties_between_them_keep_their_clusters_in_common(own):
    """Chance is that of each part: as of one graph it would be half of it."""
    graph = sp.csr_array(sp.block_diag([planted(own, 0.1, 0.03, s) for s in (0, 1)]))
    both, parts = np.tile(own, 2), [slice(0, 300), slice(300, 600)]
    rng = np.random.default_rng(2)
    wrong = np.where(rng.uniform(size=600) < 0.3, rng.integers(0, 3, 600), both)
    found = moved_by_views([graph], wrong, 3, None, parts)
    assert ari(both, found) > ari(both, wrong) + 0.1
    assert (found != moved_by_views([graph], wrong, 3)).any()
    alone = [moved_by_views([graph[p][:, p]], wrong[p], 3) for p in parts]
    np.testing.assert_array_equal(found, np.concatenate(alone))
    once = moved_by_views([graph], wrong, 3, None, parts, most_sweeps=1)
    assert ari(both, wrong) < ari(both, once) < ari(both, found)


def test_no_cluster_is_left_without_rows():
    graph = planted(np.zeros(60, dtype=int))
    labels = (np.arange(60) == 7).astype(int)
    found = moved_by_views([graph], labels, 2)
    assert len(np.unique(found)) == 2
    empty = sp.csr_array((60, 60))
    np.testing.assert_array_equal(moved_by_views([empty], labels, 2), labels)


def testinformation_is_that_of_both_ends(own):
    """Against scikit-learn's, on ties written out one by one."""
    graphs = [planted(own, seed=seed) for seed in (0, 1)]
    labels = np.random.default_rng(5).integers(0, 4, 300)
    in_views, across = information(graphs, labels, 4)
    ends = [graph.tocoo().coords for graph in graphs]
    expected = sum(len(i) * mutual_info_score(labels[i], labels[j]) for i, j in ends)
    assert in_views == pytest.approx(expected)
    walks = (graphs[0] @ graphs[1]).toarray().astype(int)
    i, j = np.nonzero(walks)
    several = np.repeat(np.arange(len(i)), walks[i, j])
    one, other = labels[i[several]], labels[j[several]]
    expected = len(several) * mutual_info_score(one, other)
    assert across == pytest.approx(expected)


def test_labels_must_tell_more_in_views_and_across_them(own):
    graphs = [planted(own, seed=seed) for seed in (0, 1)]
    joined = np.minimum(own, 1)
    assert tells_more(graphs, own, joined, 3)
    assert not tells_more(graphs, joined, own, 3)
    assert not tells_more(graphs, own, own, 3)
    assert not tells_more(graphs[:1], own, joined, 3)  # no second view agrees
    stranger = planted(np.random.default_rng(4).permutation(own))
    alone = [planted(own), 0.001 * stranger]
    in_own_view = np.where(own == 2, 1, own)
    assert information(alone, own, 3)[0] > information(alone, in_own_view, 3)[0]
