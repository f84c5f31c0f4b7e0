"""A tree over the fitted graph: leaves inside the clusters, merged by their ties.

Leaves are small groups of rows within the clusters of the fit, split off in the
embedding. How firmly two groups hang together is read off the multi-view anchor graph
of the fit, H Hᵀ: their distance is the tie that chance would make, over the one there
is (T. Bonald, B. Charpentier, A. Galland, A. Hollocou: Hierarchical graph clustering
using node pair sampling, 2018). The nearest are merged first, those of one cluster
before those of several: so the clusters of the fit are one cut of the tree.
"""

from typing import NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from manyview.arrays.ops import (
    Array,
    Matrix,
    in_float64,
    index_sum,
    like,
    namespace,
    to_host,
)
from manyview.engine.contract import Engine, Result, State, touches
from manyview.kmeans.passes import FIELD, LABELS, euclidean, nearest, quiet_fit
from manyview.stages.anchor_graph import Graph, Spectrum, piece_shares, ties
from manyview.stages.effect_sizes import Sums, add_up, centres_of, gathered
from manyview.stages.scaling import inverse
from manyview.views.views import Block

LEAVES = "leaves"
# A leaf of fewer drawn rows has no mean to speak of.
LEAST_ROWS = 5
# Starts of every search for two halves: the best of three is steady.
HALF_STARTS = 3
# Merges inside clusters end this far below those between them, as a share.
BELOW = 0.99


class Leaves(NamedTuple):
    """Centres of the leaves, which cluster each is in, and what the pass adds up."""

    points: Matrix
    clusters: Matrix
    graph: Graph
    centres: tuple[Matrix, ...]


class Merges(NamedTuple):
    """Pairs of nodes (n_leaves − 1, 2) in order, and their distances, 0 to 1.

    Leaves are nodes 0 … n_leaves − 1, the m-th merge makes node n_leaves + m.
    """

    pairs: Matrix
    distances: Matrix


def split_clusters(
    rows: Matrix, labels: Matrix, n_leaves: int, seed: int
) -> tuple[Matrix, Matrix]:
    """Centres (n_leaves, k) of leaves, and the cluster of each, in order of clusters.

    From the drawn rows of every cluster: the leaf of largest spread is cut in two
    halves until there are enough, or none can be cut.
    """
    parts = [np.flatnonzero(labels == j) for j in np.unique(labels)]
    spreads = [_spread(rows[part]) for part in parts]
    while len(parts) < n_leaves and max(spreads) > 0:
        widest = int(np.argmax(spreads))
        halves = _halves(rows, parts[widest], seed)
        if halves is None:
            spreads[widest] = 0.0
            continue
        parts[widest : widest + 1] = halves
        spreads[widest : widest + 1] = [_spread(rows[half]) for half in halves]
    clusters = np.array([labels[part[0]] for part in parts])
    return np.stack([rows[part].mean(axis=0) for part in parts]), clusters


def with_missing(
    points: Matrix, clusters: Matrix, centres: Matrix, live: Matrix
) -> tuple[Matrix, Matrix]:
    """The leaves, and one for every cluster that none of the drawn rows is in."""
    missing = np.setdiff1d(live, clusters)
    joined = np.concatenate([clusters, missing])
    order = np.argsort(joined, kind="stable")
    return np.concatenate([points, centres[missing]])[order], joined[order]


def _spread(rows: Matrix) -> float:
    if len(rows) < 2 * LEAST_ROWS:
        return 0.0
    return float(((rows - rows.mean(axis=0)) ** 2).sum())


def _halves(rows: Matrix, part: Matrix, seed: int) -> list[Matrix] | None:
    """Two halves of a leaf, the larger first; None where one would be too small."""
    search = KMeans(2, n_init=HALF_STARTS, random_state=seed)
    side = quiet_fit(search, rows[part]).labels_
    halves = sorted((part[side == 0], part[side == 1]), key=len, reverse=True)
    return halves if len(halves[1]) >= LEAST_ROWS else None


@touches(reads=[FIELD, LABELS], writes=[LEAVES])
def leaf_step(block: Block, state: State, shared: Leaves) -> Result:
    """Leaf of every row, the nearest of its cluster's; ties and features by leaf."""
    rows, own = state[FIELD], state[LABELS]
    xp = namespace(rows)
    # A device has its own copies of what is shared; these few numbers are host work.
    points, clusters = to_host(shared.points), to_host(shared.clusters)
    leaf = xp.zeros_like(own)
    for j in np.unique(clusters).tolist():
        numbers = np.flatnonzero(clusters == j)
        found = nearest(rows, euclidean(points[numbers]))[0]
        leaf = xp.where(own == j, like(numbers, own)[found], leaf)
    size, width = len(points), sum(shared.graph.sizes)
    columns, weights = ties(block, shared.graph)
    place = leaf[:, None] * width + xp.astype(columns, leaf.dtype)
    tied = index_sum(
        in_float64(xp.reshape(weights, (-1, 1))), xp.reshape(place, (-1,)), size * width
    )
    stats: dict[str, Array] = {"ties": xp.reshape(tied, (size, width))}
    host, centres = to_host(leaf), tuple(to_host(c) for c in shared.centres)
    for v, parts in enumerate(add_up(block, host, centres, size)):
        for name, part in zip(("counts", "sums", "squares"), parts, strict=True):
            stats[f"{name}{v}"] = part
    stats["rows"] = np.bincount(host, minlength=size).astype(np.float64)
    return Result(state={LEAVES: leaf}, stats=stats)


