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

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Matrix, in_float64, to_host
from manyview.engine.contract import Engine, sizes
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
from manyview.stages.block_model import FEW_MOVES, members
from manyview.stages.cluster_sizes import Sizes, sized
from manyview.stages.communities import first_of, graph_in_parts
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


def refine_clusters(
    engine: Engine,
    drawn: Draw,
    features: Features,
    view_weights: Matrix,
    found: Clustering,
    wanted: Sizes | None = None,
    *,
    by_views: bool = False,
) -> tuple[Clustering, Centres | None, Round | None]:
    """The clusters after moves of drawn rows, the scores that give them, a last round.

    With `wanted` sizes the drawn rows are brought to these. With `by_views` what is
    fitted to the views may give the clusters: then the round that makes its scores
    stands in the place of the embedding. Nothing changes, and there are no
    such scores, where rows are too few for the clusters.
    """
    n_clusters = len(found.centres.points)
    rows = drawn.rows[: sizes.exact_rows]
    n_entries = row_entries(first_rows(drawn.block))
    most = affordable_rows(min(REFINED_ROWS, len(rows)), n_entries)
    if n_clusters < 2 or most < ROWS_PER_CLUSTER * n_clusters:
        return found, None, None
    rows = rows[: min(MOST_PARTS, len(rows) // most) * most]
    some = drawn._replace(rows=rows, block=engine.take(rows))
    some = some.without_empty_rows(features.scalings)
    how = features.scalings, view_weights, n_clusters
    graph, of_views, place, parts = graph_in_parts(some, most, *how)
    labels = np.asarray(to_host(pick(engine, LABELS, some.rows)))
    first = first_of(place)
    own = [moved(graph[p][:, p], labels[first[p]], n_clusters) for p in parts]
    labels = np.concatenate(own)[place]
    if wanted is not None:
        part = wanted.of_sample(len(labels), engine.n_samples)
        labels = sized(graph, place, labels, n_clusters, part)
    points = np.asarray(to_host(in_float64(pick(engine, FIELD, some.rows))))
    scores, last = discriminants(points, labels, found.centres.points), None
    if by_views and n_clusters <= points.shape[1]:
        views = see_views(some.block, first, features, n_clusters)
        scored = np.asarray(to_host(nearest(points, scores)[0]))[first]
        last = tell_apart(features, of_views, views, scored, n_clusters)
        if last is None:
            rest = labels[first], points[first], n_clusters
            last = follow_whole_rows(features, (of_views, parts), views, *rest)
    if last is not None:
        engine.run(round_step, last, title="Telling clusters apart")
        scores = Centres(np.eye(n_clusters), np.zeros(n_clusters))
    return _all_rows(engine, scores, found, last is None), scores, last


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


def count_ties(graph: sp.csr_array, labels: Matrix, n_clusters: int) -> Ties:
    """How heavy ties are inside and between clusters; 1 is what degrees alone give."""
    member = members(labels, n_clusters)
    degrees = graph.sum(axis=1)
    share = float((member * (graph @ member)).sum() / degrees.sum())
    expected = float(((degrees @ member / degrees.sum()) ** 2).sum())
    return Ties(share / expected, (1.0 - share) / max(1.0 - expected, 1e-12))


def moved(graph: sp.csr_array, labels: Matrix, n_clusters: int) -> Matrix:
    """The labels after moves of single rows that raise modularity, half of all at once.

    The resolution is that of the clusters at hand, so none grows for want of ties.
    Where ties do not tell clusters apart, or do so without fail, nothing moves.
    """
    labels = labels.copy()
    degrees = np.asarray(graph.sum(axis=1))
    halves = [np.arange(start, len(labels), 2) for start in (0, 1)]
    parts = [(own, graph[own]) for own in halves]
    for _ in range(MOST_SWEEPS):
        ties = count_ties(graph, labels, n_clusters)
        if not ties.inside > ties.between > 0:
            break
        share = ties.resolution * degrees / degrees.sum()
        n_moves = 0
        for own, part in parts:
            former, each = labels[own], np.arange(len(own))
            member = members(labels, n_clusters)
            # A row's own weight would hold it back, or push it out.
            gains = (part @ member).toarray() - np.outer(share[own], degrees @ member)
            gains[each, former] += share[own] * degrees[own]
            best = gains.argmax(axis=1)
            better = gains[each, best] > gains[each, former] + 1e-12
            labels[own] = np.where(better, best, former)
            n_moves += int(better.sum())
        if n_moves <= FEW_MOVES * len(labels):
            break
    return labels
