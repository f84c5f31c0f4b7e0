"""Bipartite graphs between rows and anchors, kept k-sparse.

`anchor_graph` weighs the k nearest anchors of every row; `component_graph`
bends such a graph until it falls apart into the wanted number of connected
components. No dense row-by-anchor matrix is ever held, only blocks of one.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.utils import gen_batches

from manyview.arrays.linear import csr, eigh
from manyview.arrays.ops import index_sum, smallest, squared_distances
from manyview.base import FloatArray, IntArray
from manyview.baselines.parts.simplex import project_groups
from manyview.stages.scaling import inverse

# Entries of a dense block of rows: 32 MB in float64.
BLOCK_ENTRIES = 4_000_000
# The leading eigenvalues, 1 for every component, may miss their count by this much
# (the authors' program).
CONNECTED = 1e-7
# First weight of the components, and most rounds: the authors' program.
FIRST_LAM, MAX_ITER = 0.1, 50
# A second eigenvalue below this is rounding: the rows of the component are all alike.
RANK_ONE = 1e-10


def row_batches(n_rows: int, n_columns: int) -> Iterator[slice]:
    """Slices of rows whose dense block of `n_columns` columns stays small."""
    yield from gen_batches(n_rows, max(1, BLOCK_ENTRIES // n_columns))


def nearest_anchors(
    X: FloatArray, anchors: FloatArray, k: int
) -> tuple[FloatArray, IntArray]:
    """Squared distances to, and numbers of, the k nearest anchors, (n_samples, k)."""
    squared = np.empty((len(X), k), X.dtype)
    ids = np.empty((len(X), k), np.intp)
    # Distances are differences of large numbers unless the origin is moved close.
    origin = anchors.mean(axis=0)
    A = anchors - origin
    for rows in row_batches(len(X), max(A.shape)):
        squared[rows], ids[rows] = smallest(squared_distances(X[rows] - origin, A), k)
    return squared, ids


def anchor_graph(X: FloatArray, anchors: FloatArray, k: int) -> sp.csr_array:
    """Row-stochastic graph (n_samples, n_anchors) to the k nearest anchors.

    With squared distances h_1 <= h_2 <= … of a row to the anchors,

        b_j = (h_{k+1} - h_j) / (k h_{k+1} - Σ_{r<=k} h_r),   j = 1 … k,

    the minimiser over the simplex of Σ_j h_j b_j + gamma ||b||² for the gamma
    that leaves exactly k entries. Rows whose k + 1 nearest anchors are equally
    far get equal weights. Fewer than k + 1 anchors lower k.
    """
    if len(anchors) == 1:
        return sp.csr_array(np.ones((len(X), 1)))
    k = min(k, len(anchors) - 1)
    squared, ids = nearest_anchors(X, anchors, k + 1)
    h = squared.astype(np.float64)
    gaps = h[:, k:] - h[:, :k]
    total = gaps.sum(axis=1, keepdims=True)
    # Below this the gaps are rounding errors of the distances.
    tied = total[:, 0] <= 10 * k * np.finfo(squared.dtype).eps * h[:, k]
    gaps[tied], total[tied] = 1.0, k
    B: sp.csr_array = csr(ids[:, :k], gaps / total, len(anchors))
    B.eliminate_zeros()
    B.sort_indices()
    return B


class Spectrum(NamedTuple):
    """Leading part of the normalised bipartite graph: F = [U; V] and its scaling.

    `eigenvalues` holds the c + 1 largest squared singular values, descending: 1 for
    every connected component.
    """

    U: FloatArray
    V: FloatArray
    row_scale: FloatArray
    anchor_scale: FloatArray
    eigenvalues: FloatArray

    def has_at_least(self, n_components: int, slack: float) -> bool:
        """Do the leading eigenvalues say there are that many components?"""
        top = self.eigenvalues[:n_components]
        return len(top) == n_components and top.sum() > n_components - slack


def spectrum(P: sp.csr_array, c: int) -> Spectrum:
    """Singular vectors of D1^{-1/2} P D2^{-1/2} by the n_anchors-sized Gram matrix."""
    row_scale = inverse(P.sum(axis=1)) ** 0.5
    anchor_scale = inverse(P.sum(axis=0)) ** 0.5
    scaled = P.data * np.repeat(row_scale, np.diff(P.indptr)) * anchor_scale[P.indices]
    S = sp.csr_array((scaled, P.indices, P.indptr), shape=P.shape)
    w, V = eigh((S.T @ S).toarray(), c + 1)
    w, V = np.clip(w[::-1], 0, 1), V[:, ::-1][:, :c]
    U = (S @ V) * inverse(w[:c]) ** 0.5
    half = np.sqrt(0.5)
    return Spectrum(U * half, V * half, row_scale, anchor_scale, w)


class ComponentGraph(NamedTuple):
    """The bent graph; its `components` may still be too few or many."""

    P: sp.csr_array
    components: IntArray
    embedding: FloatArray


def component_graph(
    G: sp.csr_array, n_components: int, exact: bool = False
) -> ComponentGraph:
    """Graph near `G`, on its support, with `n_components` connected components.

    Alternates, with F = [U; V] the top-c eigenvectors of the normalised graph,

        P_i. = proj( G_i. - lam/2 t_i. ),
        t_ij = || D1_i^{-1/2} u_i - D2_j^{-1/2} v_j ||²,

    doubling lam while there are too few components and halving it while there are too
    many. Unless `exact`, the projection of the rows is averaged with that of the
    columns, and 1 and 10 are the degree scalings of the first round, as in the authors'
    program; the paper states the row constraint alone.
    """
    found = spectrum(G, n_components)
    if found.has_at_least(n_components, n_components * 1e-10):
        return ComponentGraph(G, components(G), found.U)
    one, ten = np.ones(G.shape[0]), np.full(G.shape[1], 10.0)
    scales = (found.row_scale, found.anchor_scale) if exact else (one, ten)
    lam = FIRST_LAM
    for _ in range(MAX_ITER):
        t = _spread(G, found.U * scales[0][:, None], found.V * scales[1][:, None])
        P = _bend(G, t, lam, exact)
        found = spectrum(P, n_components)
        scales = (found.row_scale, found.anchor_scale)
        if not found.has_at_least(n_components, CONNECTED):
            lam *= 2
        elif found.has_at_least(n_components + 1, CONNECTED):
            lam /= 2
        else:
            break
    return ComponentGraph(P, components(P), found.U)


def _bend(G: sp.csr_array, t: FloatArray, lam: float, exact: bool) -> sp.csr_array:
    """P-step: simplex projection of G - lam/2 t on the support of G."""
    n_samples, n_anchors = G.shape
    target = G.data - lam / 2 * t
    rows = np.repeat(np.arange(n_samples), np.diff(G.indptr))
    p = project_groups(target, rows, n_samples)
    if not exact:
        p = (p + project_groups(target, G.indices, n_anchors)) / 2
    P = sp.csr_array((p, G.indices.copy(), G.indptr.copy()), shape=G.shape)
    P.eliminate_zeros()
    return P


def _spread(G: sp.csr_array, a: FloatArray, b: FloatArray) -> FloatArray:
    """|| a_i - b_j ||² on the support of G, in its storage order."""
    t = np.empty(G.nnz)
    for block in row_batches(*G.shape):
        entries = slice(G.indptr[block.start], G.indptr[block.stop])
        lengths = np.diff(G.indptr[block.start : block.stop + 1])
        places = np.repeat(np.arange(len(lengths)), lengths), G.indices[entries]
        t[entries] = squared_distances(a[block], b)[places]
    return t


def components(P: sp.csr_array) -> IntArray:
    """Connected component of every row in the bipartite graph of P, from 0 on."""
    graph = sp.block_array([[None, P], [P.T, None]], format="csr")
    _, of_node = connected_components(graph, directed=False)
    _, labels = np.unique(of_node[: P.shape[0]], return_inverse=True)
    return np.asarray(labels, dtype=np.intp)


def settle_components(
    P: sp.csr_array, labels: IntArray, arrays: list[FloatArray], n_clusters: int
) -> IntArray:
    """Exactly `n_clusters` groups from the components, where that is possible."""
    return _halve_largest(P, _merge_smallest(labels, arrays, n_clusters), n_clusters)


def _merge_smallest(
    labels: IntArray, arrays: list[FloatArray], n_clusters: int
) -> IntArray:
    """While there are too many, the smallest joins the one with the nearest mean."""
    sizes = np.bincount(labels)
    if len(sizes) <= n_clusters:
        return labels
    sums = np.hstack([index_sum(x.astype(float), labels, len(sizes)) for x in arrays])
    home, alive = np.arange(len(sizes)), np.ones(len(sizes), bool)
    for _ in range(len(sizes) - n_clusters):
        ids = np.flatnonzero(alive)
        means = sums[ids] / sizes[ids, None]
        smallest_one = int(np.argmin(sizes[ids]))
        gaps = ((means - means[smallest_one]) ** 2).sum(axis=1)
        gaps[smallest_one] = np.inf
        source, target = ids[smallest_one], ids[int(np.argmin(gaps))]
        sums[target] += sums[source]
        sizes[target] += sizes[source]
        alive[source] = False
        home[home == source] = target
    _, merged = np.unique(home[labels], return_inverse=True)
    return np.asarray(merged, dtype=np.intp)


def _halve_largest(P: sp.csr_array, labels: IntArray, n_clusters: int) -> IntArray:
    """While there are too few, the second singular vector cuts the largest in two.

    One without such a vector (all its rows alike) stays whole: fewer come back.
    """
    labels = labels.copy()
    uncuttable: set[int] = set()
    while (n_found := int(labels.max()) + 1) < n_clusters:
        sizes = np.bincount(labels)
        sizes[list(uncuttable)] = 0
        largest = int(np.argmax(sizes))
        if sizes[largest] < 2:
            break
        rows = np.flatnonzero(labels == largest)
        part = spectrum(P[rows], 2)
        two_directions = len(part.eigenvalues) > 1 and part.eigenvalues[1] >= RANK_ONE
        side = part.U[:, 1] > 0 if two_directions else np.zeros(len(rows), bool)
        if side.any() and not side.all():
            labels[rows[side]] = n_found
        else:
            uncuttable.add(largest)
    return labels
