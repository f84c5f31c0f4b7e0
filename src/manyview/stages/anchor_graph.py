"""The multi-view anchor graph and its low frequencies: smoothness without order.

Every row is tied to its few nearest anchors in each *piece* of the graph: a
view seen through one draw of anchors, at one of a few resolutions. The weights
fall linearly to the first anchor left out, w_j ∝ d²_(k+1) − d²_j, and sum to 1
(Z, sparse). With column sums Λ and H = [√w_p Z_p Λ_p^(−1/2)]_p, the leading
left singular vectors of H are the smoothest vectors on the graph of rows, whose
edge weights are H Hᵀ. Only the Gram HᵀH of at most a few thousand anchors is
ever formed; F = H V Σ⁻¹ holds for new rows as well.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array

from manyview.arrays.linear import (
    NO_SIZE,
    SPARSE_COST,
    csr,
    eigh,
    leading,
    leading_values,
    sparse_gram,
    weighted_rows,
)
from manyview.arrays.ops import (
    Array,
    Matrix,
    cast,
    has_float64,
    in_float64,
    index_sum,
    like,
    namespace,
    nearest_points,
    row_norms,
    tall_product,
    to_host,
)
from manyview.engine.contract import Engine, Result, State, sizes, touches
from manyview.engine.threads import side_by_side
from manyview.kmeans.passes import KMEANS_SAMPLE
from manyview.stages.anchors import anchors_of_views
from manyview.stages.sampling import SAMPLED, Draw
from manyview.stages.scaling import Scaling, apply_scaling, hide_empty_rows, inverse
from manyview.views.views import Block

# Chosen on the tuning half (DESIGN.md, "Anchors at several resolutions"): draws side
# by side at most, rows per finest anchor, resolutions, each a quarter of the one
# before, anchors per cluster at least, and weights by the fourth root of their number.
MOST_DRAWS = 6
ROWS_PER_TIE = 3
MOST_LEVELS = 3
COARSER = 4
ANCHORS_PER_CLUSTER = 2
LEAST_ANCHORS = 12
FINENESS = 0.25
# Smooth vectors per cluster: three were no steady gain.
VECTORS = 2
# Drawn rows per anchor: enough for k-means to place it.
SAMPLE_PER_ANCHOR = 10
# A view whose graph has no gap at all still counts a little.
LEAST_GAP = 1e-3
TIES = ("columns", "weights")
TIE_BYTES = 12.0  # a number of 32 bits and a weight of at most 64


class Piece(NamedTuple):
    """A view seen from one set of anchors.

    Beside sparse rows anchors are large, and stand column by column in the rows' own
    precision, with their squared `lengths`: no block has to turn them.
    """

    view: int
    anchors: Array
    lengths: Array | None = None


class Graph(NamedTuple):
    """All pieces, and how many anchors a row is tied to in each.

    With `exact` distances of dense rows are float64: differences of near ones lose the
    last digits of float32, which hang on where a row stands, and clusters followed.
    Sparse rows are multiplied one by one, wherever they stand.
    """

    scalings: tuple[Scaling, ...]
    pieces: tuple[Piece, ...]
    n_neighbors: int
    exact: bool

    @property
    def sizes(self) -> list[int]:
        """Number of anchors of every piece."""
        return [len(p.anchors) for p in self.pieces]


class Spectrum(NamedTuple):
    """Leading frequencies: F = Z @ table, with singular values of H."""

    graph: Graph
    table: Matrix
    values: Matrix
    weights: Matrix


class Basis(NamedTuple):
    """What the rows' F is made of, their ties and a table, and how wide it is kept."""

    graph: Graph
    table: Array
    single: bool


class Sought(NamedTuple):
    """The graph whose ties are sought, and whether those of all rows are kept."""

    graph: Graph
    keep: bool


