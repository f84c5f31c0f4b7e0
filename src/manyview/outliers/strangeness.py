"""How strange every row is in every view: two passes to draw rows, one to compare.

Rows drawn by content stand for all. A row is far where its nearest drawn rows lie
farther away than these lie from their own nearest ones (the log of that ratio, as in
the local outlier factor of Breunig et al., SIGMOD 2000). A view disagrees where the
nearest drawn rows are in other clusters than the row is, and is contradicted where
those that are nearest in the other views are far (`contradictions`). Angles say nothing
of how long a row is, and rows that fill all features point the same way however strange
they are: in views that are compared by angle, the size of a row counts as well. All are
counted in standard deviations of the drawn rows themselves, so that views can be
compared.
"""

from typing import Any, NamedTuple

import numpy as np

from manyview.arrays.ops import (
    Array,
    Matrix,
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
    unit_rows,
)
from manyview.engine.contract import Engine, Result, State, touches
from manyview.kmeans.passes import LABELS, pick
from manyview.outliers.contradictions import NOBODY, Beside, beside, contradiction
from manyview.stages.sampling import NEIGHBOURS, Draw, choose_scalings, draw
from manyview.stages.scaling import Scaling, apply_scaling, hide_empty_rows
from manyview.views.views import Block

STRANGENESS = "strangeness"
# Rows that all are compared with: as many products as features of 1,000 anchors take.
DRAWN_ROWS = 1000
# The spread of ordinary rows is that of the nine tenths nearest to others, in standard
# deviations of a normal distribution: one strange row in ten does not widen it.
ORDINARY = 0.9
ORDINARY_DEVIATIONS = 1.2816
# How far rows are, unlike their clusters, odd in size, and contradicted.
KINDS = 4
# A row counts as far, or of unusual size, beyond one deviation: the largest of many
# views' distances would else hide what views disagree on (planted rows of all kinds,
# benchmarks/outliers.py).
USUAL = 1.0
# Of the drawn rows' mean distance: nearer rows repeat each other but for rounding.
# Logarithms differ by no less, or rows that are all alike were far by rounding alone.
SAME_PLACE = 1e-3
TINY = float(np.finfo(np.float64).tiny)


class Usual(NamedTuple):
    """What is ordinary: the middle, and a standard deviation above and below it."""

    middle: float = 0.0
    above: float = 1.0
    below: float = np.inf  # nothing is too little


class Reference(NamedTuple):
    """The drawn rows of one view, and what is usual among them.

    `places` are those of the view's rows among all drawn ones, `near` is a drawn row's
    own mean distance to its neighbours. `sizes` are those of the length and of the
    spread over features, where the view is compared by angle.
    """

    rows: Matrix
    places: Matrix
    points: Array
    labels: Matrix
    near: Matrix
    same: float
    sizes: tuple[Usual, ...]
    far: Usual = Usual()
    unlike: Usual = Usual()
    beside: Beside | None = None
    apart: Usual = Usual()


class References(NamedTuple):
    """Of every view in the engine's order; None where fewer than three rows have it."""

    scalings: tuple[Scaling, ...]
    views: tuple[Reference | None, ...]


def measure_strangeness(engine: Engine, scaling: Any, n_clusters: int) -> Matrix:
    """(n_samples, KINDS, n_views): how far, unlike, odd in size and apart rows are.

    The rows' clusters are in the engine's state; NaN stands for a missing view.
    """
    drawn = draw(engine, min(DRAWN_ROWS, engine.n_samples), 0)
    scalings = choose_scalings(drawn, scaling, n_clusters)
    drawn = drawn.without_empty_rows(scalings)
    labels = to_host(pick(engine, LABELS, drawn.rows))
    parts = refer_to_views(drawn, tuple(scalings), labels)
    shared = References(tuple(scalings), tuple(parts))
    engine.run(strangeness_step, shared, title="Looking for outliers")
    found = to_host(engine.read(STRANGENESS))
    by_kind = found.reshape(len(found), KINDS, len(scalings))
    return np.asarray(by_kind[:, :, np.argsort(engine.view_order)], dtype=np.float64)


