"""What whole views say of every row, by fits to all other rows.

Neighbours tell where rows are dense, not on which side of a border a row lies: a fit
of the clusters to a view's features does. Here it is ridge regression of the
clusters' indicators, by itself for every view and for all of them side by side, which
hears what views say only together. Both are done on the features of the anchors,
which tell regions apart, and on the prepared views, which tell directions apart. A
row's own label is taken out of its scores in closed form (D. M. Allen: The
relationship between variable selection and data augmentation and a method for
prediction. Technometrics 16, 1974): with it the scores of many features would only
repeat the labels. What scores are worth as logarithms of odds is found by the
likelihood of the labels, so a view of noise says nothing.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array
from scipy.optimize import minimize_scalar

from manyview.arrays.linear import leading, one_hot
from manyview.arrays.ops import (
    Array,
    Matrix,
    cast,
    exp_of,
    in_float64,
    like,
    masked,
    namespace,
    to_host,
)
from manyview.engine.contract import Engine, Result, State, cut, touches
from manyview.engine.threads import side_by_side
from manyview.stages import ridge
from manyview.stages.anchors import Features, block_features
from manyview.stages.sampling import Draw
from manyview.stages.scaling import hide_empty_rows
from manyview.views.views import Block

# Directions of a view: more gain a little (500 against 128 .003 NMI) and cost their
# square; fewer rows than that for each are fitted all the same, by their ridge.
MOST_DIRECTIONS, ROWS_PER_DIRECTION = 128, 4
# Of the views themselves 32 to 128 were level.
MOST_STRAIGHT = 64
# Columns whose products are made; of wider views those of so many rows.
MOST_PRODUCTS = 512
MOST_TOGETHER = 512  # directions of all views side by side; their search takes the cube
LEVEL = 1e-3  # of such directions, by size: which is first rounding would decide
# Ridge weights, in mean eigenvalues of the Gram: twice as many were level.
RIDGES = np.logspace(-3.0, 1.0, 5)
MOST_LEVERAGE = 0.999  # of a row on its own fit: the rest divides what is left out
# Weight of what views say one by one, and together, beside their neighbours. One
# alone was better on some sets (Scene-15 and CCV; multiview_mnist and MSRC-v5).
EACH, TOGETHER = 0.5, 0.5
ROWS_FITTED = 512  # at a time, with all weights: what they give stays in the cache
# Rows that the worth of scores is found on, and the logarithms it is sought between.
ROWS_FOR_WORTH, WORTH = 2000, (-3.0, 6.0)


class Seen(NamedTuple):
    """What some rows are in one view: coordinates x = (kept − mean) directions.

    Rows `there` have the view; the others are zeros. Columns are principal ones.
    """

    points: Array
    there: Matrix
    mean: Array
    directions: Array


def of_those(rows: Array, there: Matrix) -> Array:
    """The rows that are there."""
    return rows if there.all() else rows[like(np.flatnonzero(there), rows)]


def among_all(rows: Array, there: Matrix) -> Array:
    """Rows in their places among all; the others are zeros."""
    if there.all():
        return rows
    shape, xp = (len(there), rows.shape[1]), namespace(rows)
    found = xp.zeros(shape, dtype=rows.dtype, device=rows.device)
    found[like(np.flatnonzero(there), rows)] = rows
    return found


def principal(points: Array, n_directions: int) -> Array:
    """Leading directions of centred points, from their products in their own type."""
    return leading(in_float64(points.T @ points), n_directions)[1]


def see_straight(rows: Any, there: Matrix, n_directions: int) -> Seen:
    """The prepared rows of a view, dense or sparse, along their leading directions."""
    own, width = rows[np.flatnonzero(there)], rows.shape[1]
    mean, vectors = np.zeros(width), np.zeros((width, 0))
    if own.shape[0]:
        mean = np.asarray(own.mean(axis=0, dtype=np.float64)).ravel()
        vectors = _directions(own, mean, n_directions)
    points = np.zeros((len(there), vectors.shape[1]), rows.dtype)
    if not points.size:
        return Seen(points, there, mean, vectors)
    points[there] = own @ vectors.astype(rows.dtype) - (mean @ vectors)
    turn = principal(points, points.shape[1])
    return Seen(points @ cast(turn, points), there, mean, vectors @ turn)


def _directions(rows: Any, mean: Matrix, n_directions: int) -> Matrix:
    """Leading directions about the mean; those of some rows where columns are many."""
    if len(mean) <= min(rows.shape[0], MOST_PRODUCTS):
        gram = np.zeros((len(mean), len(mean)))
        for x in _parts(rows):
            away = (x.toarray() if sp.issparse(x) else x) - mean.astype(x.dtype)
            gram += away.T @ away
        return np.asarray(leading(gram, n_directions)[1])
    some = in_float64(next(_parts(rows)))
    products = some @ some.T
    products = products.toarray() if sp.issparse(products) else products
    middle = products.mean(axis=0)
    products = products - middle - middle[:, None] + middle.mean()
    values, vectors = leading(products, n_directions)
    return np.asarray(some.T @ vectors) / np.sqrt(values)


def _parts(rows: Any) -> Iterator[Any]:
    """Some rows at a time, on a device all of them."""
    step = max(rows.shape[0], 1) if is_torch_array(rows) else MOST_PRODUCTS
    return (rows[start : start + step] for start in range(0, rows.shape[0], step))


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
    sight = Sight(features, directions, tuple(made.mean @ own for made, own in pairs))
    _, notes = engine.run(see_step, sight, title="Seeing rows")
    present, seen = to_host(drawn.block.present), []
    for v, ((made, own), parts) in enumerate(
        zip(pairs, zip(*notes, strict=True), strict=True)
    ):
        points = to_host(namespace(parts[0]).concat(parts))[drawn.rows]
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
    turns : dict of arrays (d_v, d)
        How the columns of the views they are made of become these.
    """

    points: Array
    there: Matrix
    shrunk: Array
    leverage: Array
    turns: dict[int, Array]


