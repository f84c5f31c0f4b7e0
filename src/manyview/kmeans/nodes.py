"""Labels by the nearest of many labelled points, for clusters that are no balls.

The points are the rows of the fit in the embedding. A row takes the label that its
nearest points weigh most for, each by the inverse of its squared distance: a row of
the fit, which lies on its own point, keeps its label.
"""

from typing import NamedTuple

import numpy as np

from manyview.arrays.ops import (
    Array,
    Matrix,
    cast,
    in_float64,
    like,
    namespace,
    nearest_points,
    row_norms,
    to_host,
)
from manyview.engine.contract import Engine, Result, State, touches
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
from manyview.views.views import Block

NEAREST = 10  # points that a new row asks: the usual number of neighbours
# Squared distances below this share of the rows' own are rounding: no distance at all.
ROUNDING = 1e-9


class Nodes(NamedTuple):
    """Points (n_points, k) of the embedding with their labels."""

    points: Matrix
    labels: Matrix


@touches(reads=[FIELD], writes=[LABELS])
def vote_step(block: Block, state: State, shared: Nodes) -> Result:
    """Label every row by its nearest nodes."""
    return Result(state={LABELS: nearest_label(state[FIELD], shared)})


@touches(reads=[FIELD], writes=[LABELS])
def known_step(block: Block, state: State, shared: Matrix) -> Result:
    """Give every row its own of all rows' labels."""
    own = shared[block.start : block.start + len(block)]
    return Result(state={LABELS: like(own.astype(np.int64), state[FIELD])})


def nearest_label(rows: Array, nodes: Nodes) -> Array:
    """The label that the nearest nodes of every row weigh most for."""
    rows = in_float64(rows)
    xp = namespace(rows)
    points = cast(nodes.points, rows)
    d, ids = nearest_points(rows, points, min(NEAREST, len(points)))
    least = ROUNDING * (row_norms(rows)[:, None] + ROUNDING)
    weights = 1.0 / xp.where(d > least, d, least)
    labels = like(nodes.labels, ids)[ids]
    same = cast(labels[:, :, None] == labels[:, None, :], weights)
    best = xp.argmax(xp.sum(same * weights[:, None, :], axis=2), axis=1)
    return xp.take_along_axis(labels, best[:, None], axis=1)[:, 0]


def label_rows(engine: Engine, centres: Centres, nodes: Nodes | Centres | None) -> None:
    """Give every row its label: its nearest nodes', or its nearest centre's.

    Scores of another metric (`stages.refining`) may stand in for the centres.
    """
    if isinstance(nodes, Nodes):
        engine.run(vote_step, nodes, title="Labels", views=False)
    else:
        scores = centres if nodes is None else nodes
        engine.run(assign_step, scores, title="Labels", views=False)


def keep_labels(
    engine: Engine, rows: Matrix, labels: Matrix, n_clusters: int
) -> tuple[Clustering, Nodes]:
    """The clustering of all rows by the labels of these, the drawn ones.

    Where all rows are drawn, each is its own nearest point: nothing is looked up.
    """
    points = np.asarray(to_host(pick(engine, FIELD, rows)))
    nodes = Nodes(points, labels)
    centres = euclidean(np.asarray(centroids(points, labels, n_clusters)))
    if len(rows) == engine.n_samples:
        own = np.asarray(labels)[np.argsort(rows)]
        engine.run(known_step, own, title="Labels", views=False)
    else:
        label_rows(engine, centres, nodes)
    return Clustering(centres, engine.read(LABELS), np.nan, 0), nodes
