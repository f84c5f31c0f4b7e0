"""The multi-view anchor graph and its low frequencies: smoothness without order.

Every row is tied to its few nearest anchors in each *piece* of the graph: a
view, or all views together, seen through one draw of anchors. The weights
fall linearly to the first anchor left out, w_j ∝ d²_(k+1) − d²_j, and sum to 1
(Z, sparse). With column sums Λ and H = [√w_p Z_p Λ_p^(−1/2)]_p, the leading
left singular vectors of H are the smoothest vectors on the graph of rows, whose
edge weights are H Hᵀ. Only the Gram HᵀH of at most a few thousand anchors is
ever formed; F = H V Σ⁻¹ holds for new rows as well.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh

from ._xp import Array, namespace, smallest, to_host
from .anchors import kmeans_anchors, squared_distances
from .assign import KMEANS_SAMPLE
from .draw import Draw
from .engine import Engine, Result, State
from .scaling import Scaling, apply_scaling, inverse, make_scaling, suggest
from .views import Block

Matrix = np.ndarray[Any, Any]

MOST_DRAWS = 6
ROWS_PER_TIE = 3
VECTORS = 2
SAMPLE_PER_ANCHOR = 10
LEAST_GAP = 1e-3
CHOICE_ROWS = 6000
CHOICE_ANCHORS = 1000
N_NEIGHBORS = 5
DENSE_SIZE = 600
NO_SIZE = 1e-9


class Piece(NamedTuple):
    """Some views (with a weight each in the distance) seen from joint anchors."""

    views: tuple[int, ...]
    weights: tuple[float, ...]
    anchors: tuple[Matrix, ...]


class Graph(NamedTuple):
    """All pieces, and how many anchors a row is tied to in each."""

    scalings: tuple[Scaling, ...]
    pieces: tuple[Piece, ...]
    n_neighbors: int

    @property
    def sizes(self) -> list[int]:
        """Number of anchors of every piece."""
        return [len(p.anchors[0]) for p in self.pieces]


class Spectrum(NamedTuple):
    """Leading frequencies: F = Z @ table, with singular values of H."""

    graph: Graph
    table: Matrix
    values: Matrix
    weights: Matrix


def tie_step(block: Block, state: State, small: Graph) -> Result:
    """Z of a block, as columns and weights."""
    columns, weights = ties(block, small)
    return Result(state={"columns": columns, "weights": weights})


def neighbour_step(block: Block, state: State, small: Graph) -> Result:
    """Z of a block; its column sums and the products of its columns."""
    kept = tie_step(block, state, small).state
    Z = sparse_ties(kept["columns"], kept["weights"], sum(small.sizes))
    stats = {"degree": np.asarray(Z.sum(axis=0)).ravel(), "gram": Z.T @ Z}
    return Result(state=kept, stats=stats)


def ties(block: Block, graph: Graph) -> tuple[Matrix, Matrix]:
    """Columns and weights (n_rows, pieces · k) of every row's nearest anchors."""
    rows = [
        apply_scaling(x, s) for x, s in zip(block.views, graph.scalings, strict=True)
    ]
    columns, weights = [], []
    offset = 0
    for piece, size in zip(graph.pieces, graph.sizes, strict=True):
        d, there = piece_distances(piece, rows, block.present)
        index, w = linear_weights(d, min(graph.n_neighbors, max(size - 1, 1)))
        columns.append(to_host(index).astype(np.int32) + offset)
        weights.append(to_host(w) * to_host(there)[:, None])
        offset += size
    w = np.concatenate(weights, axis=1)
    # A row that lacks a view gives that view's share to the others.
    total = w.sum(axis=1, keepdims=True)
    w *= len(graph.pieces) / np.where(total > 0, total, 1.0)
    return np.concatenate(columns, axis=1), w


