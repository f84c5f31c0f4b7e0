"""Graphs of exact nearest neighbours, of one view or summed over several.

Distances are looked at by blocks of rows; nothing of size n × n is kept.
"""

from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches

from manyview.arrays.linear import csr
from manyview.arrays.ops import squared_distances
from manyview.base import FloatArray, IntArray
from manyview.baselines.parts.bipartite import row_batches
from manyview.baselines.parts.prepared_rows import PreparedRows
from manyview.stages.scaling import inverse

# The neighbour whose distance is a row's width: L. Zelnik-Manor, P. Perona:
# Self-tuning spectral clustering, NIPS 2004.
WIDTH_NEIGHBOUR = 7
# Differences to all neighbours of so many rows at a time: 32 MB for ten of 40 features.
PAIR_ROWS = 10_000


def nearest_rows(X: FloatArray, k: int) -> tuple[FloatArray, IntArray]:
    """Distances to, and numbers of, the k nearest other rows (n_rows, k), ascending."""
    n_rows = len(X)
    k = min(k, n_rows - 1)
    X = X - X.mean(axis=0)
    search = NearestNeighbors(n_neighbors=k + 1).fit(X)
    ids = search.kneighbors(X, return_distance=False)
    # A row is among its own nearest, unless as many others lie where it does.
    own = ids == np.arange(n_rows)[:, None]
    own[~own.any(axis=1), -1] = True
    ids = ids[~own].reshape(n_rows, k)
    # The search expands squares: what lies close loses its digits there.
    apart = np.empty(ids.shape)
    for rows in gen_batches(n_rows, max(1, PAIR_ROWS // max(k, 1))):
        gaps = X[rows, None, :] - X[ids[rows]]
        apart[rows] = np.sqrt((gaps.astype(np.float64) ** 2).sum(axis=2))
    order = np.argsort(apart, axis=1, kind="stable")
    return np.take_along_axis(apart, order, 1), np.take_along_axis(ids, order, 1)


def self_tuned_graph(apart: FloatArray, ids: IntArray, k: int) -> sp.csr_array:
    """W_ij = exp(-d_ij² / s_i s_j) where i or j is among the other's k nearest.

    s_i is the distance of row i to its 7th neighbour; where that is 0, the mean of
    the others.
    """
    n_rows = len(ids)
    width = apart[:, min(WIDTH_NEIGHBOUR, apart.shape[1]) - 1]
    known = width > 0
    width = np.where(known, width, width[known].mean() if known.any() else 1.0)
    apart, ids = apart[:, :k], ids[:, :k]
    W = csr(ids, np.exp(-(apart**2) / (width[:, None] * width[ids])), n_rows)
    return sp.csr_array(W.maximum(W.T))


def normalised(W: sp.csr_array) -> sp.csr_array:
    """D^{-1/2} W D^{-1/2}, D the degrees."""
    scale = sp.diags_array(np.sqrt(inverse(W.sum(axis=1))))
    return sp.csr_array(scale @ W @ scale)


def neighbour_graph(rows: PreparedRows, sizes: Sequence[int]) -> sp.csr_array:
    """Normalised self-tuned graphs of all views and numbers of neighbours, summed."""
    n_rows = len(rows)
    total = sp.csr_array((n_rows, n_rows))
    for v, X in enumerate(rows.arrays):
        there = np.flatnonzero(rows.present[:, v])
        if len(there) < 2:
            continue
        apart, ids = nearest_rows(X[there], max(*sizes, WIDTH_NEIGHBOUR))
        for k in sizes:
            W = sp.coo_array(normalised(self_tuned_graph(apart, ids, k)))
            places = (there[W.coords[0]], there[W.coords[1]])
            total = total + sp.csr_array((W.data, places), shape=total.shape)
    return sp.csr_array(total)


def linked(W: sp.csr_array, rows: PreparedRows) -> sp.csr_array:
    """The graph with its pieces tied together where they are nearest in each view.

    Every piece but the largest is tied to the nearest row outside of it, by a weight
    no larger than any other, until one piece is left: a few rows far from all others
    are then no cluster that nothing could join.
    """
    weight = W.data[W.data > 0].min() if W.nnz else 1.0
    n_before = None
    while True:
        n_pieces, piece = connected_components(W, directed=False)
        if n_pieces == 1 or n_pieces == n_before:
            return W
        n_before = n_pieces
        ties = np.concatenate(
            [
                _ties(X, t, piece)
                for X, t in zip(rows.arrays, rows.present.T, strict=True)
            ]
        )
        new = sp.csr_array((np.full(len(ties), weight), tuple(ties.T)), shape=W.shape)
        W = sp.csr_array(W.maximum(new).maximum(new.T))


def _ties(X: FloatArray, there: IntArray, piece: IntArray) -> IntArray:
    """The pairs (own row, nearest row elsewhere) of all pieces but the largest."""
    largest = np.argmax(np.bincount(piece))
    small, all_rows = np.flatnonzero(there & (piece != largest)), np.flatnonzero(there)
    found: dict[int, tuple[float, int, int]] = {}
    for part in row_batches(len(small), len(all_rows)) if len(small) else ():
        own = small[part]
        d = squared_distances(X[own], X[all_rows])
        d[piece[own][:, None] == piece[all_rows]] = np.inf
        nearest = d.argmin(axis=1)
        for i, j, apart in zip(own, nearest, d.min(axis=1), strict=True):
            tie = (float(apart), int(i), int(all_rows[j]))
            if apart < np.inf and tie < found.get(int(piece[i]), (np.inf, 0, 0)):
                found[int(piece[i])] = tie
    pairs = [(i, j) for _, i, j in found.values()]
    return np.array(pairs, dtype=np.intp).reshape(-1, 2)
