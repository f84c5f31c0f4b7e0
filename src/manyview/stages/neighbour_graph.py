"""Graphs of exact nearest neighbours, of one view or summed over several.

Distances are looked at by blocks of rows; nothing of size n × n is kept.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array
from scipy.sparse.csgraph import connected_components
from sklearn.utils.extmath import row_norms

from manyview.arrays import ops
from manyview.arrays.linear import csr
from manyview.arrays.ops import Array, in_float64, like, namespace, to_host
from manyview.engine.contract import cut
from manyview.engine.threads import side_by_side
from manyview.kmeans.first_centres import NO_DISTANCE
from manyview.stages.block_model import Graphs
from manyview.stages.device_graph import (
    GAP_NUMBERS,
    LOST,
    DeviceGraph,
    Ties,
    graph_of_ties,
    nearest_others,
)
from manyview.stages.scaling import inverse

FloatArray = np.ndarray[Any, Any]
IntArray = np.ndarray[Any, Any]

# The neighbour whose distance is a row's width: L. Zelnik-Manor, P. Perona:
# Self-tuning spectral clustering, NIPS 2004.
WIDTH_NEIGHBOUR = 7
# Along so many random directions rows that differ lie apart: by chance two are level
# along one of them, hardly ever along eight.
DIRECTIONS = 8
# Numbers looked at together: 128 MB on a device, 4 on the host, by an even number of
# jobs (of 5,000 rows a twentieth of a fit faster than 2; of 2,000 no faster).
BATCH_NUMBERS, JOB_NUMBERS = 2**24, 2**20
# Differences of wider rows take longer than what single precision saves, where there
# are not so many rows for every neighbour (timed).
NARROW, ROWS_PER_NEAREST = 100, 100
# Rounding of single-precision distances, in units of its root mean square; candidates
# for every neighbour beyond which distances are level, as those of few values are.
ROUNDED, MOST_CANDIDATES = 4.0, 4
FEW_TOGETHER = 8  # distances of which only the least is compared with others
ROOM = 1e25  # squares that single precision can sum, and the inverse of small ones


class Neighbours(NamedTuple):
    """The nearest other rows, of the different rows that a view has.

    Attributes
    ----------
    rows : array (n_different,)
        Those rows, each the first of its kind.
    apart : array (n_different, k)
        Distances, ascending, where the view is.
    ids : array (n_different, k)
        The neighbours, as places in `rows`.
    same : list of arrays
        The rows that are the same in this view up to rounding, of every kind that
        there is more of.
    """

    rows: IntArray
    apart: Array
    ids: Array
    same: list[IntArray]


def neighbours_of_views(
    arrays: Sequence[Any], kinds: IntArray, k: int
) -> list[Neighbours]:
    """In each view the k nearest rows, or the 7th where that is more, of every row.

    Which rows are the same in a view, or lack it, say their `kinds` (`kinds_of_rows`).
    """
    found = []
    for X, kind in zip(arrays, kinds.T, strict=True):
        rows = np.flatnonzero(kind == np.arange(len(kind)))
        none = np.empty((len(rows), 0))
        apart, ids = like(none, X), like(none.astype(np.intp), X)
        if len(rows) > 1:
            apart, ids = nearest_rows(rows_of(X, rows), max(k, WIDTH_NEIGHBOUR))
        order, counts = np.argsort(kind, kind="stable"), np.bincount(kind + 1)
        ends = np.cumsum(counts)
        several = np.flatnonzero(counts[1:] > 1)
        same = [order[ends[first] : ends[first + 1]] for first in several]
        found.append(Neighbours(rows, apart, ids, same))
    return found


def kinds_of_rows(arrays: Sequence[Any], present: IntArray) -> IntArray:
    """In each view the first row that is the same as each; −1 without the view."""
    kinds = np.full(present.shape, -1)
    for X, there, kind in zip(arrays, present.T, kinds.T, strict=True):
        rows = np.flatnonzero(there)
        kind[rows] = rows[first_of_kind(rows_of(X, rows))]
    return kinds


def first_of_kind(X: Any) -> IntArray:
    """The first row that is the same as each, up to rounding.

    Which rows are nearest to such ones, and how far, is noise, and with the widths
    made of it clusters followed the last digits. Rows are of one kind where random
    directions leave no gap between them: buckets would have edges that rounding steps
    over.
    """
    X = in_float64(X)
    lengths = np.sqrt(to_host(_squares(X)))
    directions = np.random.default_rng(0).standard_normal((X.shape[1], DIRECTIONS))
    kind = np.zeros(X.shape[0], dtype=np.intp)
    for side in to_host(X @ like(directions, X)).T:
        order = np.lexsort((side, kind))
        near = NO_DISTANCE**0.5 * np.hypot(lengths[order[1:]], lengths[order[:-1]])
        apart = (np.diff(side[order]) > near) | (np.diff(kind[order]) > 0)
        kind[order[1:]] = np.cumsum(apart)  # the first row's stays 0
        if apart.all():
            return np.arange(len(kind))
    _, first, kind = np.unique(kind, return_index=True, return_inverse=True)
    return np.asarray(first[kind])


def rows_of(X: Any, rows: IntArray) -> Any:
    """Those rows, without a copy where they are all."""
    return X if len(rows) == X.shape[0] else X[like(rows, X)]


def _squares(X: Any) -> Array:
    """The squared length of every row."""
    return ops.row_norms(X) if is_torch_array(X) else row_norms(X, squared=True)


def nearest_rows(X: Any, k: int) -> tuple[Array, Array]:
    """Distances to, and numbers of, the k nearest other rows (n_rows, k), ascending.

    Rows are compared where they are.
    """
    n_rows = X.shape[0]
    k = min(k, n_rows - 1)
    rows = _points(X, k)
    n_jobs = 2 * -(-(n_rows**2) // (2 * JOB_NUMBERS))
    there = is_torch_array(X)
    batches = _batches(n_rows, n_rows) if there else cut(n_rows, -(-n_rows // n_jobs))
    found = side_by_side([partial(_nearest_others, rows, None, b, k) for b in batches])
    apart, ids = (namespace(*x).concat(x) for x in zip(*found, strict=True))
    return apart, ids


class Rows(NamedTuple):
    """Rows in float64, their squared lengths, and in float32 where that is of use."""

    X: Any
    squares: Array
    narrow: Any = None


def _points(X: Any, k: int) -> Rows:
    """Rows about their mean, unless they are sparse; narrow ones where these pay."""
    n_rows, width = X.shape
    X = in_float64(X)
    X = X if sp.issparse(X) else X - X.mean(axis=0)
    squares = _squares(X)
    if is_torch_array(X):
        return Rows(X, squares)
    wide = width > NARROW and n_rows < ROWS_PER_NEAREST * k
    quick = 1.0 / ROOM < squares.max() < ROOM and not (wide or sp.issparse(X))
    return Rows(X, squares, X.astype(np.float32) if quick else None)


def _nearest_others(
    rows: Rows, piece: IntArray | None, own: slice | IntArray, k: int
) -> tuple[Array, Array]:
    """The same of some rows; with `piece` of rows in other pieces.

    Products in half the precision say which rows may be among the nearest, and
    differences how far these are. Many level distances are left to exact products.
    """
    if is_torch_array(rows.X):
        return nearest_others(rows.X, rows.squares, piece, own, k)
    n_rows, width = rows.X.shape
    here = np.arange(n_rows)[own]
    for X in (rows.X,) if rows.narrow is None else (rows.narrow, rows.X):
        kind, squares = X.dtype, rows.squares.astype(X.dtype)
        d = (-2.0 * X[own]) @ X.T
        d = d.toarray() if sp.issparse(d) else d
        d += squares
        d[np.arange(len(here)), here] = np.inf
        if piece is not None:
            for p in np.unique(piece[own]):
                d[np.ix_(piece[own] == p, piece == p)] = np.inf
        farthest = _no_less(d, k)
        noise = np.finfo(kind).eps * (width + 2.0) ** 0.5
        farthest += ROUNDED * noise * (squares[own] + squares.max())
        row, ids = np.divmod(np.flatnonzero(d <= farthest[:, None]), n_rows)
        if len(row) <= MOST_CANDIDATES * k * len(here):
            break
    near = (d[row, ids] + squares[own][row]).astype(np.float64)
    # Exact products as well lose the digits of what lies close.
    lost = LOST * (rows.squares[here[row]] + rows.squares[ids])
    again = near < lost if kind == np.float64 else np.ones(len(near), dtype=bool)
    return _closest(rows, here[row], ids, np.where(again, np.nan, near), k)


def _no_less(d: FloatArray, k: int) -> FloatArray:
    """At least the k-th smallest number of every row, and hardly more.

    Of the least of every few, which are fewer to look through.
    """
    width = d.shape[1] // FEW_TOGETHER
    if width >= max(k, 1):
        few = d[:, : FEW_TOGETHER * width].reshape(len(d), FEW_TOGETHER, width)
        d = few.min(axis=1)
    return np.asarray(np.partition(d, k - 1, axis=1)[:, k - 1])


def _closest(
    rows: Rows, row: IntArray, ids: IntArray, near: FloatArray, k: int
) -> tuple[FloatArray, IntArray]:
    """Of the candidates of every row, row by row, the k nearest: distances and numbers.

    Squared distances that are not known (NaN) are made of differences.
    """
    unknown = np.flatnonzero(np.isnan(near))
    for some in _batches(len(unknown), rows.X.shape[1], GAP_NUMBERS):
        at = unknown[some]
        near[at] = row_norms(rows.X[ids[at]] - rows.X[row[at]], squared=True)
    counts = np.unique(row, return_counts=True)[1]
    starts = np.cumsum(counts) - counts
    table = np.full((len(counts), counts.max()), np.inf)
    of_row = np.repeat(np.arange(len(counts)), counts)
    table[of_row, np.arange(len(row)) - starts[of_row]] = near
    order = np.argsort(table, axis=1, kind="stable")[:, :k]
    nearest = np.take_along_axis(table, order, axis=1)
    return np.sqrt(np.maximum(nearest, 0.0)), ids[starts[:, None] + order]


def self_tuned_graph(apart: FloatArray, ids: IntArray, k: int) -> sp.csr_array:
    """W_ij = exp(-d_ij² / s_i s_j) where i or j is among the other's k nearest.

    s_i is the distance of row i to its 7th neighbour; where that is 0, the mean of
    the others.
    """
    W = csr(ids[:, :k], self_tuned_weights(apart, ids)[:, :k], len(ids))
    return sp.csr_array(W.maximum(W.T))


def self_tuned_weights(apart: Array, ids: Array) -> Array:
    """The weights (n_rows, k) of the ties to the nearest rows, as above."""
    if 0 in ids.shape:
        return apart
    width, xp = apart[:, min(WIDTH_NEIGHBOUR, apart.shape[1]) - 1], namespace(apart)
    known = width > 0
    if not bool(xp.all(known)):
        width = xp.where(known, width, width[known].mean() if known.any() else 1.0)
    return xp.exp(-(apart**2) / (width[:, None] * width[ids]))


def normalised(W: sp.csr_array) -> sp.csr_array:
    """D^{-1/2} W D^{-1/2}, D the degrees."""
    scale = sp.diags_array(np.sqrt(inverse(W.sum(axis=1))))
    return sp.csr_array(scale @ W @ scale)


def neighbour_graph(
    near: Sequence[Neighbours], n_rows: int, sizes: Sequence[int]
) -> sp.csr_array:
    """The normalised self-tuned graphs of all views and sizes, summed."""
    return sp.csr_array(sum(graph_of_view(own, n_rows, sizes) for own in near))


def graphs_of_views(
    near: Sequence[Neighbours], n_rows: int, sizes: Sequence[int]
) -> Graphs:
    """The graph of every view; on a device all of them in one."""
    if is_torch_array(near[0].apart):
        return graph_of_ties([_ties_of(x, max(sizes)) for x in near], n_rows, sizes)
    return side_by_side([partial(graph_of_view, x, n_rows, sizes) for x in near])


def graph_of_view(near: Neighbours, n_rows: int, sizes: Sequence[int]) -> sp.csr_array:
    """The normalised self-tuned graphs of one view, of all sizes, summed.

    A tie is part of all graphs of more neighbours than come before it: one look at
    the ties does for all sizes.
    """
    most, (place, before, weight) = max(sizes), _ties_of(near, max(sizes))
    # Where both ends tie each other, the heavier tie, and the nearer place.
    W, one, other = _either_way(place, n_rows)
    weight, before = np.append(0.0, weight), np.append(most, before)
    weight = np.maximum(weight[one], weight[other])
    before = np.minimum(before[one], before[other])
    row, summed = np.repeat(np.arange(n_rows), np.diff(W.indptr)), np.zeros(W.nnz)
    for k in sizes:
        own = np.flatnonzero(before < k)
        i, j, w = row[own], W.indices[own], weight[own]
        scale = np.sqrt(inverse(np.bincount(i, w, minlength=n_rows)))
        summed[own] += w * scale[i] * scale[j]
    found = sp.csr_array((summed, W.indices, W.indptr), W.shape)
    found.eliminate_zeros()
    return found


def _either_way(place: Any, n_rows: int) -> tuple[sp.csr_array, IntArray, IntArray]:
    """A symmetric matrix of all ties, and the numbers of each, from both its ends.

    Numbers count from 1 on; 0 where the end has no such tie. One entry holds both: a
    matrix is sorted once, by turning it twice.
    """
    i, j = place
    order = np.argsort(i, kind="stable")
    ends = np.append(0, np.cumsum(np.bincount(i, minlength=n_rows)))
    back = sp.csr_array((order + 1.0, j[order], ends), (n_rows, n_rows)).T.tocsr()
    size = len(i) + 1.0
    both = sp.csr_array(back.T.tocsr() + size * back)
    other, one = np.divmod(both.data, size)
    return both, one.astype(np.intp), other.astype(np.intp)


def _ties_of(near: Neighbours, k: int) -> Ties:
    """Ties to the k nearest rows, and of rows that are the same to k such each.

    The first of these is tied to other rows as well. Nearest neighbours alone would
    all be the same few of the copies, whichever a search comes across.
    """
    ids, xp = near.ids[:, :k], namespace(near.apart)
    rows, (n_near, k_near) = like(near.rows, near.apart), ids.shape
    i, j = [xp.repeat(rows, k_near)], [rows[ids.ravel()]]
    before = [like(np.tile(np.arange(float(k_near)), n_near), near.apart)]
    weight = [self_tuned_weights(near.apart, near.ids)[:, :k].ravel()]
    for rows in near.same:
        for step in range(1, min(-(-k // 2), len(rows) // 2) + 1):
            # Half way round, the tie is the same from both ends.
            start = rows[: len(rows) // 2] if 2 * step == len(rows) else rows
            i.append(like(start, near.apart))
            j.append(like(np.roll(rows, -step)[: len(start)], near.apart))
            # A ring of that many steps is that of two neighbours for each.
            before.append(xp.full_like(i[-1], 2.0 * (step - 1), dtype=xp.float64))
            weight.append(xp.ones_like(before[-1]))
    ties = [xp.concat(parts) for parts in (i, j, before, weight)]
    return Ties((ties[0], ties[1]), ties[2], ties[3])


def linked(W: Any, arrays: Sequence[Any], present: IntArray) -> Any:
    """The graph with its pieces tied together where they are nearest in each view.

    Every piece but the largest is tied to the nearest row outside of it, by a weight
    no larger than any other, until one piece is left: a few rows far from all others
    are then no cluster that nothing could join.
    """
    data = W.data[W.data > 0]
    weight, n_before = float(data.min()) if len(data) else 1.0, None
    while True:
        there = isinstance(W, DeviceGraph)
        found = W.pieces() if there else connected_components(W, directed=False)
        n_pieces, piece = found
        if n_pieces == 1 or n_pieces == n_before:
            return W
        n_before = n_pieces
        pairs = zip(arrays, present.T, strict=True)
        ties = np.concatenate([_ties(X, own, piece) for X, own in pairs])
        if there:
            W = W.with_ties(ties, weight)
            continue
        new = sp.csr_array((np.full(len(ties), weight), tuple(ties.T)), shape=W.shape)
        W = sp.csr_array(W.maximum(new).maximum(new.T))


def _ties(X: Any, there: IntArray, piece: IntArray) -> IntArray:
    """The pairs (own row, nearest row elsewhere) of all pieces but the largest."""
    rows, largest = np.flatnonzero(there), np.argmax(np.bincount(piece))
    kind = piece[rows]
    own = np.flatnonzero(kind != largest)
    if len(np.unique(kind)) < 2:
        return np.empty((0, 2), dtype=np.intp)
    of = (_points(rows_of(X, rows), 1), kind)
    there = is_torch_array(X)
    batches = _batches(len(own), len(rows), BATCH_NUMBERS if there else JOB_NUMBERS)
    found = side_by_side([partial(_nearest_others, *of, own[b], 1) for b in batches])
    apart, ids = (
        np.concatenate(list(map(to_host, part)))[:, 0]
        for part in zip(*found, strict=True)
    )
    order = np.lexsort((ids, own, apart, kind[own]))
    best = order[np.unique(kind[own[order]], return_index=True)[1]]
    return np.stack([rows[own[best]], rows[ids[best]]], axis=1)


def _batches(n_rows: int, width: int, numbers: int = BATCH_NUMBERS) -> list[slice]:
    """Slices of the rows, so many numbers each as fit a batch."""
    step = max(1, numbers // max(width, 1))
    return [slice(a, a + step) for a in range(0, n_rows, step)]