@touches(reads=[SAMPLED], writes=TIES)
def neighbour_step(block: Block, state: State, shared: Sought) -> Result:
    """Z of the rows that the Gram is taken from; that of all rows where it is kept."""
    sampled = state.get(SAMPLED)
    if sampled is None or shared.keep:
        note = found = ties(block, shared.graph)
        if sampled is not None:
            rows = namespace(sampled).nonzero(sampled)[0]
            note = (found[0][rows], found[1][rows])
        return Result(state=dict(zip(TIES, found, strict=True)), note=note)
    rows = namespace(sampled).nonzero(sampled)[0]
    views = tuple(x[rows] for x in block.views)
    some = Block(block.start, views, block.present[to_host(rows)])
    return Result(note=ties(some, shared.graph))


def ties(block: Block, graph: Graph) -> tuple[Array, Array]:
    """Columns and weights (n_rows, pieces · k) of every row's nearest anchors."""
    block = hide_empty_rows(block, graph.scalings)
    pairs = zip(block.views, graph.scalings, strict=True)
    rows = [apply_scaling(x, s) for x, s in pairs]
    if graph.exact:
        rows = [x if sp.issparse(x) else in_float64(x) for x in rows]
    columns, weights = [], []
    offset = 0
    for piece, size in zip(graph.pieces, graph.sizes, strict=True):
        k = min(graph.n_neighbors, max(size - 1, 1))
        of_piece = (piece.anchors, min(k + 1, size), piece.lengths)
        there = block.there(piece.view)
        near = nearest_points(rows[piece.view], *of_piece)
        index, w = linear_weights(*near, k)
        xp = namespace(w)
        columns.append(xp.astype(index, xp.int32) + offset)
        weights.append(w if there is None else w * cast(there[:, None], w))
        offset += size
    w = xp.concat(weights, axis=1)
    # A row that lacks a view gives that view's share to the others.
    total = xp.sum(w, axis=1, keepdims=True)
    w *= len(graph.pieces) / xp.where(total > 0, total, xp.ones_like(total))
    return xp.concat(columns, axis=1), w


def linear_weights(values: Array, index: Array, k: int) -> tuple[Array, Array]:
    """The k nearest anchors of k + 1, weights falling linearly to the last one."""
    xp = namespace(values)
    if values.shape[1] <= k:
        return index, xp.full_like(values, 1.0 / values.shape[1])
    w = values[:, k : k + 1] - values[:, :k]
    total = xp.sum(w, axis=1, keepdims=True)
    tied = total <= 1e-6 * values[:, k : k + 1]
    even = xp.full_like(w, 1.0 / k)
    return index[:, :k], xp.where(tied, even, w / xp.where(tied, 1.0, total))


@touches(reads=TIES, writes=["F"])
def basis_step(block: Block, state: State, shared: Basis) -> Result:
    """F of a block, from its ties or its views, and the Gram of F."""
    columns, weights = (
        (state[name] for name in TIES)
        if TIES[0] in state
        else ties(block, shared.graph)
    )
    F = weighted_rows(columns, weights, cast(shared.table, weights))
    if shared.single:
        xp = namespace(F)
        F = xp.astype(F, xp.float32)
    return Result(state={"F": F}, stats={"identity": tall_product(F, F)})


def frequency_weights(values: Matrix, n_clusters: int) -> Matrix:
    """exp(−λ_j/λ_(C+1)) with λ = 1 − σ²: how much of every frequency to keep.

    Measured by the first frequency that C clusters do not need, the weights are
    the same for coarse and for fine anchors, whose σ fall at different rates.
    """
    rough = np.maximum(1.0 - values**2, 0.0)
    unit = max(float(rough[min(n_clusters, len(rough) - 1)]), LEAST_GAP)
    return np.asarray(np.exp(-rough / unit))


@touches(reads=["F"], writes=["F"])
def turn_step(block: Block, state: State, shared: Array) -> Result:
    """F in other combinations of its columns."""
    return Result(state={"F": state["F"] @ cast(shared, state["F"])})