class Fit(NamedTuple):
    """Fits with one of the ridge weights, and what their scores are worth."""

    columns: Columns
    number: int
    worth: float = 1.0

    def scores(self, indicators: Array) -> Array:
        """Of every row (n_rows, n_clusters), by the fits to all others."""
        points, there, shrunk, leverage, _ = self.columns
        away = _away(of_those(indicators, there), points)
        weights = shrunk[self.number, :][:, None] * (points.T @ away)
        left = _left_out(points, weights, leverage[:, self.number], away, self.worth)
        return left if there.all() else among_all(in_float64(left), there)

    def heard(self, indicators: Array) -> Self:
        """The same, worth what some of these left-out rows tell."""
        there, some = self.columns.there, slice(0, ROWS_FOR_WORTH)
        pair = self.scores(indicators), indicators
        scores, own = (of_those(x, there)[some] for x in pair)
        more = _worth(scores, own.argmax(axis=1))
        return self._replace(worth=self.worth * more)

    def weights(self, indicators: Array) -> Array:
        """Of the columns for every cluster: what scores rows that are not fitted to."""
        points, there, shrunk, *_ = self.columns
        fits = points.T @ _away(of_those(indicators, there), points)
        return self.worth * shrunk[self.number, :][:, None] * fits


class HeldOut(NamedTuple):
    """What views say of rows: weighed fits to several kinds of columns."""

    fits: list[tuple[float, Fit]]
    n_clusters: int

    def heard(self, labels: Array) -> Self:
        """The same fits to other labels, worth what these tell."""
        indicators = one_hot(labels, self.n_clusters)
        jobs = [partial(fit.heard, indicators) for _, fit in self.fits]
        heard = side_by_side(jobs, labels)
        pairs = zip(self.fits, heard, strict=True)
        return self._replace(fits=[(weight, fit) for (weight, _), fit in pairs])

    def scores(self, labels: Array) -> Array:
        """Of every row and cluster (n_rows, n_clusters), by fits to all other rows."""
        indicators = one_hot(labels, self.n_clusters)
        total = namespace(labels).zeros_like(indicators)
        jobs = [partial(fit.scores, indicators) for _, fit in self.fits]
        said = side_by_side(jobs, labels)
        for (weight, _), own in zip(self.fits, said, strict=True):
            total += weight * own
        return total

    def weights(self, labels: Array, views: Sequence[Seen]) -> list[Array]:
        """Of the points of every view for every cluster, by fits to all rows."""
        indicators = one_hot(labels, self.n_clusters)
        shapes = [(x.points.shape[1], self.n_clusters) for x in views]
        found = [like(np.zeros(shape), labels) for shape in shapes]
        for weight, fit in self.fits:
            own = weight * fit.weights(indicators)
            for v, turn in fit.columns.turns.items():
                found[v][: len(turn)] += turn @ own
        return found


# Columns of every view and of all side by side, with the weights of their fits.
SeenColumns = Sequence[tuple[float, Columns]]


def in_columns(kinds: Sequence[Sequence[Seen]], nodes: Matrix) -> SeenColumns:
    """Some of the rows in every view, and in all of them side by side; with weights.

    Views may be seen in several ways, which weigh the same. Labels play no part yet.
    """
    jobs: list[Callable[[], Columns]] = []
    weights: list[float] = []
    for views in kinds:
        some = [_turned(x, nodes) if len(nodes) < len(x.points) else x for x in views]
        seen = {v: x for v, x in enumerate(some) if x.points.any()}
        for v, x in seen.items():
            turns = {v: like(np.eye(x.points.shape[1]), x.points)}
            jobs.append(partial(_columns, x.points, x.there, turns))
            weights.append(EACH / len(kinds))
        if len(seen) > 1:
            jobs.append(partial(_side_by_side, seen))
            weights.append(TOGETHER / len(kinds))
    # The last take longest.
    where = kinds[0][0].points
    made = side_by_side(jobs[::-1], where)[::-1] if jobs else []
    return list(zip(weights, made, strict=True))


