"""How well every row suits every cluster, from the clusters found and some labels.

Linear discriminants with one covariance (R. A. Fisher, 1936), shrunk as O. Ledoit and
M. Wolf do (2004), one for each kind of features; their probabilities are multiplied.
A cluster's mean is that of its labelled rows and, as if it were a few of these, that
of its other members: of the community which the labels match best in the first round,
of the rows that suit it after that. Where labels are few the members decide, where they
are many the labels do, and a wrong one is outvoted.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax
from sklearn.covariance import ledoit_wolf_shrinkage

from manyview.arrays.ops import index_sum

Matrix = np.ndarray[Any, Any]

# Rows that the members of a cluster count for in its mean where none is labelled, the
# number of labels that halves this, and rows they count for in the covariance, with
# the shrinkage of that part. All by judgement on the eleven sets of
# benchmarks/knowledge.py: 6 rows lost on 3Sources, 20 on Scene-15 and CCV.
ROWS_IN_MEAN = 10.0
HALF_AT = 5.0
ROWS_IN_SPREAD = 10.0
OWN_SHRINKAGE = 0.5
LEAST_SHRINKAGE = 0.02
# Added to every probability before they are multiplied: none is a veto.
NO_VETO = 1e-3
# One round trusts communities that may hold two classes: MSRC-v5 .86 in place of .94.
# More than three change little.
ROUNDS = 3
# What a row's neighbours count for, beside itself; 0.3 to 0.8 were level on the eleven
# sets, and 0.95 lost.
NEIGHBOURS = 0.5
SMOOTHINGS = 20  # by then what is left is below a millionth: 0.5²⁰


class Told(NamedTuple):
    """Places of labelled rows, with their clusters."""

    at: Matrix
    cluster: Matrix


def matched(communities: Matrix, told: Told, n_clusters: int) -> tuple[Matrix, Matrix]:
    """The cluster of every community (k,), and how far each cluster's is its own (k,).

    As many labelled rows as possible agree. The share of a community's labels that
    are the cluster's, squared: half a community is little help.
    """
    counts = np.zeros((n_clusters, n_clusters))
    np.add.at(counts, (communities[told.at], told.cluster), 1.0)
    # Where counts are level, numbers stay.
    own, cluster = linear_sum_assignment(-counts - 1e-6 * np.eye(n_clusters))
    trust = np.empty(n_clusters)
    trust[cluster] = (counts[own, cluster] + 1.0) / (counts[own].sum(axis=1) + 1.0)
    return cluster, trust**2


class Scores(NamedTuple):
    """Probabilities of all rows (n, k), and of the labelled ones without their labels.

    The latter (n_told, k) are what the other rows say of them.
    """

    of_all: Matrix
    of_told: Matrix


def class_scores(
    features: Sequence[Matrix],
    told: Told,
    communities: Matrix,
    n_clusters: int,
    near: sp.csr_array | None = None,
) -> Scores:
    """How well rows suit clusters, with what is told, in a few rounds.

    Parameters
    ----------
    features : arrays (n, d), one of each kind
    told : Told
        Labelled rows.
    communities : array (n,)
        Clusters found without labels, which the first round takes for those of rows.
    near : sparse (n, n), optional
        Neighbours of every row, with weights that sum to one: scores are smoothed
        along them after every round.
    """
    cluster, trust = matched(communities, told, n_clusters)
    members = np.eye(n_clusters)[cluster[communities]]
    for _ in range(ROUNDS):
        parts = [_discriminant(x, told, members, trust) for x in features if x.size]
        of_all, of_told = (_product(p) for p in zip(*parts, strict=True))
        start = of_all.copy()
        start[told.at] = 0.0
        np.add.at(start, (told.at, told.cluster), 1.0)  # copies may have several
        start /= start.sum(axis=1, keepdims=True)
        members, around = _smoothed(start, near)
        trust = np.ones(n_clusters)  # now they are the labels' own
    if near is not None:
        of_told = NEIGHBOURS * around[told.at] + (1 - NEIGHBOURS) * of_told
    return Scores(members, of_told)


def _smoothed(start: Matrix, near: sp.csr_array | None) -> tuple[Matrix, Matrix]:
    """Scores of rows with their neighbours', and those of the neighbours alone."""
    scores = around = start
    for _ in range(SMOOTHINGS if near is not None else 0):
        around = near @ scores
        scores = NEIGHBOURS * around + (1 - NEIGHBOURS) * start
    return scores, around


def _product(parts: Sequence[Matrix]) -> Matrix:
    logs = [np.log(p + NO_VETO) for p in parts]
    return np.asarray(softmax(np.mean(logs, axis=0), axis=1))


def _discriminant(
    X: Matrix, told: Told, members: Matrix, trust: Matrix
) -> tuple[Matrix, Matrix]:
    """Probabilities by one kind of features; `members` (n, k) as found so far."""
    k = len(trust)
    W = members.copy()
    W[told.at] = 0.0  # these count by themselves
    sizes = W.sum(axis=0)
    of_members = (W.T @ X) / np.maximum(sizes, np.finfo(float).tiny)[:, None]
    rows, own = X[told.at], told.cluster
    n_told, sums = np.bincount(own, minlength=k), index_sum(rows, own, k)
    weight = ROWS_IN_MEAN * trust * HALF_AT / (HALF_AT + n_told)
    weight = np.maximum(np.minimum(weight, sizes), 1e-6)  # a mean of none is 0
    total = sums + weight[:, None] * of_members
    means = total / (n_told + weight)[:, None]
    others = (total[own] - rows) / (n_told[own] - 1 + weight[own])[:, None]
    inside = rows - (sums / np.maximum(n_told, 1)[:, None])[own]
    n_free = len(own) - int((n_told > 0).sum())
    # Σ over rows and clusters of w (x − mean)(x − mean)ᵀ, per row.
    gaps = (X.T * W.sum(axis=1)) @ X - (of_members.T * sizes) @ of_members
    spread = cho_factor(_spread(inside, n_free, gaps / max(sizes.sum(), 1.0)))
    scores = _scores(X, means, spread)
    without = scores[told.at].copy()
    turned = cho_solve(spread, others.T).T
    places = np.arange(len(own))
    without[places, own] = ((rows - 0.5 * others) * turned).sum(axis=1)
    return softmax(scores, axis=1), softmax(without, axis=1)


def _scores(X: Matrix, means: Matrix, spread: Any) -> Matrix:
    turned = cho_solve(spread, means.T)
    return np.asarray(X @ turned - 0.5 * (means.T * turned).sum(axis=0))


def _spread(inside: Matrix, n_free: int, of_members: Matrix) -> Matrix:
    """Covariance inside clusters: of the labelled rows and of all members."""
    n_rows = n_free + ROWS_IN_SPREAD
    S = (inside.T @ inside + ROWS_IN_SPREAD * of_members) / n_rows
    shrunk = OWN_SHRINKAGE * ROWS_IN_SPREAD
    if n_free > 0:
        shrunk += n_free * ledoit_wolf_shrinkage(inside, assume_centered=True)
    share = max(shrunk / n_rows, LEAST_SHRINKAGE)
    scale = float(np.trace(S)) / len(S) or 1.0
    return np.asarray((1 - share) * S + share * scale * np.eye(len(S)))
