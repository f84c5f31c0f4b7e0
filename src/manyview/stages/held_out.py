"""What whole views say of every row, by fits to all other rows.

Neighbours tell where rows are dense, not on which side of a border a row lies: a fit
of the clusters to a view's features does. Here it is ridge regression of the
clusters' indicators, by itself for every view and for all of them side by side, which
hears what views say only together. A row's own label is taken out of its scores in
closed form (D. M. Allen: The relationship between variable selection and data
augmentation and a method for prediction. Technometrics 16, 1974): with it the scores
of many features would only repeat the labels. What scores are worth as logarithms of
odds is found by the likelihood of the labels, so a view of noise says nothing.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar

from manyview.arrays.linear import leading
from manyview.arrays.ops import (
    Array,
    Matrix,
    cast,
    in_float64,
    like,
    masked,
    namespace,
    to_host,
)
from manyview.engine.contract import Engine, Result, State, touches
from manyview.engine.threads import side_by_side
from manyview.stages import ridge
from manyview.stages.anchors import Features, block_features
from manyview.stages.sampling import Draw
from manyview.stages.scaling import hide_empty_rows
from manyview.views.views import Block

# Directions of a view: more gain a little (500 against 128 .003 NMI) and cost their
# square; fewer rows than that for each are fitted all the same, by their ridge.
MOST_DIRECTIONS, ROWS_PER_DIRECTION = 128, 4
MOST_TOGETHER = 512  # directions of all views side by side; their search takes the cube
# Ridge weights, in mean eigenvalues of the Gram: twice as many were level.
RIDGES = np.logspace(-3.0, 1.0, 5)
MOST_LEVERAGE = (
    0.999  # of a row on its own fit: what is left out is divided by the rest
)
# Weight of what views say one by one, and together, beside their neighbours. One
# alone was better on some sets (Scene-15 and CCV; multiview_mnist and MSRC-v5).
EACH, TOGETHER = 0.5, 0.5
# Rows that the worth of scores is found on, and the logarithms it is sought between.
ROWS_FOR_WORTH, WORTH = 2000, (-3.0, 6.0)


class Seen(NamedTuple):
    """What some rows are in one view: coordinates x = (kept − mean) directions.

    Rows `there` have the view; the others are zeros. Columns are principal ones.
    """

    points: Matrix
    there: Matrix
    mean: Matrix
    directions: Matrix


def see(
    block: Block, nodes: Matrix, features: Features, v: int, n_directions: int
) -> Seen:
    """Rows of a block along the leading directions of the view's kept features.

    Those that were reduced have lost their sizes, which are given back.
    """
    kept = in_float64(block_features(block, {}, features, v))
    kept = kept if len(nodes) == len(kept) else kept[like(nodes, kept)]
    xp, reduce = namespace(kept), features.reduces[v]
    sizes = xp.ones_like(kept[0, :])
    if reduce is not None:
        sizes = 1.0 / xp.linalg.vector_norm(cast(reduce, kept), axis=0)
    there = to_host(block.present)[nodes, v]
    rows = kept if there.all() else kept[like(np.flatnonzero(there), kept)]
    mean = xp.mean(rows, axis=0) if len(rows) else xp.zeros_like(sizes)
    points = (rows - mean) * sizes
    _, vectors = leading(points.T @ points, n_directions)
    found = np.zeros((len(there), vectors.shape[1]))
    found[there] = to_host(points @ vectors)
    return Seen(found, there, to_host(mean), to_host(sizes[:, None] * vectors))


class Sight(NamedTuple):
    """Along which directions to see the rows of every view, less these offsets."""

    features: Features
    directions: tuple[Array, ...]
    offsets: tuple[Array, ...]


@touches(reads=["Phi", "Psi"])
def see_step(block: Block, state: State, shared: Sight) -> Result:
    """The rows of a block in every view, zeros where they lack it."""
    found = []
    block = hide_empty_rows(block, shared.features.scalings)
    for v, directions in enumerate(shared.directions):
        phi = block_features(block, state, shared.features, v)
        x = phi @ cast(directions, phi) - cast(shared.offsets[v], phi)
        found.append(masked(x, block.there(v)))
    return Result(note=tuple(found))


def see_all(
    engine: Engine, drawn: Draw, features: Features, ridges: Sequence[ridge.Ridge]
) -> list[Seen]:
    """All rows in all views, in the order drawn, in one pass.

    The directions come of Grams that have been factored already.
    """
    wanted = min(MOST_DIRECTIONS, max(len(drawn.rows) // ROWS_PER_DIRECTION, 1))
    jobs = [partial(ridge.principal_directions, made, wanted) for made in ridges]
    directions = tuple(side_by_side(jobs))
    pairs = list(zip(ridges, directions, strict=True))
    offsets = tuple(made.mean @ own for made, own in pairs)
    sight = Sight(features, directions, offsets)
    _, notes = engine.run(see_step, sight, title="Seeing rows")
    present, seen = to_host(drawn.block.present), []
    for v, ((made, own), parts) in enumerate(
        zip(pairs, zip(*notes, strict=True), strict=True)
    ):
        points = to_host(in_float64(namespace(parts[0]).concat(parts)))[drawn.rows]
        seen.append(Seen(points, present[:, v], to_host(made.mean), to_host(own)))
    return seen


class Columns(NamedTuple):
    """Orthogonal columns of some rows, ready for fits by any labels.

    Attributes
    ----------
    points : array (n_there, d)
    there : array of bool (n_rows,)
    shrunk : array (n_ridges, d)
        One over the columns' squares and a ridge weight.
    leverage : array (n_there, n_ridges)
        What a row's own indicator counts for in its fit.
    """

    points: Matrix
    there: Matrix
    shrunk: Matrix
    leverage: Matrix


class Fit(NamedTuple):
    """Fits with one of the ridge weights, and what their scores are worth."""

    columns: Columns
    number: int
    worth: float = 1.0

    def scores(self, indicators: Matrix) -> Matrix:
        """Of every row (n_rows, n_clusters), by the fits to all others."""
        points, there, shrunk, leverage = self.columns
        away = indicators[there]
        away = away - away.mean(axis=0)
        held = leverage[:, self.number, None]
        left: Matrix = points @ (shrunk[self.number][:, None] * (points.T @ away))
        left -= held * away
        left *= self.worth / (1.0 - held)
        if there.all():
            return left
        found = np.zeros((len(there), indicators.shape[1]))
        found[there] = left
        return found


# Columns of every view and of all side by side, with the weights of their fits.
SeenColumns = Sequence[tuple[float, Columns]]


def in_columns(seen: Sequence[Seen], nodes: Matrix) -> SeenColumns:
    """Some of the rows in every view, and in all of them side by side; with weights.

    Labels play no part yet.
    """
    if any(len(nodes) < len(x.points) for x in seen):
        seen = [_turned(x, nodes) for x in seen]
    seen = [x for x in seen if x.points.any()]
    jobs: list[Callable[[], Columns]]
    jobs = [partial(_columns, x.points, x.there) for x in seen]
    weights = [EACH] * len(jobs)
    if len(seen) > 1:
        jobs.append(lambda: _columns(*_side_by_side(seen)))
        weights.append(TOGETHER)
    # The last takes longest.
    made = side_by_side(jobs[::-1])[::-1] if jobs else []
    return list(zip(weights, made, strict=True))


def _turned(x: Seen, nodes: Matrix) -> Seen:
    """Some of the rows, along directions of their own."""
    there, points = x.there[nodes], x.points[nodes]
    mean = points[there].mean(axis=0) if there.any() else 0.0
    points = np.where(there[:, None], points - mean, 0.0)
    _, vectors = leading(points.T @ points, points.shape[1])
    return x._replace(points=points @ vectors, there=there)


def held_out(
    columns: SeenColumns, labels: Matrix, n_clusters: int
) -> Callable[[Matrix], Matrix]:
    """A function of labels: what the views say of every row and cluster.

    How much the fits are shrunk and worth is found once, by these `labels`.
    """
    indicators = np.eye(n_clusters)[labels]
    jobs = [partial(_fitted, own, indicators) for _, own in columns]
    fits = side_by_side(jobs[::-1])[::-1] if jobs else []

    def said(labels: Matrix) -> Matrix:
        indicators = np.eye(n_clusters)[labels]
        total = np.zeros(indicators.shape)
        for (weight, _), fit in zip(columns, fits, strict=True):
            total += weight * fit.scores(indicators)
        return total

    return said


def _side_by_side(seen: Sequence[Seen]) -> tuple[Matrix, Matrix]:
    """All views' columns turned to be orthogonal, each view of the same size."""
    width = max(MOST_TOGETHER // len(seen), 1)
    parts = []
    for x in seen:
        points = x.points[:, :width]
        size = np.sqrt((points**2).sum() / np.count_nonzero(x.there))
        parts.append(points / size)
    points = np.concatenate(parts, axis=1)
    _, vectors = leading(points.T @ points, points.shape[1])
    return points @ vectors, np.logical_or.reduce([x.there for x in seen])


def _columns(points: Matrix, there: Matrix) -> Columns:
    points = points if there.all() else points[there]
    squares = points * points
    sizes = squares.sum(axis=0)
    shrunk = 1.0 / (sizes + RIDGES[:, None] * sizes.mean())
    leverage = np.minimum(squares @ shrunk.T + 1.0 / len(points), MOST_LEVERAGE)
    return Columns(points, there, shrunk, leverage)


def _fitted(columns: Columns, indicators: Matrix) -> Fit:
    """The fit whose ridge weight predicts left-out rows best."""
    points, there, shrunk, leverage = columns
    own = indicators[there]
    away = own - own.mean(axis=0)
    fits, errors = points.T @ away, []
    for own_shrunk, held in zip(shrunk, leverage.T, strict=True):
        gaps = points @ (own_shrunk[:, None] * fits) - away
        errors.append(float((np.sum(gaps**2, axis=1) / (1.0 - held) ** 2).sum()))
    best = Fit(columns, int(np.argmin(errors)))
    scores, cluster = best.scores(indicators)[there], own.argmax(axis=1)
    some = slice(0, ROWS_FOR_WORTH)
    return best._replace(worth=_worth(scores[some], cluster[some]))


def _worth(scores: Matrix, cluster: Matrix) -> float:
    """The factor by which a softmax of the scores makes the clusters likeliest."""
    gaps = scores - scores.max(axis=1, keepdims=True)
    own, buffer = gaps[np.arange(len(gaps)), cluster].mean(), np.empty_like(gaps)

    def unlikeliness(power: float) -> float:
        factor = np.exp(power)
        np.exp(np.multiply(gaps, factor, out=buffer), out=buffer)
        return float(np.log(buffer.sum(axis=1)).mean() - factor * own)

    found = minimize_scalar(
        unlikeliness, bounds=WORTH, method="bounded", options={"xatol": 0.05}
    )
    return float(np.exp(found.x))
