"""How strange every row is in every view: two passes to draw rows, one to compare.

Rows drawn by content stand for all. A row is far where its nearest drawn rows lie
farther away than these lie from their own nearest ones (the log of that ratio, as in
the local outlier factor of Breunig et al., SIGMOD 2000), and a view disagrees where the
nearest drawn rows are in other clusters than the row is. Both are counted in standard
deviations of the drawn rows themselves, so that views can be compared.
"""

from typing import Any, NamedTuple

import numpy as np

from manyview.arrays.ops import (
    Array,
    at_least_zero,
    cast,
    dense,
    in_float64,
    like,
    namespace,
    row_norms,
    smallest,
    squared_distances,
    to_host,
)
from manyview.engine.contract import Engine, Result, State, touches
from manyview.kmeans.passes import LABELS, pick
from manyview.stages.sampling import NEIGHBOURS, Draw, choose_scalings, draw
from manyview.stages.scaling import Scaling, apply_scaling, hide_empty_rows
from manyview.views.views import Block

Matrix = np.ndarray[Any, Any]

STRANGENESS = "strangeness"
# Rows that all are compared with: as many products as features of 1,000 anchors take.
DRAWN_ROWS = 1000
# The spread of ordinary rows is that of the nine tenths nearest to others, in standard
# deviations of a normal distribution: one strange row in ten does not widen it.
ORDINARY = 0.9
ORDINARY_DEVIATIONS = 1.2816
# A row counts as far beyond one deviation: the largest of many views' distances would
# else hide what views disagree on (planted rows of both kinds, benchmarks/outliers.py).
USUAL = 1.0
# Of the drawn rows' mean distance: nearer rows repeat each other but for rounding.
SAME_PLACE = 1e-3


class Reference(NamedTuple):
    """The drawn rows of one view, and what is usual among them.

    `near` is a drawn row's own mean distance to its neighbours; a pair is the value
    that is subtracted and the one that is divided by.
    """

    rows: Matrix
    points: Array
    labels: Matrix
    near: Matrix
    same: float
    far: tuple[float, float] = (0.0, 1.0)
    unlike: tuple[float, float] = (0.0, 1.0)


class References(NamedTuple):
    """Of every view in the engine's order; None where fewer than three rows have it."""

    scalings: tuple[Scaling, ...]
    views: tuple[Reference | None, ...]


def measure_strangeness(engine: Engine, scaling: Any, n_clusters: int) -> Matrix:
    """(n_samples, 2, n_views): how far, and how unlike its cluster, every row is.

    The rows' clusters are in the engine's state; NaN stands for a missing view.
    """
    drawn = draw(engine, min(DRAWN_ROWS, engine.n_samples), 0)
    scalings = choose_scalings(drawn, scaling, n_clusters)
    drawn = drawn.without_empty_rows(scalings)
    labels = to_host(pick(engine, LABELS, drawn.rows))
    parts = [refer(drawn, v, own, labels) for v, own in enumerate(scalings)]
    shared = References(tuple(scalings), tuple(parts))
    engine.run(strangeness_step, shared, title="Looking for outliers")
    found = to_host(engine.read(STRANGENESS))
    by_kind = found.reshape(len(found), 2, len(scalings))
    return np.asarray(by_kind[:, :, np.argsort(engine.view_order)], dtype=np.float64)


def refer(drawn: Draw, v: int, scaling: Scaling, labels: Matrix) -> Reference | None:
    """What is usual among the drawn rows that have the view."""
    there = np.flatnonzero(to_host(drawn.block.present)[:, v])
    if there.size < 3:
        return None
    points = dense(apply_scaling(drawn.view(v), scaling))
    d = squared_distances(points, points)
    every = like(np.arange(there.size), d)
    d[every, every] = np.inf
    near = to_host(_near(d)[0])
    same = SAME_PLACE * float(near.mean()) or 1.0
    plain = Reference(drawn.rows[there], points, labels[there], near, same)
    far, unlike = map(to_host, _compare(d, like(plain.labels, d), plain))
    middle, edge = np.quantile(far, [0.5, ORDINARY])
    # Where all drawn rows are alike, no row is far by rounding alone.
    spread = max(float(edge - middle) / ORDINARY_DEVIATIONS, SAME_PLACE)
    # One neighbour of ten is no less than two deviations: nobody is that sure.
    doubt = max(float(unlike.std()), 0.5 / NEIGHBOURS)
    return plain._replace(
        far=(float(middle), spread), unlike=(float(unlike.mean()), doubt)
    )


def _near(d: Array) -> tuple[Array, Array]:
    """Mean distance to, and numbers of, the nearest drawn rows."""
    k = min(NEIGHBOURS, int(d.shape[1]) - 1)
    squares, columns = smallest(d, k)
    return namespace(d).mean(in_float64(squares) ** 0.5, axis=1), columns


def _compare(d: Array, labels: Array, drawn: Reference) -> tuple[Array, Array]:
    """Log of the ratio of distances, and the share of neighbours elsewhere."""
    near, columns = _near(d)
    xp = namespace(near)
    theirs = xp.mean(cast(drawn.near, near)[columns], axis=1)
    far = xp.log((near + drawn.same) / (theirs + drawn.same))
    others = like(drawn.labels, labels)[columns] != labels[:, None]
    return far, xp.mean(in_float64(others), axis=1)


@touches(reads=[LABELS], writes=[STRANGENESS])
def strangeness_step(block: Block, state: State, shared: References) -> Result:
    """Deviations of every row from what is usual: (n_rows, 2 n_views)."""
    block = hide_empty_rows(block, shared.scalings)
    own = [
        _of_view(block, v, state[LABELS], shared.scalings[v], drawn)
        for v, drawn in enumerate(shared.views)
    ]
    columns = [pair[kind] for kind in (0, 1) for pair in own]
    return Result(state={STRANGENESS: namespace(columns[0]).stack(columns, axis=1)})


def _of_view(
    block: Block, v: int, labels: Array, scaling: Scaling, drawn: Reference | None
) -> list[Array]:
    """How far the rows are and how unlike, NaN where they lack the view."""
    x = apply_scaling(block.views[v], scaling)
    unknown = in_float64(row_norms(x)) * np.nan
    if drawn is None:
        return [unknown, unknown]
    d = squared_distances(x, drawn.points)
    # A row that was drawn is no neighbour of its own.
    inside = (drawn.rows >= block.start) & (drawn.rows < block.start + len(block))
    itself = (drawn.rows[inside] - block.start, np.flatnonzero(inside))
    d[tuple(like(i, d) for i in itself)] = np.inf
    far, unlike = _compare(d, like(labels, d), drawn)
    found = [
        at_least_zero((far - drawn.far[0]) / drawn.far[1] - USUAL),
        at_least_zero((unlike - drawn.unlike[0]) / drawn.unlike[1]),
    ]
    there = block.there(v)
    if there is None:
        return found
    xp = namespace(d)
    return [xp.where(like(there, d), values, unknown) for values in found]