def refer_to_views(
    drawn: Draw, scalings: tuple[Scaling, ...], labels: Matrix
) -> list[Reference | None]:
    """What is usual among the drawn rows, in every view and between the views."""
    present = to_host(drawn.block.present)
    rows = [np.flatnonzero(own) for own in present.T]
    near = [np.full((len(present), NEIGHBOURS), NOBODY) for _ in rows]
    found: dict[int, tuple[Reference, Array]] = {}
    for v, there in enumerate(rows):
        if there.size >= 3:
            plain, squares, columns = refer(drawn, v, scalings[v], labels, there)
            near[v][there, : columns.shape[1]] = there[columns]
            found[v] = plain, squares
    references: list[Reference | None] = [None] * len(rows)
    for v, (plain, squares) in found.items():
        here = beside(rows[v], squares, near, v)
        others = [like(own[rows[v]], squares) for own in near]
        apart = to_host(contradiction(squares, others, v, here, plain.same))
        references[v] = plain._replace(beside=here, apart=_usual(apart))
    return references


def refer(
    drawn: Draw, v: int, scaling: Scaling, labels: Matrix, there: Matrix
) -> tuple[Reference, Array, Matrix]:
    """What is usual among the drawn rows of one view, their distances and nearest."""
    rows, sizes = _prepared(drawn.view(v), scaling)
    points = dense(rows)
    d = squared_distances(points, points)
    every = like(np.arange(there.size), d)
    d[every, every] = np.inf
    near, columns = map(to_host, _near(d))
    same = SAME_PLACE * float(near.mean()) or 1.0
    usual = tuple(_usual(to_host(s), both=i == 0) for i, s in enumerate(sizes))
    plain = Reference(
        drawn.rows[there], there, points, labels[there], near, same, usual
    )
    far, unlike = map(to_host, _compare(d, like(plain.labels, d), plain)[:2])
    # One neighbour of ten is no less than two deviations: nobody is that sure.
    doubt = max(float(unlike.std()), 0.5 / NEIGHBOURS)
    unsure = Usual(float(unlike.mean()), doubt)
    return plain._replace(far=_usual(far), unlike=unsure), d, columns


def _prepared(x: Array, scaling: Scaling) -> tuple[Array, list[Array]]:
    """The rows as they are compared, and logs of their sizes if that is by angle.

    The length first; then, unless the features are centred, over how many of them the
    row is spread: the sum of their sizes by the length.
    """
    if not scaling.unit:
        return apply_scaling(x, scaling), []
    x = apply_scaling(x, scaling._replace(unit=False))
    sizes = [0.5 * _log(row_norms(x))]
    if scaling.shift is None:
        total = abs(x).sum(axis=1)
        sizes.append(_log(total.ravel()) - sizes[0])
    return unit_rows(x), sizes


def _log(values: Array) -> Array:
    """Finite for 0 as well."""
    exact = in_float64(values)
    xp = namespace(exact)
    return xp.log(xp.clip(exact, TINY, None))


def _usual(values: Matrix, *, both: bool = False) -> Usual:
    """From the bulk of the values, above and (if `both`) below the middle."""
    low, middle, high = np.quantile(values, [1.0 - ORDINARY, 0.5, ORDINARY])
    up, down = (
        max(float(s) / ORDINARY_DEVIATIONS, SAME_PLACE)
        for s in (high - middle, middle - low)
    )
    return Usual(float(middle), up, down if both else np.inf)


def _beyond(values: Array, usual: Usual) -> Array:
    """Deviations beyond the usual one."""
    away = values - usual.middle
    xp = namespace(away)
    return at_least_zero(xp.maximum(away / usual.above, -away / usual.below) - USUAL)


