"""Clusters of many rows, refined along exact neighbours of some of them.

k-means finds the clusters of many rows in the embedding. Of the drawn rows some are
then moved between these clusters by modularity, in the graph of their exact neighbours
in every view (`stages.communities`), and all rows follow them by linear discriminants
of the embedding (R. A. Fisher, 1936). Neighbours are sought in two parts of these
rows, each by itself: half the products of all together, and fits hear all. Moves keep
what k-means gets right, which rows are one cluster at large, and mend where it is
wrong: between neighbours. What it gets wrong at large discriminants of the views may
mend (`stages.telling_apart`), and where they do not, fits of the views carry moves on
(`stages.whole_rows`).
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.arrays.linear import one_hot, where_exact
from manyview.arrays.ops import Array, Matrix, in_float64, like, namespace, to_host
from manyview.engine.contract import Engine, sizes
from manyview.engine.threads import Background
from manyview.kmeans.passes import (
    FIELD,
    LABELS,
    Centres,
    Clustering,
    assign_step,
    euclidean,
    nearest,
    pick,
)
from manyview.stages.anchors import Features
from manyview.stages.block_model import (
    FEW_MOVES,
    better_clusters,
    on_host,
    ties_of_clusters,
    ties_to_clusters,
)
from manyview.stages.cluster_sizes import Sizes, sized
from manyview.stages.communities import (
    first_of,
    graphs_in_parts,
    places_in_parts,
    weighed_in_parts,
)
from manyview.stages.held_out import Seen
from manyview.stages.knowledge import Knowledge, names_clusters
from manyview.stages.rounds import Round, round_step
from manyview.stages.sampling import Draw, first_rows
from manyview.stages.telling_apart import discriminants, tell_apart
from manyview.stages.whole_rows import follow_whole_rows, see_views
from manyview.views.views import Block

# Rows among which neighbours are sought, and how many such parts there are: one alone
# left twice as much to which rows were drawn (DESIGN.md, "Twice the rows, in parts").
REFINED_ROWS, MOST_PARTS = 4096, 2
# Products of entries that the neighbours of a part may take: as of all those rows in
# 8,192 columns, a fifth of the time of such a fit, where 2,048 found worse clusters.
MOST_PRODUCTS = float(REFINED_ROWS) ** 2 * 8192
# Fewer rows of a cluster say too little of it: then k-means stands.
ROWS_PER_CLUSTER = 20
MOST_SWEEPS = 20  # over the rows; five were nearly level


class Ties(NamedTuple):
    """Weights of a graph inside and between clusters, beside what degrees give."""

    inside: float
    between: float

    @property
    def resolution(self) -> float:
        """Where modularity is the likelihood of such clusters.

        M. E. J. Newman: Equivalence between modularity optimization and maximum
        likelihood methods for community detection. Physical Review E 94, 2016.
        """
        gap = np.log(self.inside) - np.log(self.between)
        return float((self.inside - self.between) / gap)


class SomeRows:
    """Some drawn rows of many, their neighbours, and how they look in every view.

    None of it needs the clusters that it refines: it is sought while the fit goes on.
    The rows are `enough` for the clusters or not. What is fitted to the views may give
    the clusters (`by_views`) unless their sizes or labels are `known`: links move their
    own rows, with labels rows are compared in B_bar.
    """

    def __init__(
        self,
        background: Background,
        engine: Engine,
        drawn: Draw,
        features: Features,
        n_clusters: int,
        known: Knowledge | Sizes | None,
    ) -> None:
        self.features = features
        self.wanted = known if isinstance(known, Sizes) else None
        self.by_views = self.wanted is None and not names_clusters(known)
        rows = drawn.rows[: sizes.exact_rows]
        n_entries = row_entries(first_rows(drawn.block))
        most = affordable_rows(min(REFINED_ROWS, len(rows)), n_entries)
        self.enough = n_clusters > 1 and most >= ROWS_PER_CLUSTER * n_clusters
        if not self.enough:
            return
        rows = rows[: min(MOST_PARTS, len(rows) // most) * most]

        def taken() -> Draw:
            some = drawn._replace(rows=rows, block=engine.take(rows))
            return some.without_empty_rows(features.scalings)

        def seen() -> list[Seen]:
            first = first_of(places_in_parts(self.graphs())[0])
            return see_views(self.rows().block, first, features, n_clusters)

        how = most, features.scalings, n_clusters
        self.rows = background(taken)
        self.graphs = background(lambda: graphs_in_parts(self.rows(), *how))
        self.views = background(seen) if self.by_views else cache(seen)


def refine_clusters(
    engine: Engine,
    some: SomeRows,
    view_weights: Matrix,
    found: Clustering,
) -> tuple[Clustering, Centres | None, Round | None]:
    """The clusters after moves of drawn rows, the scores that give them, a last round.

    Where sizes are known the drawn rows are brought to these. Where what is fitted to
    the views gives the clusters, the round that makes its scores stands in the place
    of the embedding. Nothing changes, and there are no such scores, where rows are too
    few for the clusters.
    """
    if not some.enough:
        return found, None, None
    n_clusters = len(found.centres.points)
    graphs, of_views = weighed_in_parts(some.graphs(), view_weights)
    place, parts = places_in_parts(some.graphs())
    points, labels = _picked(engine, some.rows())
    first = like(first_of(place), labels)
    pairs = zip(graphs, parts, strict=True)
    own = [moved(graph, labels[first[p]], n_clusters) for graph, p in pairs]
    labels = namespace(labels).concat(own)[like(place, labels)]
    if some.wanted is not None:
        part = some.wanted.of_sample(len(labels), engine.n_samples)
        whole = [x if sp.issparse(x) else on_host(x)[0] for x in graphs]
        graph = sp.csr_array(sp.block_diag(whole, format="csr"))
        held = sized(graph, place, to_host(labels), n_clusters, part)
        labels = like(held, labels)
    scores, last = discriminants(points, labels, found.centres.points), None
    if some.by_views and n_clusters <= points.shape[1]:
        features, views = some.features, some.views()
        scored = nearest(points, scores)[0][first]
        last = tell_apart(features, of_views, views, scored, n_clusters)
        if last is None:
            rest = labels[first], points[first], n_clusters
            last = follow_whole_rows(features, (of_views, parts), views, *rest)
    scores = Centres(*map(to_host, scores))
    if last is not None:
        engine.run(round_step, last, title="Telling clusters apart")
        scores = Centres(np.eye(n_clusters), np.zeros(n_clusters))
    return _all_rows(engine, scores, found, last is None), scores, last


def _picked(engine: Engine, drawn: Draw) -> tuple[Array, Array]:
    """The drawn rows of the embedding, in float64, and their labels.

    They are where the drawn views are, so that one place does all the work.
    """
    fields = (where_exact(pick(engine, name, drawn.rows)) for name in (FIELD, LABELS))
    points, labels = (like(x, where_exact(drawn.block.views[0])) for x in fields)
    return in_float64(points), labels


def _all_rows(
    engine: Engine, scores: Centres, found: Clustering, same_space: bool
) -> Clustering:
    """The clusters of all rows by these scores; empty ones keep their centres."""
    total, _ = engine.run(assign_step, scores, title="Refining", views=False)
    counts = np.asarray(to_host(total["counts"]))[:, None]
    means = np.asarray(to_host(total["sums"])) / np.maximum(counts, 1.0)
    former = found.centres.points if same_space else scores.points
    centres = euclidean(np.where(counts > 0, means, former))
    return Clustering(centres, engine.read(LABELS), np.nan, found.n_iter)


def row_entries(block: Block) -> float:
    """Entries of a row in all views together; of sparse ones those that are stored."""
    entries = [x.nnz if sp.issparse(x) else np.prod(x.shape) for x in block.views]
    return float(sum(entries)) / len(block)


def affordable_rows(n_rows: int, n_entries: float) -> int:
    """So many of the rows that the search for their neighbours stays short."""
    return min(n_rows, int((MOST_PRODUCTS / max(n_entries, 1.0)) ** 0.5))


def count_ties(between: Matrix) -> Ties:
    """How heavy ties are inside and between clusters; 1 is what degrees alone give.

    Of the weights `between` every two clusters.
    """
    between = between / between.sum()
    share, expected = float(np.trace(between)), float((between.sum(axis=1) ** 2).sum())
    return Ties(share / expected, (1.0 - share) / max(1.0 - expected, 1e-12))


def moved(graph: Any, labels: Array, n_clusters: int) -> Array:
    """The labels after moves of single rows that raise modularity, half of all at once.

    The resolution is that of the clusters at hand, so none grows for want of ties.
    Where ties do not tell clusters apart, or do so without fail, nothing moves.
    """
    xp = namespace(labels)
    found = xp.asarray(labels, copy=True)
    for _ in range(MOST_SWEEPS):
        labels = xp.asarray(found, copy=True)
        for start in (0, 1):
            near = ties_to_clusters(graph, found, n_clusters)
            between = ties_of_clusters(near, found)[:, 0]
            if start == 0:
                ties = count_ties(to_host(between))
                if not ties.inside > ties.between > 0:
                    return found
                degrees = near[:, 0].sum(axis=1)
                share = ties.resolution * degrees / degrees.sum()
            own = slice(start, None, 2)
            former, weight = found[own], xp.sum(between, axis=1)
            held = one_hot(former, n_clusters) * degrees[own][:, None]
            # A row's own weight would hold it back, or push it out.
            gains = near[own, 0] - share[own][:, None] * (weight - held)
            best, better = better_clusters(gains, former)
            found[own] = xp.where(better, best, former)
        if int((found != labels).sum()) <= FEW_MOVES * len(labels):
            break
    return found
