"""Leiden's modularity clustering of a weighted graph, at a resolution or a number.

With weights W, degrees d and 2m their sum, a partition is sought that makes

    Q = Σ_ij ( W_ij - r d_i d_j / 2m ) [y_i = y_j] / 2m

large (V. Traag, L. Waltman, N. J. van Eck: From Louvain to Leiden, Scientific Reports
9, 2019). The number of clusters grows with the resolution r. Nodes are visited in an
order drawn from the seed and their numbers: give rows in the order of their content.
"""

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.errors import DependencyError

IntArray = np.ndarray[Any, Any]

# Resolutions tried for a number of clusters: most graphs hit it in five, and a graph
# that steps across it does so ever again.
MOST_TRIES = 12
# The next resolution keeps so far from the ends of the bracket, in shares of it.
MARGIN = 0.1


def leiden(adjacency: Any, resolution: float, seed: int, trials: int = 1) -> IntArray:
    """Cluster of every node of a symmetric CSR graph, in order of their first nodes.

    Of several trials the one of the largest Q. Nodes without an edge are clusters of
    their own.
    """
    try:
        from graspologic_native import leiden_csr
    except ImportError as error:
        raise DependencyError(
            "Leiden's clustering needs graspologic-native, which is not installed. "
            "Install it: pip install graspologic-native."
        ) from error
    W = sp.csr_array(adjacency)
    n_nodes = W.shape[0]
    if not W.sum() > 0:  # the library stops the process on a graph without edges
        return np.arange(n_nodes)
    _, found = leiden_csr(
        W.indptr.astype(np.int64),
        W.indices.astype(np.int32),
        W.data.astype(np.float64),
        n_nodes,
        resolution=float(resolution),
        seed=int(seed),
        trials=trials,
    )
    return renumbered(np.fromiter((found[i] for i in range(n_nodes)), np.intp, n_nodes))


def leiden_with_k(
    adjacency: Any, n_clusters: int, seed: int, trials: int = 1
) -> IntArray:
    """A partition into `n_clusters`: resolutions are tried until one gives them.

    Where none does (a graph of more pieces, a step across the number), the nearest
    partition of more clusters is joined up (`joined`). Nodes without an edge count for
    none of this and join the largest cluster, as long as there are enough others.
    """
    W = sp.csr_array(adjacency)
    linked = np.flatnonzero(W.sum(axis=1) > 0)
    if len(linked) <= n_clusters:
        return joined(W, np.arange(W.shape[0]), n_clusters)
    if len(linked) < W.shape[0]:
        inside = leiden_with_k(W[linked][:, linked], n_clusters, seed, trials)
        labels = np.full(W.shape[0], np.argmax(np.bincount(inside)))
        labels[linked] = inside
        return renumbered(labels)
    few, many, best = None, None, np.arange(len(linked))
    resolution = 1.0
    for _ in range(MOST_TRIES):
        labels = leiden(W, resolution, seed, trials)
        found = Tried(resolution, int(labels.max()) + 1)
        if found.n_clusters == n_clusters:
            return labels
        if found.n_clusters > n_clusters:
            many = found
            best = labels if labels.max() <= best.max() else best
        else:
            few = found
        resolution = _between(few, many, n_clusters)
    return joined(W, best, n_clusters)


def joined(adjacency: Any, labels: IntArray, n_clusters: int) -> IntArray:
    """While there are too many clusters, the lightest joins the one it is tied to most.

    Ties count in relation to what degrees alone would give, W_ab / d_a d_b: the
    resolution up to which the two are better off together. One without ties joins the
    heaviest.
    """
    ones, ends = np.ones(len(labels)), np.arange(len(labels) + 1)
    member = sp.csr_array((ones, labels, ends))
    between = sp.coo_array(member.T @ sp.csr_array(adjacency) @ member)
    weight = np.asarray(between.sum(axis=1), dtype=np.float64)
    ties: list[dict[int, float]] = [{} for _ in weight]
    for a, b, w in zip(*between.coords, between.data, strict=True):
        if a != b:
            ties[a][int(b)] = float(w)
    home, alive = np.arange(len(weight)), np.ones(len(weight), bool)
    for _ in range(len(weight) - n_clusters):
        a = int(np.argmin(np.where(alive, weight, np.inf)))
        alive[a] = False
        own = {b: w / weight[b] for b, w in ties[a].items()}
        heaviest = int(np.argmax(np.where(alive, weight, -1)))
        b = max(sorted(own), key=own.__getitem__) if own else heaviest
        for c, w in ties[a].items():
            del ties[c][a]
            if c != b:
                ties[b][c] = ties[c][b] = ties[b].get(c, 0.0) + w
        weight[b] += weight[a]
        home[home == a] = b
    return renumbered(home[labels])


def renumbered(labels: IntArray) -> IntArray:
    """The same clusters, numbered from 0 on in the order of their first nodes."""
    _, first, codes = np.unique(labels, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[codes]


class Tried(NamedTuple):
    """A resolution, and how many clusters it gives."""

    resolution: float
    n_clusters: int


def _between(few: Tried | None, many: Tried | None, n_clusters: int) -> float:
    """The next resolution, on the line through both ends (of the logarithms).

    As long as one end is unknown, as if the number grew with the resolution.
    """
    if few is None or many is None:
        known = few or many
        assert known is not None
        step = n_clusters / known.n_clusters
        return known.resolution * (max(step, 2.0) if few else min(step, 0.5))
    ends = np.log([few.resolution, many.resolution])
    numbers = np.log([few.n_clusters, n_clusters, many.n_clusters])
    share = (numbers[1] - numbers[0]) / (numbers[2] - numbers[0])
    share = float(np.clip(share, MARGIN, 1.0 - MARGIN))
    return float(np.exp(ends[0] + share * (ends[1] - ends[0])))
