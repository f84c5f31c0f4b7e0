"""Clusters of many rows, moved by neighbours and by what whole views say of them.

Discriminants of the embedding can follow moved labels only as far as the embedding
tells clusters apart. Of the drawn rows more is known: what fits of every view to all
other rows say of each (`stages.held_out`), beside its neighbours
(`stages.block_model`). Fits and moves are made in turns until hardly a row moves, and
the fits then score all rows, by one more of the method's rounds.

Where clusters run into each other, turns would drift. So they are only made where fits
of the views and discriminants of the embedding, each without the row they judge, agree
with each other more than with the labels: then the labels err, and both see how.
"""

from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from manyview.arrays.linear import where_exact
from manyview.arrays.ops import (
    Array,
    Matrix,
    cast,
    in_float64,
    index_count,
    like,
    namespace,
    to_host,
)
from manyview.engine.threads import side_by_side
from manyview.kmeans.passes import nearest, quiet_fit
from manyview.stages.anchors import Features, block_features
from manyview.stages.block_model import FEW_MOVES, Graphs, moved_by_views, on_host
from manyview.stages.held_out import (
    MOST_DIRECTIONS,
    ROWS_PER_DIRECTION,
    Seen,
    among_all,
    held_out,
    in_columns,
    of_those,
    principal,
)
from manyview.stages.rounds import Round
from manyview.stages.telling_apart import (
    DIRECTIONS_PER_CLUSTER,
    discriminants,
    scoring_round,
)
from manyview.views.views import Block

# Turns of fits and moves, and sweeps over the rows in each. As many sweeps as it takes
# were level: fits follow the labels either way, and turns say what they are worth.
MOST_TURNS, SWEEPS = 4, 3
# Times that clusters are sought anew that turns would lose: in halves of so many rows,
# tied less than that share of chance (halves of a normal cloud by .7, two by .2).
MOST_PARTINGS, FEWEST, APART = 3, 20, 0.5
# Rows for every direction of a view beyond those that few rows get.
ROWS_PER_MORE = 32


def see_views(
    block: Block, nodes: Matrix, features: Features, n_clusters: int
) -> list[Seen]:
    """Those rows of the block in every view, along as many directions as they tell."""
    wanted = max(MOST_DIRECTIONS, DIRECTIONS_PER_CLUSTER * n_clusters)
    wanted = max(wanted, len(nodes) // ROWS_PER_MORE)
    n_directions = min(wanted, max(len(nodes) // ROWS_PER_DIRECTION, 1))
    how = [(v, n_directions) for v in range(len(block.views))]
    jobs = [partial(see, block, nodes, features, *own) for own in how]
    return side_by_side(jobs, block.views[0])


def see(
    block: Block, nodes: Matrix, features: Features, v: int, n_directions: int
) -> Seen:
    """Rows of a block along the leading directions of the view's kept features.

    Those that were reduced have lost their sizes, which are given back.
    """
    kept = block_features(block, {}, features, v)
    kept = where_exact(kept if len(nodes) == len(kept) else kept[like(nodes, kept)])
    xp, reduce = namespace(kept), features.reduces[v]
    sizes = xp.ones_like(kept[0, :])
    if reduce is not None:
        sizes = 1.0 / xp.linalg.vector_norm(cast(reduce, kept), axis=0)
    there = to_host(block.present)[nodes, v]
    rows = of_those(kept, there)
    mean = xp.mean(rows, axis=0) if len(rows) else xp.zeros_like(sizes)
    points = (rows - mean) * sizes
    vectors = principal(points, n_directions)
    seen = among_all(points @ cast(vectors, points), there)
    return Seen(seen, there, mean, sizes[:, None] * vectors)


def follow_whole_rows(
    features: Features,
    ties: tuple[Graphs, list[slice]],
    views: list[Seen],
    labels: Array,
    points: Array,
    n_clusters: int,
    partings: int = MOST_PARTINGS,
) -> Round | None:
    """A round that scores every row; None where fits and points do not see the same.

    `ties` are the views' graphs and the parts of rows that have them, whose `views`,
    labels and points in the embedding are given.
    """
    graphs, parts = ties
    columns = in_columns([views], np.arange(len(labels)))
    said = held_out(columns, labels, n_clusters)
    by_fits, by_points = said.scores(labels).argmax(axis=1), _left_out(points, labels)
    with_labels = _same(by_fits, labels) + _same(by_points, labels)
    agree = 2 * _same(by_fits, by_points)
    if partings == MOST_PARTINGS and agree <= with_labels:
        return None
    for _ in range(MOST_TURNS):
        former, scores = labels, said.scores
        labels = moved_by_views(graphs, former, n_clusters, scores, parts, SWEEPS)
        said = said.heard(labels)
        if len(labels) - _same(labels, former) <= FEW_MOVES * len(labels):
            break
    weights = said.weights(labels, views)
    parted = _parted(graphs, views, weights, labels, points) if partings else None
    if parted is not None:
        given = features, ties, views, parted, points, n_clusters
        return follow_whole_rows(*given, partings=partings - 1)
    return scoring_round(features, views, [(w, np.zeros(n_clusters)) for w in weights])


def _same(labels: Array, others: Array) -> int:
    """How many rows have the same label in both."""
    return int((labels == others).sum())


def _parted(
    graphs: Graphs, views: list[Seen], weights: Any, labels: Array, points: Array
) -> Array | None:
    """Clusters that would get no row are halves of others, where these are hardly tied.

    Where k-means cuts one group in two and takes two for one, turns join the halves.
    """
    pairs = zip(views, weights, strict=True)
    scores: Any = sum(in_float64(x.points) @ own for x, own in pairs)
    counts = to_host(index_count(scores.argmax(axis=1), scores.shape[1]))
    lost, found, model = np.flatnonzero(counts == 0), {}, labels
    if not lost.size:
        return None
    labels, points = to_host(labels), to_host(points)
    total: Any = sum(on_host(graphs))
    for cluster in np.setdiff1d(labels, lost):
        own = np.flatnonzero(labels == cluster)
        one = quiet_fit(KMeans(2, n_init=3, random_state=0), points[own]).labels_ == 1
        ties = total[own][:, own].sum(axis=1)
        chance = ties[one].sum() * ties[~one].sum() / max(ties.sum(), 1.0)
        across = total[own[one]][:, own[~one]].sum()
        if min(one.sum(), (~one).sum()) >= FEWEST and across < APART * chance:
            found[across / chance] = own[one]
    for number, share in zip(lost, sorted(found), strict=False):
        labels = np.where(np.isin(np.arange(len(labels)), found[share]), number, labels)
    return like(labels, model) if found else None


def _left_out(points: Array, labels: Array) -> Array:
    """What discriminants fitted to every other point say of the rest."""
    found = namespace(labels).zeros_like(labels)
    former = np.zeros((int(labels.max()) + 1, points.shape[1]))
    for start in (0, 1):
        own, others = slice(start, None, 2), slice(1 - start, None, 2)
        scores = discriminants(points[others], labels[others], former)
        found[own] = nearest(points[own], scores)[0]
    return found
