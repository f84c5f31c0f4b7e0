"""How much each view shaped the consensus, from the neighbours of drawn rows.

A view speaks for a partition where the nearest neighbours of a row, in that view
alone, lie in the row's cluster more often than chance has it. The influence of
a view is that agreement times the weight it had in the consensus. Rows are
never their own neighbours, so a view of noise gets nothing.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Array, plus_diagonal, row_norms, smallest, to_host, wide
from manyview.stages.scaling import Scaling, apply_scaling
from manyview.views.views import Block

Matrix = np.ndarray[Any, Any]

ROWS = 1000
NEIGHBOURS = 10


class Influence(NamedTuple):
    """Shares that sum to 1: of all rows, and of the rows of every cluster."""

    overall: Matrix
    by_cluster: Matrix


def first_rows(block: Block, n_rows: int = ROWS) -> Block:
    """The first rows of a drawn block."""
    views = tuple(x[:n_rows] for x in block.views)
    return Block(block.start, views, to_host(block.present)[:n_rows])


def neighbours(block: Block, scalings: tuple[Scaling, ...]) -> list[Matrix]:
    """Nearest rows (n_rows, k) of every row in each view; −1 for rows without it."""
    found = []
    for v, scaling in enumerate(scalings):
        there = np.flatnonzero(block.present[:, v])
        nearest = np.full((len(block), NEIGHBOURS), -1)
        k = min(NEIGHBOURS, there.size - 1)
        if k > 0:
            d = _distances(apply_scaling(block.views[v][there], scaling))
            nearest[there, :k] = there[to_host(smallest(d, k)[1])]
        found.append(nearest)
    return found


def _distances(rows: Any) -> Array:
    """Squared distances between all rows; a row is infinitely far from itself."""
    products = rows @ rows.T
    dense = wide(products.toarray() if sp.issparse(products) else products)
    length = wide(row_norms(rows))
    d = length[:, None] + length[None, :] - 2.0 * dense
    return plus_diagonal(d, np.inf)


def agreement(nearest: Matrix, labels: Matrix) -> Matrix:
    """Share of a row's neighbours in its own cluster, beyond chance; NaN without."""
    there = nearest[:, 0] >= 0
    out = np.full(len(labels), np.nan)
    if there.sum() < 2:
        return out
    own = labels[there]
    counts = np.bincount(own)[own] - 1
    chance = np.minimum(counts / (own.size - 1), 1.0 - 1e-9)
    mask = nearest[there] >= 0
    same = (labels[nearest[there]] == own[:, None]) & mask
    share = same.sum(axis=1) / mask.sum(axis=1)
    out[there] = (share - chance) / (1.0 - chance)
    return out


def measure_influence(
    block: Block,
    scalings: tuple[Scaling, ...],
    labels: Matrix,
    weights: Matrix,
    n_clusters: int,
) -> Influence:
    """Influence of every view on the labels of drawn rows.

    `weights` (n_views,) are the weights of the views in the consensus.
    """
    some = first_rows(block)
    found = to_host(labels[: len(some)])
    rows = np.stack([agreement(n, found) for n in neighbours(some, scalings)], axis=1)
    by_cluster = np.full((n_clusters, len(scalings)), 1.0 / len(scalings))
    for j in range(n_clusters):
        if np.any(found == j):
            by_cluster[j] = _shares(rows[found == j], weights)
    return Influence(_shares(rows, weights), by_cluster)


def _shares(rows: Matrix, weights: Matrix) -> Matrix:
    """Mean agreement times weight, as shares; equal where no view agrees at all."""
    seen = np.maximum(np.sum(~np.isnan(rows), axis=0), 1)
    parts = np.maximum(np.nansum(rows, axis=0) / seen, 0.0) * weights
    total = float(parts.sum())
    return parts / total if total > 0 else np.full(parts.size, 1.0 / parts.size)


def vote(nearest: Matrix, labels: Matrix, n_clusters: int) -> Matrix:
    """Cluster most neighbours of a row are in; −1 for rows without the view."""
    there = nearest[:, 0] >= 0
    counts = np.zeros((len(labels), n_clusters))
    for column in nearest.T:
        rows = np.flatnonzero(column >= 0)
        counts[rows, labels[column[rows]]] += 1.0
    return np.where(there, counts.argmax(axis=1), -1)
