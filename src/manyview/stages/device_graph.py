"""Exact neighbours on a device, and their graphs: what scipy is to the host.

Entries of all views stand in one list. What is summed over them is summed row by row,
so always in one order.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.arrays.linear import one_hot
from manyview.arrays.ops import (
    Array,
    Matrix,
    like,
    namespace,
    row_norms,
    smallest,
    squared_distances,
    to_host,
)
from manyview.engine.contract import cut
from manyview.stages.scaling import inverse

# Squared distances below this share of the rows' own squares have lost their digits.
LOST = 1e-6
GAP_NUMBERS = 2**19  # entries of differences made at a time


def nearest_others(
    X: Array, squares: Array, piece: Matrix | None, own: slice | Matrix, k: int
) -> tuple[Array, Array]:
    """Distances to, and numbers of, the k nearest other rows of some rows.

    With `piece` of rows in other pieces. Float64 rows, about their mean.
    """
    here = like(np.arange(len(X))[own], X)
    xp, d = namespace(X), squared_distances(X[here], X)
    d[xp.arange(len(here), device=d.device), here] = np.inf
    if piece is not None:
        pieces = like(piece, X)
        d = xp.where(pieces[here][:, None] == pieces, np.inf, d)
    near, ids = smallest(d, k)
    row, place = xp.nonzero(near < LOST * (squares[here][:, None] + squares[ids]))
    for some in cut(len(row), max(GAP_NUMBERS // X.shape[1], 1)) if len(row) else ():
        at = row[some], place[some]
        near[at] = row_norms(X[ids[at]] - X[here[at[0]]])
    order = xp.argsort(near, axis=1, stable=True)
    near, ids = (xp.take_along_axis(x, order, axis=1) for x in (near, ids))
    return near**0.5, ids


class Ties(NamedTuple):
    """Ties of one view: both ends, how many of the row's come before, weights."""

    place: tuple[Array, Array]
    before: Array
    weight: Array


class DeviceGraph(NamedTuple):
    """Graphs of several views in one, row i of view v at i · n_views + v.

    Its parts are those of a sparse matrix of scipy, on a device.
    """

    indptr: Array
    indices: Array
    data: Array
    n_views: int = 1

    @property
    def n_rows(self) -> int:
        """Of every view."""
        return (len(self.indptr) - 1) // self.n_views

    def _rows(self) -> Array:
        """The row of every entry."""
        xp, ends = namespace(self.data), self.indptr
        each = xp.arange(len(ends) - 1, device=ends.device)
        return xp.repeat(each, ends[1:] - ends[:-1])

    def ties_to_clusters(self, labels: Array, n_clusters: int) -> Array:
        """Weight (n_rows, n_views, n_clusters) of rows' ties: one-hot labels summed."""
        table, how = one_hot(labels, n_clusters), {"per_sample_weights": self.data}
        found = _bags(self.indices, table, self.indptr, **how)
        return found.reshape((len(labels), self.n_views, n_clusters))

    def weighed_sum(self, weights: Matrix) -> tuple["DeviceGraph", "DeviceGraph"]:
        """The graph of every view times its weight, and their sum."""
        row, n = self._rows(), self.n_rows
        data = self.data * like(np.asarray(weights), self.data)[row % self.n_views]
        keys = row // self.n_views * n + self.indices
        keys, total = _merged(keys, data[:, None], "sum")
        return self._replace(data=data), _of_keys(keys, total[:, 0], n)

    def changed(self, how: Callable[..., Array]) -> "DeviceGraph":
        """The graph of one view with ties made of these and of their two ends."""
        return self._replace(data=how(self.data, self._rows(), self.indices))

    def pieces(self) -> tuple[int, Matrix]:
        """How many pieces of one view hang together, and which every row is in.

        Rows take a neighbour's least number, as does the row that lent them theirs.
        """
        i, j, xp = self._rows(), self.indices, namespace(self.data)
        piece, former = xp.arange(self.n_rows, device=i.device), None
        while former is None or bool(xp.any(piece != former)):
            former, piece = piece, piece.scatter_reduce(0, i, piece[j], "amin")
            piece = piece.scatter_reduce(0, former, piece, "amin")
            piece = piece[piece]
        first, found = np.unique(to_host(piece), return_inverse=True)
        return len(first), found

    def with_ties(self, ties: Matrix, weight: float) -> "DeviceGraph":
        """The graph of one view with more ties (m, 2), each both ways."""
        xp, n = namespace(self.data), self.n_rows
        both = np.concatenate([ties @ (n, 1), ties @ (1, n)])
        keys = xp.concat([self._rows() * n + self.indices, like(both, self.indices)])
        more = like(np.full(len(both), weight), self.data)
        values = xp.concat([self.data, more])[:, None]
        keys, values = _merged(keys, values, "max")
        return _of_keys(keys, values[:, 0], n)

    def on_host(self) -> list[sp.csr_array]:
        """The graph of every view as a matrix of scipy."""
        parts = tuple(to_host(x) for x in (self.data, self.indices, self.indptr))
        both = sp.csr_array(parts, shape=(self.n_rows * self.n_views, self.n_rows))
        return [sp.csr_array(both[v :: self.n_views]) for v in range(self.n_views)]


