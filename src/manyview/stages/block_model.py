"""Clusters as blocks of the views' graphs: what they tell of neighbours, and moves.

In a degree-corrected block model (B. Karrer, M. E. J. Newman: Stochastic blockmodels
and community structure in networks. Physical Review E 83, 2011) ties inside cluster c
are w_c times, ties between clusters w_0 times as heavy as degrees alone would make
them. Here every view has rates of its own: two clusters that one view does not tell
apart still stand apart by the others, where the modularity of summed graphs joins them.
"""

from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Matrix

Graphs = Sequence[sp.csr_array]

# Sweeps over the rows, and the share of them below which moves no longer matter; five
# sweeps were level with twenty.
MOST_SWEEPS = 12
FEW_MOVES = 1e-3
# Rates are at least that: a cluster without ties inside a view must have a logarithm.
LEAST_RATE = 1e-3


def tells_more(graphs: Graphs, labels: Matrix, others: Matrix, n_clusters: int) -> bool:
    """Do the labels tell more of neighbours than the others, in and across views?

    Both must be more: a cut through one view's dense rows tells much of neighbours in
    that view and nothing of those in another. A single view has no other to agree.
    """
    one = information(graphs, labels, n_clusters)
    other = information(graphs, others, n_clusters)
    return one[0] > other[0] and one[1] > other[1]


def information(graphs: Graphs, labels: Matrix, n_clusters: int) -> tuple[float, float]:
    """Mutual information of the labels at both ends, times the weight of all ties.

    First of ties in each view, then of two ties that meet, of two views.
    """
    near = [_ties_to_clusters(graph, labels, n_clusters) for graph in graphs]
    own = [_of_table(members(labels, n_clusters).T @ x) for x in near]
    across = [_of_table(x.T @ y) for x, y in combinations(near, 2)]
    return sum(own), sum(across)


def _of_table(table: Matrix) -> float:
    """Σ t_ab log( t_ab t / t_a t_b )."""
    expected = np.outer(table.sum(axis=1), table.sum(axis=0))
    at = table > 0
    return float((table[at] * np.log(table[at] * table.sum() / expected[at])).sum())


def moved_by_views(
    graphs: Graphs,
    labels: Matrix,
    n_clusters: int,
    said: Callable[[Matrix], Matrix] | None = None,
    parts: Sequence[slice] = (slice(None),),
    most_sweeps: int = MOST_SWEEPS,
) -> Matrix:
    """The labels after moves of single rows that raise the likelihood of all graphs.

    Half of the rows at a time, so that neighbours do not change places for ever. Rates
    follow the clusters at hand, so none grows for want of ties. A sweep that leaves
    a cluster without rows is not taken. `said` gives, for labels, what else is known
    of every row and cluster, as logarithms of odds. Between `parts` of the rows
    there are no ties: chance is that of each, or clusters would end up in one.
    """
    each = np.arange(len(labels))
    halves = [(each[p][start::2], p) for start in (0, 1) for p in parts]
    near = [_ties_to_clusters(graph, labels, n_clusters) for graph in graphs]
    for _ in range(most_sweeps):
        found = labels.copy()
        more = np.zeros((len(labels), n_clusters)) if said is None else said(labels)
        for own, part in halves:
            member, former = members(found[part], n_clusters), found[own]
            gains = more[own]
            for ties in near:
                gains += _gains(ties[own], member.T @ ties[part])
            best, row = gains.argmax(axis=1), each[: len(own)]
            better = gains[row, best] > gains[row, former] + 1e-12
            found[own] = np.where(better, best, former)
            for graph, ties in zip(graphs, near, strict=True):
                _follow(ties, graph[own[better]], former[better], best[better])
        if len(np.unique(found)) < len(np.unique(labels)):
            break
        n_moves = np.count_nonzero(found != labels)
        labels = found
        if n_moves <= FEW_MOVES * len(labels):
            break
    return labels


def gains_of_views(graphs: Graphs, labels: Matrix, n_clusters: int) -> Matrix:
    """What every row adds to the log-likelihood of all graphs in every cluster."""
    member, total = members(labels, n_clusters), np.zeros((len(labels), n_clusters))
    for graph in graphs:
        ties = _ties_to_clusters(graph, labels, n_clusters)
        total += _gains(ties, member.T @ ties)
    return total


def _gains(x: Matrix, own: Matrix) -> Matrix:
    """What some rows add to the log-likelihood of a view in each cluster.

    Σ_c x_c log(w_c / w_0) − d D_c (w_c − w_0), with x_c a row's ties to cluster c, d
    their sum and D_c the cluster's share of all degrees; `own` are ties of clusters.
    """
    total = own.sum()
    if not total > 0:
        return np.zeros(x.shape)
    degrees, inside = own.sum(axis=1) / total, np.diag(own) / total
    chance = degrees**2
    rates = inside / np.maximum(chance, np.finfo(float).tiny) + LEAST_RATE
    between = (1.0 - inside.sum()) / max(1.0 - chance.sum(), 1e-12) + LEAST_RATE
    gap = degrees * (rates - between)
    return np.asarray(x * np.log(rates / between) - np.outer(x.sum(axis=1), gap))


def _ties_to_clusters(graph: sp.csr_array, labels: Matrix, n_clusters: int) -> Matrix:
    """Weight (n_rows, n_clusters) of every row's ties to every cluster.

    Counted entry by entry: a sparse product would take several times as long.
    """
    first = np.repeat(np.arange(graph.shape[0]) * n_clusters, np.diff(graph.indptr))
    size = len(labels) * n_clusters
    found = np.bincount(first + labels[graph.indices], graph.data, minlength=size)
    return found.reshape(len(labels), n_clusters)


def _follow(ties: Matrix, moved: sp.csr_array, former: Matrix, now: Matrix) -> None:
    """The ties to clusters after some rows, of these own ties, have changed theirs."""
    first, sizes = moved.indices * np.intp(ties.shape[1]), np.diff(moved.indptr)
    for take, cluster in ((np.subtract, former), (np.add, now)):
        place = first + np.repeat(cluster, sizes)
        change = np.bincount(place, moved.data, minlength=ties.size)
        take(ties, change.reshape(ties.shape), out=ties)


def members(labels: Matrix, n_clusters: int) -> sp.csr_array:
    """Rows × clusters, 1 where a row is in the cluster."""
    ends = np.arange(len(labels) + 1)
    shape = (len(labels), n_clusters)
    return sp.csr_array((np.ones(len(labels)), labels, ends), shape=shape)
