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

from operator import itemgetter

import numpy as np
from sklearn.cluster import KMeans

from manyview.arrays.ops import Matrix, to_host
from manyview.engine.threads import at_once
from manyview.kmeans.passes import nearest, quiet_fit
from manyview.stages.anchors import Features
from manyview.stages.block_model import (
    FEW_MOVES,
    Graphs,
    members,
    moved_by_views,
)
from manyview.stages.held_out import (
    MOST_DIRECTIONS,
    ROWS_PER_DIRECTION,
    HeldOut,
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
# Times that lost clusters are sought elsewhere: in halves of so many rows that are tied
# half as much as by chance (halves of a normal cloud are by .7 and more, two by .2).
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
) -> Round | None:
    """A round that scores every row; None where fits and points do not see the same.

    `ties` are the views' graphs and the parts of rows that have them, whose `views`,
    labels and points in the embedding are given.
    """
    graphs, _ = ties
    columns = in_columns([views], np.arange(len(labels)))
    said = held_out(columns, labels, n_clusters)
    by_fits, by_points = said.scores(labels).argmax(axis=1), _left_out(points, labels)
    with_labels = np.mean(by_fits == labels) + np.mean(by_points == labels)
    if 2.0 * np.mean(by_fits == by_points) <= with_labels:
        return None
    for _ in range(1 + MOST_PARTINGS):
        said, labels = _in_turns(said, ties, labels)
        weights = said.weights(labels, views)
        pairs = zip(views, weights, strict=True)
        scores = np.sum([x.points @ own for x, own in pairs], axis=0)
        lost = np.setdiff1d(np.arange(n_clusters), scores.argmax(axis=1))
        if not lost.size:
            break
        scores[:, lost] = -np.inf
        labels = np.where(np.isin(labels, lost), scores.argmax(axis=1), labels)
        parted = _parted(graphs, labels, points, lost)
        if parted is None:
            break
        labels, said = parted, said.heard(parted)
    return scoring_round(features, views, [(w, np.zeros(n_clusters)) for w in weights])


def _in_turns(
    said: HeldOut, ties: tuple[Graphs, list[slice]], labels: Matrix
) -> tuple[HeldOut, Matrix]:
    """Fits and moves until hardly a row moves."""
    graphs, parts = ties
    for _ in range(MOST_TURNS):
        former, scores, n_clusters = labels, said.scores, said.n_clusters
        labels = moved_by_views(graphs, former, n_clusters, scores, parts, SWEEPS)
        said = said.heard(labels)
        if np.count_nonzero(labels != former) <= FEW_MOVES * len(labels):
            break
    return said, labels


def _parted(
    graphs: Graphs, labels: Matrix, points: Matrix, lost: Matrix
) -> Matrix | None:
    """Lost clusters are halves of others that are hardly tied; None if none are.

    Where k-means cuts one group in two and takes two for one, turns join the halves.
    """
    total, found = sum(graphs[1:], graphs[0]), []
    for cluster in np.unique(labels):
        own = np.flatnonzero(labels == cluster)
        side = _sides(points[own])
        half = members(side, 2)
        ties = (half.T @ total[own][:, own] @ half).toarray()
        chance = ties.sum(axis=0).prod() / max(ties.sum(), 1.0)
        if min(side.sum(), (1 - side).sum()) >= FEWEST and ties[0, 1] < APART * chance:
            found.append((ties[0, 1] / chance, own[side == 1]))
    parted = labels.copy()
    for number, (_, own) in zip(lost, sorted(found, key=itemgetter(0)), strict=False):
        parted[own] = number
    return parted if found else None


def _sides(points: Matrix) -> Matrix:
    """0 or 1 by k-means, begun at both ends of the leading direction."""
    away = points - points.mean(axis=0)
    along = away @ np.linalg.svd(away, full_matrices=False)[2][0]
    ends = points[[along.argmin(), along.argmax()]]
    return np.asarray(quiet_fit(KMeans(2, init=ends, n_init=1), points).labels_)


def _left_out(points: Matrix, labels: Matrix) -> Matrix:
    """What discriminants fitted to every other point say of the rest."""
    found = np.empty_like(labels)
    former = np.zeros((labels.max() + 1, points.shape[1]))
    for start in (0, 1):
        own, others = slice(start, None, 2), slice(1 - start, None, 2)
        scores = discriminants(points[others], labels[others], former)
        found[own] = to_host(nearest(points[own], scores)[0])
    return found
