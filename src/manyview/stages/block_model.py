"""Clusters as blocks of the views' graphs: what they tell of neighbours, and moves.

In a degree-corrected block model (B. Karrer, M. E. J. Newman: Stochastic blockmodels
and community structure in networks. Physical Review E 83, 2011) ties inside cluster c
are w_c times, ties between clusters w_0 times as heavy as degrees alone would make
them. Here every view has rates of its own: two clusters that one view does not tell
apart still stand apart by the others, where the modularity of summed graphs joins them.
"""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Array, index_count, index_sum, namespace
from manyview.stages.device_graph import DeviceGraph

# Of one view each, or on a device of all of them together.
Graphs = Sequence[sp.csr_array] | DeviceGraph

# Sweeps over the rows, and the share of them below which moves no longer matter; five
# sweeps were level with twenty.
MOST_SWEEPS = 12
FEW_MOVES = 1e-3
# Rates are at least that: a cluster without ties inside a view must have a logarithm.
LEAST_RATE = 1e-3


def tells_more(graphs: Graphs, labels: Array, others: Array, n_clusters: int) -> bool:
    """Do the labels tell more of neighbours than the others, in and across views?

    Both must be more: a cut through one view's dense rows tells much of neighbours in
    that view and nothing of those in another. A single view has no other to agree.
    """
    one = information(graphs, labels, n_clusters)
    other = information(graphs, others, n_clusters)
    return one[0] > other[0] and one[1] > other[1]


def information(graphs: Graphs, labels: Array, n_clusters: int) -> tuple[float, float]:
    """Mutual information of the labels at both ends, times the weight of all ties.

    First of ties in each view, then of two ties that meet, of two views.
    """
    near = ties_to_clusters(graphs, labels, n_clusters)
    own, views = ties_of_clusters(near, labels), range(near.shape[1])
    across = [near[:, v].T @ near[:, w] for v, w in combinations(views, 2)]
    return _told([own[:, v] for v in views]), _told(across)


def ties_of_clusters(ties: Array, labels: Array) -> Array:
    """Weight (n_clusters, n_views, n_clusters) of ties between every two clusters."""
    flat = ties.reshape((len(ties), -1))
    return index_sum(flat, labels, ties.shape[2]).reshape((-1, *ties.shape[1:]))


def _told(tables: list[Array]) -> float:
    """Σ t_ab log( t_ab t / t_a t_b ) of all tables."""
    if not tables:
        return 0.0
    xp, t = namespace(tables[0]), namespace(tables[0]).stack(tables)
    one, other = xp.sum(t, axis=2, keepdims=True), xp.sum(t, axis=1, keepdims=True)
    total, at = xp.sum(one, axis=1, keepdims=True), t > 0
    ratio = xp.where(at, t * total / xp.where(at, one * other, 1.0), 1.0)
    return float(xp.sum(t * xp.log(ratio)))


def moved_by_views(
    graphs: Graphs,
    labels: Array,
    n_clusters: int,
    said: Callable[[Array], Array] | None = None,
    parts: Sequence[slice] = (slice(0, None),),
    most_sweeps: int = MOST_SWEEPS,
) -> Array:
    """The labels after moves of single rows that raise the likelihood of all graphs.

    Half of the rows at a time, so that neighbours do not change places for ever. Rates
    follow the clusters at hand, so none grows for want of ties. A sweep that leaves
    a cluster without rows is not taken. `said` gives, for labels, what else is known
    of every row and cluster, as logarithms of odds. Between `parts` of the rows
    there are no ties: chance is that of each, or clusters would end up in one.
    """
    halves = [(slice(p.start + a, p.stop, 2), p) for a in (0, 1) for p in parts]
    near, xp = ties_to_clusters(graphs, labels, n_clusters), namespace(labels)
    n_filled = filled(labels, n_clusters)
    for _ in range(most_sweeps):
        found = xp.asarray(labels, copy=True)
        more = None if said is None else said(labels)
        for own, part in halves:
            former = xp.asarray(found[own], copy=True)
            gains = _gains(near[own], ties_of_clusters(near[part], found[part]))
            gains = gains if more is None else more[own] + gains
            best, better = better_clusters(gains, former)
            found[own] = xp.where(better, best, former)
            near = follow(near, graphs, found, (own, better), former)
        n_left = filled(found, n_clusters)
        if n_left < n_filled:
            break
        n_moves, n_filled = int((found != labels).sum()), n_left
        labels = found
        if n_moves <= FEW_MOVES * len(labels):
            break
    return labels


