"""Clusters of many rows, told apart by linear discriminants of every view.

k-means in the embedding cuts large clusters and joins small ones, and listens most to
the view that shaped the embedding. So drawn rows are labelled once more by what every
view says of its own: Gaussian clusters with one covariance per view and shares of
their own, views independent given the cluster, in rounds of classification EM
(G. Celeux, G. Govaert: A classification EM algorithm for clustering and two stochastic
versions. Computational Statistics & Data Analysis 14, 1992). The round whose
labels tell most of neighbours across views (`stages.block_model`) is taken, if that is
more than was known: no view alone can bring it about. All rows follow by one more of
the method's rounds (`stages.rounds`), whose fits are the discriminants.
"""

from functools import partial
from typing import Any

import numpy as np

from manyview.arrays.linear import plus_diagonal
from manyview.arrays.ops import (
    Array,
    cast,
    in_float64,
    index_count,
    index_sum,
    like,
    masked,
    namespace,
    to_host,
)
from manyview.engine.threads import side_by_side
from manyview.kmeans.passes import Centres
from manyview.stages.anchors import Features
from manyview.stages.block_model import Graphs, filled, information
from manyview.stages.held_out import Seen, of_those
from manyview.stages.rounds import Round

# Of the covariance inside clusters towards a round one; .01 to .2 were level.
SHRINKAGE = 0.05
# Leading directions of a view's features: two per cluster, as in the embedding, and
# within these bounds; 64 at least in place of 32 were nearly level.
DIRECTIONS_PER_CLUSTER = 2
LEAST_DIRECTIONS, MOST_DIRECTIONS = 32, 160
ROWS_PER_DIRECTION = 10  # a covariance of more directions would be mostly noise
# Labels have as good as settled by then. To stop at the first round that tells no more
# than the one before was worse on generated clusters (mean ARI of six fits .207 against
# .237 more than without).
MOST_ROUNDS = 16
# What the best round must tell more, as a share, times the rows: of fewer rows it is
# chance (of 1,000 of CCV and Scene-15 .01 is, and their clusters get worse).
LEAST_GAIN = 20.0


def discriminants(
    points: Array, labels: Array, former: Array, squares: Array | None = None
) -> Centres:
    """Linear scores of the clusters: the least offset − 2 b·direction wins.

    They compare distances in the metric of the covariance that all clusters share;
    one without points keeps its `former` centre. The products of the columns of
    points about their mean, `squares`, may be known.
    """
    xp, points = namespace(points), in_float64(points)
    counts = index_count(labels, len(former))[:, None]
    means = index_sum(points, labels, len(former)) / xp.clip(counts, 1.0, None)
    means = xp.where(counts > 0, means, like(former, points))
    if squares is None:
        gaps = points - means[labels]
        spread = gaps.T @ gaps / max(len(points), 1)
    else:
        spread = (squares - (counts * means).T @ means) / max(len(points), 1)
    scale = float(xp.linalg.trace(spread)) / max(len(spread), 1) or 1.0
    spread = plus_diagonal((1.0 - SHRINKAGE) * spread, SHRINKAGE * scale)
    directions = xp.linalg.solve(spread, means.T).T
    return Centres(directions, xp.sum(means * directions, axis=1))


def tell_apart(
    features: Features,
    graphs: Graphs,
    views: list[Seen],
    labels: Array,
    n_clusters: int,
) -> Round | None:
    """A round that scores every row for every cluster; None where it tells no more.

    Rounds start from the labels of the graphs' rows, which are seen in the `views`, and
    have to tell more than these: labels that follow from scores as well, since those
    that rows were moved to repeat the neighbours they were moved by.
    """
    wanted = max(DIRECTIONS_PER_CLUSTER * n_clusters, LEAST_DIRECTIONS)
    n = min(wanted, MOST_DIRECTIONS, len(labels) // ROWS_PER_DIRECTION)
    if len(views) < 2 or n < 1:
        return None
    views = [
        x._replace(points=x.points[:, :n], directions=x.directions[:, :n])
        for x in views
    ]
    squares = side_by_side([partial(_products, x.points) for x in views], labels)
    known, own, best = information(graphs, labels, n_clusters)[1], labels, None
    known *= 1.0 + LEAST_GAIN / len(labels)
    for _ in range(MOST_ROUNDS):
        fits = _fit(views, squares, own, n_clusters)
        said = [partial(_said, *pair) for pair in zip(views, fits, strict=True)]
        scores: Any = sum(side_by_side(said, labels))
        former, own = own, scores.argmax(axis=1)
        fewer = filled(own, n_clusters) < filled(former, n_clusters)
        if fewer or bool((own == former).all()):
            break
        _, told = information(graphs, own, n_clusters)
        if told > known:
            known, best = told, fits
    return None if best is None else scoring_round(features, views, best)


def _fit(
    views: list[Seen], squares: list[Array], labels: Array, n_clusters: int
) -> list[tuple[Array, Array]]:
    """Log-likelihood of every cluster in every view, linear in the points.

    Shares of the clusters are a part of each view's, so that a row without a view
    is scored by the same rule. What all clusters have in common is left out.
    """
    xp, counts = namespace(labels), index_count(labels, n_clusters)
    shares = xp.log(xp.clip(counts, 0.5, None) / len(labels)) / len(views)

    def fitted(seen: Seen, known: Array) -> tuple[Array, Array]:
        former = np.zeros((n_clusters, seen.points.shape[1]))
        points, own = of_those(seen.points, seen.there), of_those(labels, seen.there)
        directions, offsets = discriminants(points, own, former, known)
        weights, constants = directions.T, shares - 0.5 * offsets
        weights = weights - weights.mean(axis=1, keepdims=True)
        return weights, constants - constants.mean()

    pairs = zip(views, squares, strict=True)
    return side_by_side([partial(fitted, *pair) for pair in pairs], labels)


def _products(points: Array) -> Array:
    """Products of the columns; in float64, as most of them is taken off later."""
    wide = in_float64(points)
    return wide.T @ wide


def _said(seen: Seen, fit: tuple[Array, Array]) -> Array:
    """The scores of every row and cluster in one view; 0 where the view is missing."""
    scores = seen.points @ cast(fit[0], seen.points) + fit[1]
    return masked(scores, None if seen.there.all() else seen.there)


def scoring_round(
    features: Features, views: list[Seen], fits: list[tuple[Array, Array]]
) -> Round:
    """A round that makes these scores, linear in the points, in place of B_bar."""
    used, offsets = [], []
    for seen, fit in zip(views, fits, strict=True):
        mean, *own = (to_host(x) for x in (seen.mean, seen.directions, *fit))
        used.append(own[0] @ own[1])
        offsets.append(mean @ used[-1] - own[2])
    how: dict[str, Any] = {"smooth": None, "beta": 0.0, "sums": "nobody"}
    how |= {"of_views": (1.0,) * len(views), "centre": False, "by_length": True}
    return Round(features, tuple(used), tuple(offsets), **how)
