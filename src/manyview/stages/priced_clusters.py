"""Clusters of stated sizes for many rows: a price for each cluster.

A row takes the cluster that scores best after its price. The prices are those at which
some drawn rows fall into the sizes as they should; passes count what all rows make of
them, and mend them. The few rows that are then still too many in a cluster move one by
one, the cheapest of all. New rows meet the same prices.
"""

from typing import NamedTuple

import numpy as np

from manyview.arrays.ops import Matrix, in_float64, to_host
from manyview.engine.contract import Engine, Result, State, sizes, touches
from manyview.kmeans.passes import (
    FIELD,
    LABELS,
    Centres,
    Clustering,
    assign_step,
    centroids,
    euclidean,
    pick,
)
from manyview.stages.cluster_sizes import Sizes, assign
from manyview.stages.steering import hold_labels
from manyview.views.views import Block

# Mends of the prices: each leaves about a third of the rows in excess, and each is a
# pass over the embedding.
MOST_MENDS = 4
MOST_STEPS = 10  # of balanced k-means on the drawn rows; most settle within five


class Edge(NamedTuple):
    """Priced scores, and how many rows of each cluster to name."""

    scores: Centres
    n_rows: int


def hold_sizes(
    engine: Engine,
    drawn_rows: Matrix,
    found: Clustering,
    scores: Centres | None,
    wanted: Sizes,
) -> tuple[Clustering, Centres | None]:
    """The clusters at these sizes, and the priced scores that nearly give them.

    Without `scores` these are distances to the centres, which move along.
    """
    n_clusters = len(found.centres.points)
    counts = np.bincount(np.asarray(to_host(found.labels)), minlength=n_clusters)
    if wanted.excess(counts) == 0:
        return found, scores
    rows = drawn_rows[: sizes.exact_rows]
    points = np.asarray(to_host(in_float64(pick(engine, FIELD, rows))))
    part = wanted.of_sample(len(rows), engine.n_samples)
    plain = scores or _balanced(points, found.centres, part)
    values = _values(points, plain)
    least, most = (np.full(n_clusters, bound) for bound in part)
    mended = []
    for _ in range(MOST_MENDS):
        assigned = assign(values, least, most)
        priced = plain._replace(offsets=plain.offsets + assigned.prices)
        total, _ = engine.run(assign_step, priced, title="Sizes", views=False)
        counts = np.asarray(to_host(total["counts"]))
        mended.append((wanted.excess(counts), priced))
        # So many of the drawn rows stand for a row of the cluster.
        drawn = np.bincount(assigned.labels, minlength=n_clusters)
        share = drawn / np.maximum(counts, 1)
        least, most = wanted.least * share, wanted.most * share
        least = np.floor(least * min(1.0, len(rows) / max(least.sum(), 1.0)))
        most = np.ceil(most * max(1.0, len(rows) / max(most.sum(), 1.0)))
    _, priced = min(mended, key=lambda each: each[0])
    return _exactly(engine, found, priced, wanted), priced


def _values(points: Matrix, scores: Centres) -> Matrix:
    return np.asarray(2.0 * points @ scores.points.T - scores.offsets)


def _balanced(points: Matrix, centres: Centres, wanted: Sizes) -> Centres:
    """k-means of the drawn rows in which the clusters have these sizes."""
    n_clusters, labels = len(centres.points), None
    bounds = [np.full(n_clusters, bound) for bound in wanted]
    for _ in range(MOST_STEPS):
        former, labels = labels, assign(_values(points, centres), *bounds).labels
        if former is not None and (labels == former).all():
            break
        centres = euclidean(np.asarray(centroids(points, labels, n_clusters)))
    return centres


def _exactly(
    engine: Engine, found: Clustering, priced: Centres, wanted: Sizes
) -> Clustering:
    """All rows by the priced scores, and the cheapest ones moved to the exact sizes."""
    total, _ = engine.run(assign_step, priced, title="Sizes", views=False)
    counts = np.asarray(to_host(total["counts"]))
    means = np.asarray(to_host(total["sums"])) / np.maximum(counts, 1.0)[:, None]
    centres = euclidean(np.where(counts[:, None] > 0, means, found.centres.points))
    found = Clustering(centres, engine.read(LABELS), np.nan, found.n_iter)
    excess = wanted.excess(counts)
    if excess == 0:
        return found
    _, notes = engine.run(edge_step, Edge(priced, excess), title="Sizes", views=False)
    named = np.concatenate(notes)
    rows, labels = named[_first_of_each(named, excess), :2].astype(np.intp).T
    points = np.asarray(to_host(in_float64(pick(engine, FIELD, rows))))
    values, each = _values(points, priced), np.arange(len(rows))
    # Where another precision would put it elsewhere, a row is where the pass put it.
    values[each, labels] = np.nextafter(values.max(axis=1), np.inf)
    others = counts - np.bincount(labels, minlength=len(counts))
    moved = assign(values, wanted.least - others, wanted.most - others).labels
    there = np.flatnonzero(moved != labels)
    return hold_labels(engine, rows[there], moved[there], found)


@touches(reads=[FIELD, LABELS])
def edge_step(block: Block, state: State, shared: Edge) -> Result:
    """Name the rows of every cluster that another one suits nearly as well.

    The note has row number, cluster, and how much less another one suits.
    """
    labels = np.asarray(to_host(state[LABELS]))
    scores = Centres(*map(to_host, shared.scores))
    values = _values(np.asarray(to_host(in_float64(state[FIELD]))), scores)
    each = np.arange(len(labels))
    own = values[each, labels]
    values[each, labels] = -np.inf
    rows = block.start + each
    named = np.stack([rows, labels, own - values.max(axis=1)], axis=1)
    return Result(note=named[_first_of_each(named, shared.n_rows)])


def _first_of_each(named: Matrix, n_rows: int) -> Matrix:
    """Places of the rows at the edge, so many of each cluster, nearest first."""
    order = np.lexsort((named[:, 2], named[:, 1]))
    _, first, place = np.unique(named[order, 1], return_index=True, return_inverse=True)
    return order[np.arange(len(named)) - first[place.ravel()] < n_rows]
