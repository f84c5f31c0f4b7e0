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
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from manyview.arrays.linear import leading
from manyview.arrays.ops import Matrix, in_float64, to_host
from manyview.stages.anchors import Features, block_features
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
    """The rows along the leading directions of the view's kept features.

    Those that were reduced have lost their sizes, which are given back.
    """
    kept = to_host(in_float64(block_features(block, {}, features, v)))[nodes]
    reduce = features.reduces[v]
    sizes = np.ones(kept.shape[1])
    if reduce is not None:
        sizes = 1.0 / np.linalg.norm(to_host(reduce), axis=0)
    there = to_host(block.present)[nodes, v]
    mean = kept[there].mean(axis=0) if there.any() else np.zeros(kept.shape[1])
    points = np.where(there[:, None], kept - mean, 0.0) * sizes
    _, vectors = leading(points.T @ points, n_directions)
    return Seen(points @ vectors, there, mean, sizes[:, None] * vectors)


class Fit(NamedTuple):
    """Ridge fits of one kind of columns, ready for any labels of its rows.

    Attributes
    ----------
    points : array (n_there, d)
        Orthogonal columns of the rows that are there.
    there : array of bool (n_rows,)
    shrunk : array (d,)
        One over the columns' squares and the ridge weight.
    leverage : array (n_there,)
        What a row's own indicator counts for in its fit.
    worth : float
        What the scores are to be multiplied with.
    """

    points: Matrix
    there: Matrix
    shrunk: Matrix
    leverage: Matrix
    worth: float

    def scores(self, indicators: Matrix) -> Matrix:
        """Of every row (n_rows, n_clusters), by the fits to all others."""
        found = np.zeros((len(self.there), indicators.shape[1]))
        own = indicators[self.there]
        found[self.there] = self.worth * (self._left_out(own) - own.mean(axis=0))
        return found

    def _left_out(self, own: Matrix) -> Matrix:
        middle = own.mean(axis=0)
        fits = self.points.T @ (own - middle)
        fitted = self.points @ (self.shrunk[:, None] * fits) + middle
        leverage = self.leverage[:, None]
        return np.asarray((fitted - leverage * own) / (1.0 - leverage))


def held_out(
    seen: Sequence[Seen], labels: Matrix, n_clusters: int
) -> Callable[[Matrix], Matrix]:
    """A function of labels: what the views say of every row and cluster.

    How much the fits are shrunk and worth is found once, by these `labels`.
    """
    indicators = np.eye(n_clusters)[labels]
    seen = [x for x in seen if x.points.any()]
    fits = [(EACH, _fitted(x.points, x.there, indicators)) for x in seen]
    if len(seen) > 1:
        fits.append((TOGETHER, _fitted(*_side_by_side(seen), indicators)))

    def said(labels: Matrix) -> Matrix:
        indicators = np.eye(n_clusters)[labels]
        total = np.zeros(indicators.shape)
        for weight, fit in fits:
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


def _fitted(points: Matrix, there: Matrix, indicators: Matrix) -> Fit:
    """The fit whose ridge weight predicts left-out rows best."""
    points, own = points[there], indicators[there]
    squares, fits = (points**2).sum(axis=0), []
    for share in RIDGES:
        shrunk = 1.0 / (squares + share * squares.mean())
        leverage = np.minimum(points**2 @ shrunk + 1.0 / len(points), MOST_LEVERAGE)
        fits.append(Fit(points, there, shrunk, leverage, 1.0))
    errors = [float(((fit._left_out(own) - own) ** 2).sum()) for fit in fits]
    best = fits[int(np.argmin(errors))]
    scores, cluster = best.scores(indicators)[there], own.argmax(axis=1)
    some = slice(0, ROWS_FOR_WORTH)
    return best._replace(worth=_worth(scores[some], cluster[some]))


def _worth(scores: Matrix, cluster: Matrix) -> float:
    """The factor by which a softmax of the scores makes the clusters likeliest."""
    own = scores[np.arange(len(scores)), cluster]

    def unlikeliness(power: float) -> float:
        factor = np.exp(power)
        return float((logsumexp(factor * scores, axis=1) - factor * own).mean())

    found = minimize_scalar(
        unlikeliness, bounds=WORTH, method="bounded", options={"xatol": 0.05}
    )
    return float(np.exp(found.x))