def _near(d: Array) -> tuple[Array, Array]:
    """Mean distance to, and numbers of, the nearest drawn rows."""
    squares, columns = smallest(d, min(NEIGHBOURS, int(d.shape[1]) - 1))
    return namespace(d).mean(in_float64(squares) ** 0.5, axis=1), columns


def _compare(d: Array, labels: Array, drawn: Reference) -> tuple[Array, Array, Array]:
    """Log of the ratio of distances, share of neighbours elsewhere, the neighbours."""
    near, columns = _near(d)
    xp = namespace(near)
    theirs = xp.mean(cast(drawn.near, near)[columns], axis=1)
    far = xp.log((near + drawn.same) / (theirs + drawn.same))
    others = like(drawn.labels, labels)[columns] != labels[:, None]
    return far, xp.mean(in_float64(others), axis=1), columns


@touches(reads=[LABELS], writes=[STRANGENESS])
def strangeness_step(block: Block, state: State, shared: References) -> Result:
    """Deviations of every row from what is usual: (n_rows, KINDS · n_views).

    Distances are made twice, those of one view at a time: of all views at once they
    would take the room of as many.
    """
    block = hide_empty_rows(block, shared.scalings)
    own, near = [], []
    for v, drawn in enumerate(shared.views):
        parts, nearest = _of_view(block, v, state[LABELS], shared.scalings[v], drawn)
        own.append(parts)
        near.append(nearest)
    for v, drawn in enumerate(shared.views):
        own[v].append(_apart(block, v, shared.scalings[v], drawn, near, own[v][0]))
    columns = [parts[kind] for kind in range(KINDS) for parts in own]
    return Result(state={STRANGENESS: namespace(columns[0]).stack(columns, axis=1)})


def _of_view(
    block: Block, v: int, labels: Array, scaling: Scaling, drawn: Reference | None
) -> tuple[list[Array], Array]:
    """How far the rows are, how unlike and how odd in size; their nearest drawn rows.

    NaN, and nobody, without the view.
    """
    x, sizes = _prepared(block.views[v], scaling)
    unknown = in_float64(row_norms(x)) * np.nan
    if drawn is None:
        nobody = like(np.full((len(block), NEIGHBOURS), NOBODY), unknown)
        return [unknown, unknown, unknown], nobody
    d = _distances(block, x, drawn)
    far, unlike, columns = _compare(d, like(labels, d), drawn)
    unlike = (unlike - drawn.unlike.middle) / drawn.unlike.above
    odd = 0.0 * far
    for values, usual in zip(sizes, drawn.sizes, strict=True):
        odd = odd + _beyond(values, usual) ** 2
    found = [_beyond(far, drawn.far), at_least_zero(unlike), odd**0.5]
    near = like(drawn.places, columns)[columns]
    there = block.there(v)
    if there is None:
        return found, near
    xp, has = namespace(d), like(there, d)
    known = [xp.where(has, values, unknown) for values in found]
    return known, xp.where(has[:, None], near, 0 * near + NOBODY)


def _distances(block: Block, x: Array, drawn: Reference) -> Array:
    """Squared distances to the drawn rows; one of these is no neighbour of its own."""
    d = squared_distances(x, drawn.points)
    inside = (drawn.rows >= block.start) & (drawn.rows < block.start + len(block))
    itself = (drawn.rows[inside] - block.start, np.flatnonzero(inside))
    d[tuple(like(i, d) for i in itself)] = np.inf
    return d


def _apart(
    block: Block,
    v: int,
    scaling: Scaling,
    drawn: Reference | None,
    near: list[Array],
    known: Array,
) -> Array:
    """How far, in this view, neighbours in the others are; NaN where rows lack it."""
    if drawn is None or drawn.beside is None:
        return known
    d = _distances(block, _prepared(block.views[v], scaling)[0], drawn)
    apart = contradiction(d, near, v, drawn.beside, drawn.same)
    return _beyond(apart, drawn.apart) + 0.0 * known