def filled(labels: Array, n_clusters: int) -> int:
    """How many clusters have rows."""
    return int((index_count(labels, n_clusters) > 0).sum())


def better_clusters(gains: Array, former: Array) -> tuple[Array, Array]:
    """The cluster of most gain for every row, and whether that is more than now."""
    xp = namespace(gains)
    best = xp.argmax(gains, axis=1)
    pair = xp.stack([best, former], axis=1)
    most = xp.take_along_axis(gains, pair, axis=1)
    return best, most[:, 0] > most[:, 1] + 1e-12


def gains_of_views(graphs: Graphs, labels: Array, n_clusters: int) -> Array:
    """What every row adds to the log-likelihood of all graphs in every cluster."""
    ties = ties_to_clusters(graphs, labels, n_clusters)
    return _gains(ties, ties_of_clusters(ties, labels))


def _gains(x: Array, own: Array) -> Array:
    """What some rows add to the log-likelihood of all views in each cluster.

    Σ_c x_c log(w_c / w_0) − d D_c (w_c − w_0) in every view, with x_c a row's ties to
    cluster c, d their sum and D_c the cluster's share of all degrees; `own` are ties
    of clusters. Views without ties say nothing.
    """
    xp = namespace(x)
    sums = xp.sum(own, axis=2)
    total = xp.sum(sums, axis=0)
    total = xp.where(total > 0, total, 1.0)
    degrees = sums.T / total[:, None]
    inside = xp.einsum("cvc->vc", own) / total[:, None]
    chance = degrees**2
    rates = inside / xp.where(chance > 0, chance, 1.0) + LEAST_RATE
    rest = xp.clip(1.0 - xp.sum(chance, axis=1), 1e-12, None)
    between = ((1.0 - xp.sum(inside, axis=1)) / rest + LEAST_RATE)[:, None]
    gap = degrees * (rates - between)
    gains = x * xp.log(rates / between)
    gains -= xp.sum(x, axis=2)[:, :, None] * gap
    return xp.sum(gains, axis=1)


def ties_to_clusters(graphs: Any, labels: Array, n_clusters: int) -> Array:
    """Weight (n_rows, n_views, n_clusters) of every row's ties to every cluster.

    On the host counted entry by entry: a sparse product would take several times as
    long.
    """
    if isinstance(graphs, DeviceGraph):
        return graphs.ties_to_clusters(labels, n_clusters)
    graphs = [graphs] if sp.issparse(graphs) else graphs
    found = np.empty((len(labels), len(graphs), n_clusters))
    for v, graph in enumerate(graphs):
        first = np.repeat(np.arange(len(labels)) * n_clusters, np.diff(graph.indptr))
        near = first + labels[graph.indices], graph.data, len(labels) * n_clusters
        found[:, v] = np.bincount(*near).reshape(len(labels), n_clusters)
    return found


def follow(
    ties: Array, graphs: Graphs, labels: Array, rows: tuple[slice, Array], former: Array
) -> Array:
    """The ties to clusters after some rows of a slice, of `former` labels, have moved.

    A device makes all of them again: to look for which have moved would take longer.
    """
    if isinstance(graphs, DeviceGraph):
        return ties_to_clusters(graphs, labels, ties.shape[2])
    own, at = rows[0], np.flatnonzero(rows[1])
    moved = np.arange(len(labels))[own][at]
    for v, graph in enumerate(graphs):
        some, near = graph[moved], ties[:, v]
        first, sizes = some.indices * np.intp(ties.shape[2]), np.diff(some.indptr)
        for take, cluster in ((np.subtract, former[at]), (np.add, labels[moved])):
            place = first + np.repeat(cluster, sizes)
            change = np.bincount(place, some.data, minlength=near.size)
            take(near, change.reshape(near.shape), out=near)
    return ties


def on_host(graphs: Graphs) -> Sequence[sp.csr_array]:
    """The graph of every view as a matrix of scipy."""
    return graphs.on_host() if isinstance(graphs, DeviceGraph) else graphs