class LeafSums(NamedTuple):
    """Of every leaf: rows, ties (n_views, n_leaves, n_leaves), sums of features."""

    rows: Matrix
    ties: Matrix
    features: Sums


def add_up_leaves(
    engine: Engine, points: Matrix, clusters: Matrix, spectrum: Spectrum, some: Block
) -> LeafSums:
    """One pass: the leaf of every row; what ties leaves, and what sets them apart."""
    centres = centres_of(some)
    shared = Leaves(points, clusters, spectrum.graph, centres)
    found, _ = engine.run(leaf_step, shared, title="Leaves of the tree")
    total = {name: to_host(x) for name, x in found.items()}  # Dask's, from the device
    n_views = len(centres)
    names = ("counts", "sums", "squares")
    parts = [[total[f"{name}{v}"] for v in range(n_views)] for name in names]
    tied = leaf_ties(total["ties"], spectrum)
    return LeafSums(total["rows"], tied, gathered(some, centres, parts))


def leaf_ties(tied: Matrix, spectrum: Spectrum) -> Matrix:
    """How much of the graph's weight lies between any two leaves, view by view.

    `tied` (n_leaves, n_anchors) are the ties of a leaf's rows to every anchor.
    """
    graph = spectrum.graph
    owner = np.repeat([p.view for p in graph.pieces], graph.sizes)
    share = np.repeat(piece_shares(graph), graph.sizes)
    weight = share * spectrum.weights[owner] * inverse(tied.sum(axis=0))
    found = np.stack(
        [
            (tied[:, owner == v] * weight[owner == v]) @ tied[:, owner == v].T
            for v in range(len(graph.scalings))
        ]
    )
    return np.asarray(found / found.sum())


def merge(tied: Matrix, clusters: Matrix) -> Merges:
    """Merge the leaves, by ties (n_leaves, n_leaves) that sum to 1."""
    inner, nodes = _merge_nearest(tied, np.arange(len(tied)), clusters)
    outer, _ = _merge_nearest(nodes.tied, nodes.numbers, None, len(tied) + len(inner))
    within = _rising([m[2] for m in inner])
    between = _rising([m[2] for m in outer])
    if within.size and between.size:
        # The clusters of the fit need not be what the ties alone would merge first.
        within *= min(1.0, BELOW * between[0] / max(float(within[-1]), 1e-300))
    pairs = np.array([m[:2] for m in (*inner, *outer)], dtype=np.intp).reshape(-1, 2)
    return Merges(pairs, np.concatenate([within, between]))


class Nodes(NamedTuple):
    """What is left to merge: ties between the nodes, and the nodes' numbers."""

    tied: Matrix
    numbers: Matrix


def _rising(distances: list[float]) -> Matrix:
    return np.maximum.accumulate(np.asarray(distances, dtype=np.float64))


def _merge_nearest(
    tied: Matrix, numbers: Matrix, clusters: Matrix | None, first: int | None = None
) -> tuple[list[tuple[int, int, float]], Nodes]:
    """Merge the two nearest nodes until one is left, or one of every cluster.

    The distance of two nodes is p_i p_j / p_ij of ties p, as d/(1 + d): 1/2 where they
    are tied as by chance, 1 where they are not tied at all.
    """
    tied, left = tied.copy(), numbers.tolist()
    groups = np.zeros(len(left)) if clusters is None else clusters.copy()
    fresh = len(left) if first is None else first
    merges: list[tuple[int, int, float]] = []
    while True:
        weight = tied.sum(axis=1)
        chance = weight[:, None] * weight[None, :]
        total = tied + chance
        apart = np.where(total > 0, chance / np.where(total > 0, total, 1.0), 1.0)
        apart[groups[:, None] != groups[None, :]] = np.inf
        np.fill_diagonal(apart, np.inf)
        if not np.isfinite(apart).any():
            return merges, Nodes(tied, np.array(left))
        i, j = sorted(int(n) for n in np.unravel_index(apart.argmin(), apart.shape))
        merges.append((left[i], left[j], float(apart[i, j])))
        tied[i] += tied[j]
        tied[:, i] += tied[:, j]
        tied = np.delete(np.delete(tied, j, axis=0), j, axis=1)
        groups = np.delete(groups, j)
        left[i] = fresh
        del left[j]
        fresh += 1


def view_shares(tied: Matrix, left: Matrix, right: Matrix, weights: Matrix) -> Matrix:
    """How much every view speaks for a split, as shares that sum to 1.

    Of a view's ties inside the node, how many stay on one side, beyond chance; times
    the weight of the view, as in the influence of views on clusters.
    """
    found = np.zeros(len(tied))
    for v, own in enumerate(tied):
        a, b = own[np.ix_(left, left)].sum(), own[np.ix_(right, right)].sum()
        across = own[np.ix_(left, right)].sum()
        total = a + b + 2 * across
        if total > 0:
            share = (a + across) / total
            chance = share**2 + (1 - share) ** 2
            found[v] = ((a + b) / total - chance) / max(1 - chance, 1e-12)
    parts = np.maximum(found, 0.0) * weights
    whole = float(parts.sum())
    return parts / whole if whole > 0 else np.full(parts.size, 1.0 / parts.size)