def build_graph(
    drawn: Draw,
    scalings: tuple[Scaling, ...],
    *,
    n_samples: int,
    n_clusters: int,
    n_anchors: int,
    n_neighbors: int,
    seed: int,
    products: dict[int, Matrix] | None = None,
) -> Graph:
    """Anchors of every view at a few resolutions, `n_anchors` at most in all.

    On small data several draws side by side, since the variance of the anchors
    is the largest loss there.
    """
    share = max(n_anchors // len(scalings), 2)  # all rows tie alike to one
    counts = resolutions(n_samples, n_clusters, share)
    n_draws = int(np.clip(share // sum(counts), 1, MOST_DRAWS))
    exact = n_samples <= sizes.sampled_rows and has_float64(drawn.block.views[0])
    seeds = np.random.SeedSequence(seed).generate_state(n_draws)
    searches = [(size, int(own)) for own in seeds for size in counts]
    found = anchors_of_views(drawn, scalings, searches, products=products)
    pieces = []
    for first in range(0, len(found), len(counts)):
        levels = found[first : first + len(counts)]
        for v, x in enumerate(drawn.block.views):
            turned = partial(turned_piece, v, dtype=scalings[v].dtype or x.dtype)
            sparse = sp.issparse(x) and scalings[v].directions is None
            make = turned if sparse else partial(Piece, v)
            pieces += [make(level[v]) for level in levels]
    return Graph(scalings, tuple(pieces), n_neighbors, exact)


def turned_piece(view: int, anchors: Matrix, dtype: Any) -> Piece:
    """The piece of a sparse view."""
    own = anchors.astype(dtype, copy=False)
    return Piece(view, np.asfortranarray(own), row_norms(own))


def resolutions(n_samples: int, n_clusters: int, share: int) -> list[int]:
    """Numbers of anchors of one view and draw, `share` in all, finest first.

    Fine anchors follow the shape of clusters that touch, coarse ones hold
    together a cluster that falls into pieces. Each set has a quarter of the
    anchors of the one before, and none fewer than two per cluster.
    """
    most = max(n_samples // ROWS_PER_TIE, min(n_samples, 10))
    least = max(ANCHORS_PER_CLUSTER * n_clusters, LEAST_ANCHORS)
    for n_levels in range(MOST_LEVELS, 0, -1):
        steps = [COARSER**level for level in range(n_levels)]
        finest = max(min(int(share / sum(1 / s for s in steps)), most), 1)
        if finest // steps[-1] >= least:
            break
    return [finest // s for s in steps]


def piece_shares(graph: Graph) -> Matrix:
    """What every piece counts for in its view: finer ones somewhat more."""
    views = np.array([p.view for p in graph.pieces])
    shares = np.asarray(graph.sizes, dtype=np.float64) ** FINENESS
    return np.asarray(shares / np.bincount(views, weights=shares)[views])


def fit_graph(
    engine: Engine,
    drawn: Draw,
    scalings: tuple[Scaling, ...],
    *,
    n_clusters: int,
    **how: Any,
) -> Spectrum:
    """Build the graph, find its low frequencies and give every row its F."""
    how |= {"n_samples": engine.n_samples, "n_clusters": n_clusters}
    made = build_graph(drawn, scalings, **how)
    return put_basis(engine, fit_spectrum(engine, made, n_clusters))


def sample_size(n_anchors: int, n_views: int) -> int:
    """Rows to draw for the anchors of every view and for k-means starts."""
    return max(SAMPLE_PER_ANCHOR * n_anchors // n_views, KMEANS_SAMPLE)


def fit_spectrum(
    engine: Engine,
    graph: Graph,
    n_clusters: int,
    weigh: Callable[[Matrix], None] | None = None,
) -> Spectrum:
    """One pass for Z; from its Gram the weights of the views and F's table.

    Whoever wants to `weigh` views hears their weights before the table is sought.
    """
    n_ties = len(graph.pieces) * graph.n_neighbors
    work = 2.0 * sum(p.anchors.shape[0] * p.anchors.shape[1] for p in graph.pieces)
    # Two passes need them: that of the Gram and that of the basis.
    keep = engine.keeps(TIE_BYTES * n_ties, work, 2)
    _, notes = engine.run(neighbour_step, Sought(graph, keep), title="Anchor graph")
    xp = namespace(notes[0][1])
    columns, weights = (xp.concat(parts) for parts in zip(*notes, strict=True))
    owner = np.repeat([p.view for p in graph.pieces], graph.sizes)
    share = np.repeat(piece_shares(graph), graph.sizes)
    gram, root = scaled_gram(columns, weights, share)
    parts = [_of_columns(gram, owner == v) for v in range(len(graph.scalings))]
    jobs = [partial(cluster_gap, part, n_clusters) for part in parts]
    gaps = [job() for job in jobs] if is_torch_array(gram) else side_by_side(jobs)
    of_views = np.maximum(gaps, LEAST_GAP)
    of_views = of_views / of_views.sum()
    if weigh is not None:
        weigh(of_views)
    column = np.sqrt(of_views[owner])
    gram = _weighed(gram, column)
    squares, vectors = leading(gram, VECTORS * n_clusters, side_by_side)
    values = np.sqrt(squares)
    table = (root * like(column, root))[:, None] * vectors / like(values, vectors)
    return Spectrum(graph, table, values, of_views)


def scaled_gram(columns: Array, weights: Array, share: Matrix) -> tuple[Array, Array]:
    """HᵀH from the rows of Z, and the square roots of share/Λ that make H of Z.

    On the host sparse H itself in place of HᵀH, where its entries are the fewer.
    """
    xp = namespace(weights)
    size = len(share)
    each = xp.reshape(in_float64(weights), (-1, 1))
    degree = index_sum(each, xp.reshape(columns, (-1,)), size)[:, 0]
    root = like(np.sqrt(inverse(to_host(degree)) * share), degree)
    if not is_torch_array(weights) and SPARSE_COST * weights.size <= size**2:
        return csr(columns, in_float64(weights) * root[columns], size), root
    gram = sparse_gram(columns, weights, size, side_by_side)
    return _weighed(gram, root), root


def _of_columns(gram: Array, own: Matrix) -> Array:
    """The Gram (or H) of some of the columns alone."""
    places = np.flatnonzero(own)
    if sp.issparse(gram):
        return gram[:, places]
    places = like(places, gram)
    return gram[places[:, None], places[None, :]]


def _weighed(gram: Array, column: Array) -> Array:
    """The Gram (or H) with every column of H times its number."""
    if sp.issparse(gram):
        weights = gram.data * column[gram.indices]
        return sp.csr_array((weights, gram.indices, gram.indptr), gram.shape)
    column = like(column, gram)
    gram *= column[:, None]
    gram *= column[None, :]
    return gram


def cluster_gap(gram: Array, n_clusters: int) -> float:
    """How far the C leading frequencies lie below the next one, in 0 … 1.

    ρ = 1 − mean_{j ≤ C} (1 − σ_j²) / (1 − σ²_{C+1}): 1 for C separate pieces.
    """
    values = leading_values(gram, n_clusters + 1)
    gaps = np.ones(n_clusters + 1)
    gaps[: values.size] = np.maximum(1.0 - values, 0.0)
    return float(1.0 - gaps[:-1].mean() / max(float(gaps[-1]), NO_SIZE))


def put_basis(engine: Engine, spectrum: Spectrum) -> Spectrum:
    """Give every row its F, orthonormal over all rows; returns the final table.

    Where the Gram came from a sample of the rows, F is only nearly orthonormal:
    one more pass turns it by the inverse root of its own small Gram.
    """
    sampled = engine.n_samples > sizes.sampled_rows
    identity = spread_basis(engine, spectrum, views=sampled)
    for name in TIES:
        engine.drop(name)
    if not sampled:
        return spectrum
    values, vectors = eigh(identity)
    turn = (vectors / values**0.5) @ vectors.T
    engine.run(turn_step, turn, title="Basis", views=False)
    return spectrum._replace(table=spectrum.table @ turn)


def spread_basis(engine: Engine, spectrum: Spectrum, *, views: bool = True) -> Array:
    """F of every row from its ties or its views; returns the Gram of F."""
    shared = Basis(spectrum.graph, spectrum.table, engine.dtype == np.float32)
    total, _ = engine.run(basis_step, shared, title="Basis", views=views)
    return total["identity"]
