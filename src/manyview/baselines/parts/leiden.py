"""Leiden's modularity clustering of a weighted graph, at a resolution or a number.

With weights W, degrees d and 2m their sum, a partition is sought that makes

    Q = Σ_ij ( W_ij - r d_i d_j / 2m ) [y_i = y_j] / 2m

large (V. Traag, L. Waltman, N. J. van Eck: From Louvain to Leiden, Scientific Reports
9, 2019). The number of clusters grows with the resolution r. Nodes are visited in an
order drawn from the seed and their numbers: give rows in the order of their content.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.base import IntArray
from manyview.errors import DependencyError, install_command

# Steps that look for a bracket of the number, each a doubling of the resolution, and
# that then halve it: 2^20 is beyond any graph of neighbours, and 2^-16 of a doubling
# below what moves a node.
DOUBLINGS, HALVINGS = 20, 16


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
            f"Install it: {install_command('leiden')}."
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
    """A partition into `n_clusters`: the resolution is bisected until it gives them.

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
    few, many, best = 0.0, np.inf, np.arange(len(linked))
    resolution = 1.0
    for _ in range(DOUBLINGS + HALVINGS):
        labels = leiden(W, resolution, seed, trials)
        if labels.max() + 1 >= n_clusters:
            many = resolution
            best = labels if labels.max() <= best.max() else best
        else:
            few = resolution
        if labels.max() + 1 == n_clusters:
            return labels
        resolution = _between(few, many)
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


def _between(few: float, many: float) -> float:
    """The next resolution: doubled or halved until both ends are known."""
    if few == 0.0:
        return many / 2
    return few * 2 if many == np.inf else float(np.sqrt(few * many))