def graph_of_ties(views: Sequence[Ties], n: int, sizes: Sequence[int]) -> DeviceGraph:
    """The normalised self-tuned graphs of all views, of all sizes, summed."""
    n_views, keys, values = len(views), [], []
    xp = namespace(views[0].weight)
    for v, ties in enumerate(views):
        for i, j in (ties.place, ties.place[::-1]):
            keys.append((i * n_views + v) * n + j)
            values.append(xp.stack([ties.weight, -ties.before], axis=1))
    # Where both ends tie each other, the heavier tie, and the nearer place.
    keys, values = _merged(xp.concat(keys), xp.concat(values), "max")
    weight, before = values[:, 0], -values[:, 1]
    graph, row = _of_keys(keys, weight, n, n_views), keys // n
    other, data = graph.indices * n_views + row % n_views, xp.zeros_like(weight)
    for k in sizes:
        own = xp.where(before < k, weight, 0.0 * weight)
        each = xp.arange(len(own), device=own.device)
        scale = inverse(_bags(each, own[:, None], graph.indptr)[:, 0]) ** 0.5
        data += own * scale[row] * scale[other]
    kept = xp.nonzero(data > 0)[0]
    return _of_keys(keys[kept], data[kept], n, n_views)


def in_one(graphs: Sequence[DeviceGraph]) -> DeviceGraph:
    """Graphs of different rows, of the same views, as those of all these rows."""
    keys, data, n = [], [], sum(x.n_rows for x in graphs)
    first, n_views = 0, graphs[0].n_views
    for x in graphs:
        keys.append((x._rows() + first * n_views) * n + x.indices + first)
        data.append(x.data)
        first += x.n_rows
    xp = namespace(*data)
    return _of_keys(xp.concat(keys), xp.concat(data), n, n_views)


def _bags(rows: Array, table: Array, ends: Array, **how: Any) -> Array:
    """Sums (or what `how` says) of the table's rows, between every two ends."""
    from torch.nn.functional import embedding_bag

    how = {"mode": "sum"} | how
    return embedding_bag(rows, table, ends, include_last_offset=True, **how)


def _merged(keys: Array, values: Array, how: str) -> tuple[Array, Array]:
    """Ascending keys, each once, and the sum or maximum of their values (n, m)."""
    xp = namespace(keys)
    order = xp.argsort(keys, stable=True)
    keys = keys[order]
    starts = xp.concat([keys[:1] == keys[:1], keys[1:] != keys[:-1]])
    starts = xp.nonzero(starts)[0]
    ends = xp.concat([starts, like(np.array([len(keys)]), keys)])
    return keys[starts], _bags(order, values, ends, mode=how)


def _of_keys(keys: Array, data: Array, n: int, n_views: int = 1) -> DeviceGraph:
    """The graph of entries with ascending keys row · n + column."""
    xp = namespace(keys)
    each = xp.arange(n * n_views + 1, device=keys.device)
    return DeviceGraph(xp.searchsorted(keys, each * n), keys % n, data, n_views)