def _turned(x: Seen, nodes: Matrix) -> Seen:
    """Some of the rows, along directions of their own."""
    there, points = x.there[nodes], x.points[nodes]
    if not points.size:
        return x._replace(points=points, there=there)
    mean = points[there].mean(axis=0) if there.any() else 0.0
    points = np.where(there[:, None], points - mean, 0.0)
    vectors = principal(points, points.shape[1])
    return x._replace(points=points @ cast(vectors, points), there=there)


def held_out(columns: SeenColumns, labels: Array, n_clusters: int) -> HeldOut:
    """Fits to these columns, shrunk and worth as the labels tell."""
    indicators = one_hot(labels, n_clusters)
    jobs = [partial(_fitted, own, indicators) for _, own in columns]
    fits = side_by_side(jobs[::-1], labels)[::-1] if jobs else []
    weights = [weight for weight, _ in columns]
    return HeldOut(list(zip(weights, fits, strict=True)), n_clusters)


def _side_by_side(seen: dict[int, Seen]) -> Columns:
    """All views' points turned to be orthogonal, each view of the same size."""
    width = max(MOST_TOGETHER // len(seen), 1)
    parts, sizes = [], []
    for x in seen.values():
        points = _cut_at_a_gap(x.points, width)
        square = namespace(points).einsum("ij,ij->", points, points)
        sizes.append(math.sqrt(square / np.count_nonzero(x.there)))
        parts.append(points / sizes[-1])
    points = namespace(*parts).concat(parts, axis=1)
    vectors = principal(points, points.shape[1])
    ends = pairwise(np.cumsum([0, *(part.shape[1] for part in parts)]))
    own = zip(seen, ends, sizes, strict=True)
    turns = {v: vectors[first:end] / size for v, (first, end), size in own}
    there = np.logical_or.reduce([x.there for x in seen.values()])
    return _columns(points @ cast(vectors, points), there, turns)


def _cut_at_a_gap(points: Array, width: int) -> Array:
    """The longest columns, without those that are level with the longest left out."""
    if points.shape[1] <= width:
        return points
    sizes = namespace(points).einsum("ij,ij->j", points, points)
    apart = int((sizes[:width] > (1.0 + LEVEL) * sizes[width]).sum())
    return points[:, : apart or width]


def _columns(points: Array, there: Matrix, turns: dict[int, Array]) -> Columns:
    points, xp = of_those(points, there), namespace(points)
    sizes = xp.einsum("ij,ij->j", points, points)
    shrunk = 1.0 / (sizes + like(RIDGES, points)[:, None] * sizes.mean())
    parts = [(x * x) @ cast(shrunk.T, points) for x in _parts(points)]
    leverage = xp.clip(xp.concat(parts) + 1.0 / len(points), None, MOST_LEVERAGE)
    return Columns(points, there, shrunk, leverage, turns)


def _fitted(columns: Columns, indicators: Array) -> Fit:
    """The fit whose ridge weight predicts left-out rows best."""
    points, there, shrunk, leverage, _ = columns
    own, xp = of_those(indicators, there), namespace(points)
    away = _away(own, points)
    # Times each of the weights, side by side: the points are read once for all.
    weights = shrunk[:, :, None] * (points.T @ away)
    beside = cast(xp.concat(list(weights), axis=1), points)
    errors = xp.zeros_like(shrunk[:, 0])
    step = len(points) if is_torch_array(points) else ROWS_FITTED
    for some in cut(len(points), step):
        gaps = (points[some] @ beside).reshape((-1, len(shrunk), own.shape[1]))
        gaps -= away[some][:, None, :]
        squares = xp.einsum("ijk,ijk->ij", gaps, gaps)
        errors += (squares / (1.0 - leverage[some]) ** 2).sum(axis=0)
    best, some = int(errors.argmin()), slice(0, ROWS_FOR_WORTH)
    held = leverage[some, best]
    scores = _left_out(points[some], weights[best, :, :], held, away[some])
    return Fit(columns, best, _worth(scores, own[some].argmax(axis=1)))


def _away(indicators: Array, points: Array) -> Array:
    """Indicators about their mean, in the type of the points."""
    return cast(indicators - indicators.mean(axis=0), points)


def _left_out(
    points: Array, weights: Array, held: Array, away: Array, worth: float = 1.0
) -> Array:
    """What a fit says of its rows, times its worth, as if each were left out."""
    left = points @ cast(weights, points)
    left -= held[:, None] * away
    left *= worth / (1.0 - held[:, None])
    return left


def _worth(scores: Array, cluster: Array) -> float:
    """The factor by which a softmax of the scores makes the clusters likeliest."""
    xp = namespace(scores)
    gaps = scores - xp.max(scores, axis=1, keepdims=True)
    own = xp.take_along_axis(gaps, cluster[:, None], axis=1)[:, 0].mean()

    def unlikeliness(power: float) -> float:
        factor = math.exp(power)
        sums = xp.sum(exp_of(gaps, factor), axis=1)
        return float(xp.log(sums).mean() - factor * own)

    found = minimize_scalar(
        unlikeliness, bounds=WORTH, method="bounded", options={"xatol": 0.05}
    )
    return float(np.exp(found.x))