def piece_distances(
    piece: Piece, rows: list[Array], present: Array
) -> tuple[Array, Array]:
    """Weighted squared distances to the piece's anchors, and which rows have any."""
    total: Array = 0.0
    share: Array = 0.0
    for v, weight, anchors in zip(
        piece.views, piece.weights, piece.anchors, strict=True
    ):
        d = squared_distances(rows[v], anchors)
        there = namespace(d).astype(present[:, v], d.dtype)
        total = total + d * (weight * there[:, None])
        share = share + there
    xp = namespace(total)
    seen = xp.where(share > 0, share, xp.ones_like(share))
    return total / seen[:, None], xp.astype(share > 0, total.dtype)


def linear_weights(d: Array, k: int) -> tuple[Array, Array]:
    """The k nearest columns of every row, weights falling linearly to the next one."""
    xp = namespace(d)
    values, index = smallest(d, min(k + 1, d.shape[1]))
    if d.shape[1] <= k:
        return index, xp.full_like(values, 1.0 / d.shape[1])
    w = values[:, k : k + 1] - values[:, :k]
    total = xp.sum(w, axis=1, keepdims=True)
    tied = total <= 1e-6 * values[:, k : k + 1]
    even = xp.full_like(w, 1.0 / k)
    return index[:, :k], xp.where(tied, even, w / xp.where(tied, 1.0, total))


def sparse_ties(columns: Matrix, weights: Matrix, n_columns: int) -> Any:
    """Z as a CSR matrix from its columns and weights."""
    n_rows, k = columns.shape
    indptr = np.arange(0, n_rows * k + 1, k)
    return sp.csr_array(
        (weights.ravel(), columns.ravel(), indptr), shape=(n_rows, n_columns)
    )


def basis_step(block: Block, state: State, small: Matrix) -> Result:
    """F of a block, and its Gram (the identity, up to rounding)."""
    Z = sparse_ties(state["columns"], state["weights"], len(small))
    F = Z @ small.astype(Z.dtype)
    return Result(state={"F": F}, stats={"identity": F.T @ F})


def choose_scalings(
    drawn: Draw, kind: str | None, n_clusters: int, seed: int
) -> tuple[Scaling, ...]:
    """The scaling of every view: the named one, or what its drawn rows favour."""
    if kind != "auto":
        return tuple(make_scaling(m, kind) for m in drawn.moments)
    chosen = []
    for v, moments in enumerate(drawn.moments):
        rows = drawn.view(v)[:CHOICE_ROWS]
        options = [make_scaling(moments, k) for k in suggest(moments, rows, n_clusters)]
        gaps = [0.0]
        if len(options) > 1:
            gaps = [own_gap(rows, option, n_clusters, seed) for option in options]
        chosen.append(options[int(np.argmax(gaps))])
    return tuple(chosen)


