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

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from manyview.arrays.ops import Matrix, to_host
from manyview.engine.threads import at_once
from manyview.kmeans.passes import nearest, quiet_fit
from manyview.stages.anchors import Features
from manyview.stages.block_model import FEW_MOVES, Graphs, moved_by_views
from manyview.stages.held_out import (
    MOST_DIRECTIONS,
    ROWS_PER_DIRECTION,
    Seen,
    held_out,
    in_columns,
    see,
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
    every, on = range(len(block.views)), block.views[0]
    return at_once(lambda v: see(block, nodes, features, v, n_directions), every, on)


def follow_whole_rows(
    features: Features,
    ties: tuple[Graphs, list[slice]],
    views: list[Seen],
    labels: Matrix,
    points: Matrix,
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
    with_labels = np.mean(by_fits == labels) + np.mean(by_points == labels)
    agree = 2.0 * np.mean(by_fits == by_points)
    if partings == MOST_PARTINGS and agree <= with_labels:
        return None
    for _ in range(MOST_TURNS):
        former, scores = labels, said.scores
        labels = moved_by_views(graphs, former, n_clusters, scores, parts, SWEEPS)
        said = said.heard(labels)
        if np.count_nonzero(labels != former) <= FEW_MOVES * len(labels):
            break
    weights = said.weights(labels, views)
    parted = _parted(graphs, views, weights, labels, points) if partings else None
    if parted is not None:
        given = features, ties, views, parted, points, n_clusters
        return follow_whole_rows(*given, partings=partings - 1)
    return scoring_round(features, views, [(w, np.zeros(n_clusters)) for w in weights])


def _parted(
    graphs: Graphs, views: list[Seen], weights: Any, labels: Matrix, points: Matrix
) -> Matrix | None:
    """Clusters that would get no row are halves of others, where these are hardly tied.

    Where k-means cuts one group in two and takes two for one, turns join the halves.
    """
    scores = sum(x.points @ own for x, own in zip(views, weights, strict=True))
    lost = np.setdiff1d(np.arange(scores.shape[1]), scores.argmax(axis=1))
    found, total = {}, sum(graphs[1:], graphs[0])
    for cluster in np.setdiff1d(labels, lost) if lost.size else ():
        own = np.flatnonzero(labels == cluster)
        one = quiet_fit(KMeans(2, n_init=3, random_state=0), points[own]).labels_ == 1
        ties = total[own][:, own].sum(axis=1)
        chance = ties[one].sum() * ties[~one].sum() / max(ties.sum(), 1.0)
        across = total[own[one]][:, own[~one]].sum()
        if min(one.sum(), (~one).sum()) >= FEWEST and across < APART * chance:
            found[across / chance] = own[one]
    for number, share in zip(lost, sorted(found), strict=False):
        labels = np.where(np.isin(np.arange(len(labels)), found[share]), number, labels)
    return labels if found else None


def _left_out(points: Matrix, labels: Matrix) -> Matrix:
    """What discriminants fitted to every other point say of the rest."""
    found = np.empty_like(labels)
    former = np.zeros((labels.max() + 1, points.shape[1]))
    for start in (0, 1):
        own, others = slice(start, None, 2), slice(1 - start, None, 2)
        scores = discriminants(points[others], labels[others], former)
        found[own] = to_host(nearest(points[own], scores)[0])
    return found
