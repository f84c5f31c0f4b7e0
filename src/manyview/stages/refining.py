"""Clusters of many rows, refined along exact neighbours of some of them.

k-means finds the clusters of many rows in the embedding. Of the drawn rows some are
then moved between these clusters by modularity, in the graph of their exact neighbours
in every view (`stages.communities`), and all rows follow them by linear discriminants
of the embedding (R. A. Fisher, 1936). Moves keep what k-means gets right, which rows
are one cluster at large, and mend where it is wrong: between neighbours.
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
    pick,
)
from manyview.stages.block_model import members
from manyview.stages.cluster_sizes import Sizes, sized
from manyview.stages.communities import row_graph
from manyview.stages.sampling import Draw
from manyview.stages.scaling import Scaling
from manyview.views.views import Block

# Rows that are moved: twice as many were level, half as many a little worse.
REFINED_ROWS = 4096
# Products of entries that their neighbours may take: as of all those rows in 2,048
# columns. More would be felt in the time of a fit.
MOST_PRODUCTS = float(REFINED_ROWS) ** 2 * 2048
# Fewer rows of a cluster say too little of it: then k-means stands.
ROWS_PER_CLUSTER = 20
# Sweeps over the rows, and the share of them below which moves no longer matter; five
# sweeps were nearly level with twenty.
MOST_SWEEPS = 20
FEW_MOVES = 1e-3
# Of the covariance inside clusters towards a round one; .01 to .2 were level.
SHRINKAGE = 0.05


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
    scalings: tuple[Scaling, ...],
    view_weights: Matrix,
    found: Clustering,
    wanted: Sizes | None = None,
) -> tuple[Clustering, Centres | None]:
    """The clusters after moves of drawn rows, and the scores that give them.

    With `wanted` sizes the drawn rows are brought to these. Nothing changes, and
    there are no such scores, where rows are too few for the clusters.
    """
    n_clusters = len(found.centres.points)
    rows = drawn.rows[: min(REFINED_ROWS, sizes.exact_rows)]
    if n_clusters < 2 or len(rows) < ROWS_PER_CLUSTER * n_clusters:
        return found, None
    some = drawn._replace(rows=rows, block=engine.take(rows))
    some = some.without_empty_rows(scalings)
    n_rows = affordable_rows(len(rows), row_entries(some.block))
    if n_rows < ROWS_PER_CLUSTER * n_clusters:
        return found, None
    some = some._replace(rows=rows[:n_rows], block=some.block.part(slice(0, n_rows)))
    graph, _, place, _, _ = row_graph(some, scalings, view_weights, n_clusters)
    labels = np.asarray(to_host(pick(engine, LABELS, some.rows)))
    first = np.unique(place, return_index=True)[1]
    labels = moved(graph, labels[first], n_clusters)[place]
    if wanted is not None:
        part = wanted.of_sample(len(labels), engine.n_samples)
        labels = sized(graph, place, labels, n_clusters, part)
    points = np.asarray(to_host(in_float64(pick(engine, FIELD, some.rows))))
    scores = discriminants(points, labels, found.centres.points)
    total, _ = engine.run(assign_step, scores, title="Refining", views=False)
    counts = np.asarray(to_host(total["counts"]))[:, None]
    means = np.asarray(to_host(total["sums"])) / np.maximum(counts, 1.0)
    centres = euclidean(np.where(counts > 0, means, found.centres.points))
    return Clustering(centres, engine.read(LABELS), np.nan, found.n_iter), scores


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


def discriminants(points: Matrix, labels: Matrix, former: Matrix) -> Centres:
    """Linear scores of the clusters: the least offset − 2 b·direction wins.

    They compare distances in the metric of the covariance that all clusters share;
    one without points keeps its `former` centre.
    """
    member = members(labels, len(former))
    counts = np.bincount(labels, minlength=len(former))[:, None]
    means = np.where(counts > 0, (member.T @ points) / np.maximum(counts, 1), former)
    gaps = points - means[labels]
    spread = gaps.T @ gaps / len(points)
    scale = float(np.trace(spread)) / len(spread) or 1.0
    spread = (1.0 - SHRINKAGE) * spread + SHRINKAGE * scale * np.eye(len(spread))
    directions = np.linalg.solve(spread, means.T).T
    return Centres(directions, np.sum(means * directions, axis=1))