def own_gap(rows: Array, scaling: Scaling, n_clusters: int, seed: int) -> float:
    """How clearly one view's drawn rows fall into clusters under a scaling."""
    prepared = apply_scaling(rows, scaling)
    size = max(rows.shape[0] // ROWS_PER_TIE, min(rows.shape[0], 10))
    anchors = kmeans_anchors(prepared, min(size, CHOICE_ANCHORS), seed)
    index, w = linear_weights(squared_distances(prepared, anchors), N_NEIGHBORS)
    Z = sparse_ties(to_host(index), to_host(w), len(anchors))
    root = np.sqrt(inverse(np.asarray(Z.sum(axis=0)).ravel()))
    return cluster_gap((Z.T @ Z).toarray() * np.outer(root, root), n_clusters)


def build_graph(
    drawn: Draw,
    scalings: tuple[Scaling, ...],
    *,
    n_samples: int,
    n_anchors: int,
    n_neighbors: int,
    seed: int,
) -> Graph:
    """Anchors of every view, `n_anchors` at most in all: many, or few often.

    One draw of many anchors where the rows allow it; on small data several draws
    side by side, since the variance of the anchors is the largest loss there.
    """
    share = max(n_anchors // len(scalings), 1)
    size = min(share, max(n_samples // ROWS_PER_TIE, min(n_samples, 10)))
    n_draws = int(np.clip(share // size, 1, MOST_DRAWS))
    prepared = [apply_scaling(drawn.view(v), s) for v, s in enumerate(scalings)]
    pieces = []
    for draw_seed in np.random.SeedSequence(seed).generate_state(n_draws):
        for v, rows in enumerate(prepared):
            # The same seed for every view: a view's place must not matter.
            anchors = kmeans_anchors(rows, size, int(draw_seed))
            pieces.append(Piece((v,), (1.0,), (anchors,)))
    return Graph(scalings, tuple(pieces), n_neighbors)


def sample_size(n_anchors: int, n_views: int) -> int:
    """Rows to draw for the anchors of every view and for k-means starts."""
    return max(SAMPLE_PER_ANCHOR * n_anchors // n_views, KMEANS_SAMPLE)


def fit_spectrum(engine: Engine, graph: Graph, n_clusters: int) -> Spectrum:
    """One pass for Z and its Gram; then the weights of the views and F's table."""
    total, _ = engine.run(neighbour_step, graph, title="Anchor graph")
    owner = np.repeat([p.views[0] for p in graph.pieces], graph.sizes)
    n_views = len(graph.scalings)
    root = np.sqrt(inverse(total["degree"]) * n_views / len(graph.pieces))
    gram = total["gram"] * np.outer(root, root)
    gaps = [
        cluster_gap(gram[np.ix_(owner == v, owner == v)], n_clusters)
        for v in range(n_views)
    ]
    weights = np.maximum(gaps, LEAST_GAP)
    weights = weights / weights.sum()
    column = np.sqrt(weights[owner])
    values, vectors = leading(gram * np.outer(column, column), VECTORS * n_clusters)
    table = (root * column)[:, None] * vectors / np.sqrt(values)
    return Spectrum(graph, table, np.sqrt(values), weights)


def cluster_gap(gram: Matrix, n_clusters: int) -> float:
    """How far the C leading frequencies lie below the next one, in 0 … 1.

    ρ = 1 − mean_{j ≤ C} (1 − σ_j²) / (1 − σ²_{C+1}): 1 for C separate pieces.
    """
    values, _ = leading(gram, n_clusters + 1)
    gaps = np.ones(n_clusters + 1)
    gaps[: values.size] = np.maximum(1.0 - values, 0.0)
    return float(1.0 - gaps[:-1].mean() / max(float(gaps[-1]), NO_SIZE))


def leading(gram: Matrix, r: int) -> tuple[Matrix, Matrix]:
    """Leading eigenvalues (descending) and vectors of a symmetric matrix.

    Directions of no size are left out. Signs come from the data: the cubes of
    a vector's entries sum to a positive number.
    """
    size = len(gram)
    r = min(r, size)
    if size <= DENSE_SIZE or 5 * r > size:
        values, vectors = scipy.linalg.eigh(gram, subset_by_index=[size - r, size - 1])
    else:
        start = np.sqrt(np.maximum(np.diag(gram), 0.0))
        values, vectors = eigsh(gram, k=r, v0=start)
    order = np.argsort(-values)
    values, vectors = values[order], vectors[:, order]
    real = values > NO_SIZE * max(float(values[0]), 1e-300)
    vectors = vectors[:, real]
    side = np.where(np.sum(vectors**3, axis=0) < 0, -1.0, 1.0)
    return values[real], vectors * side


def put_basis(engine: Engine, spectrum: Spectrum) -> float:
    """Give every row its F; returns how far FᵀF is from the identity."""
    total, _ = engine.run(basis_step, spectrum.table, title="Basis", views=False)
    gap = total["identity"] - np.eye(spectrum.table.shape[1])
    return float(np.linalg.norm(gap, 2))
