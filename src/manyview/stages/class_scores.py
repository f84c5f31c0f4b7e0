"""How well every row suits every cluster, from the clusters found and some labels.

Linear discriminants with one covariance (R. A. Fisher, 1936), shrunk as O. Ledoit and
M. Wolf do (2004), one for each kind of features; their probabilities are multiplied,
and with what the labels say of the clusters found. A cluster's mean is that of its
labelled rows and, as if it were a few of these, that of its other members: of the
cluster found which the labels match best in the first round, of the rows that suit it
after that. Where labels are few the members decide, where they are many the labels do,
and a wrong one is outvoted.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax
from sklearn.covariance import ledoit_wolf_shrinkage

from manyview.arrays.ops import Matrix, index_sum

# Rows that the members of a cluster count for in its mean where none is labelled, the
# number of labels that halves this, and rows they count for in the covariance, with
# the shrinkage of that part. All by judgement on the eleven sets of
# benchmarks/knowledge.py: 6 rows lost on 3Sources, 20 on Scene-15 and CCV. Kinds of
# features that only labels make sense of come in as members go.
ROWS_IN_MEAN = 10.0
HALF_AT = 5.0
ROWS_IN_SPREAD = 10.0
OWN_SHRINKAGE = 0.5
LEAST_SHRINKAGE = 0.02
# Added to every probability before they are multiplied: none is a veto.
NO_VETO = 1e-3
# The power in which the clusters found count, labels that what all of them say counts
# for in each, and what is added there. Of powers 0.1 to 0.4 small ones lost on
# 3Sources and ProteinFold, large ones on Scene-15 and MSRC-v5.
FOUND_POWER = 0.2
LABELS_OF_ALL = 3.0
NO_VETO_OF_FOUND = 1e-2
# One round trusts clusters that may hold two classes. Later ones even out the sizes:
# MSRC-v5 gains by that and 3Sources loses, less where members are sharpened. Powers
# 1, 1.25 and 2: MSRC-v5 .94, .93, .88 and 3Sources .88, .92, .94.
ROUNDS = 4
SHARPER = 1.25
# What a row's neighbours count for, beside itself; 0.3 to 0.8 were level on the eleven
# sets, and 0.95 lost.
NEIGHBOURS = 0.5
SMOOTHINGS = 20  # by then what is left is below a millionth: 0.5²⁰


class Told(NamedTuple):
    """Places of labelled rows, with their clusters."""

    at: Matrix
    cluster: Matrix


class Matched(NamedTuple):
    """What labels (k, k) each cluster found has, and the cluster it is the best for.

    `trust` (k,) is how far each cluster's match is its own: the share of the labels
    there that are the cluster's, squared. Half a cluster is little help.
    """

    counts: Matrix
    cluster: Matrix
    trust: Matrix


def matched(found: Matrix, told: Told) -> Matched:
    """The match in which as many labelled rows as possible agree.

    `found` (n, k) holds the share that each row has in each cluster found.
    """
    k = found.shape[1]
    counts = np.asarray(index_sum(found[told.at], told.cluster, k)).T
    # Where counts are level, numbers stay.
    own, cluster = linear_sum_assignment(-counts - 1e-6 * np.eye(k))
    trust = np.empty(k)
    trust[cluster] = (counts[own, cluster] + 1.0) / (counts[own].sum(axis=1) + 1.0)
    return Matched(counts, cluster, trust**2)


class Scores(NamedTuple):
    """Probabilities of all rows (n, k), and of the labelled ones without their labels.

    The latter (n_told, k) are what the other rows say of them.
    """

    of_all: Matrix
    of_told: Matrix


def class_scores(
    features: Sequence[Matrix],
    told: Told,
    found: Matrix,
    near: sp.csr_array | None = None,
    with_labels: Sequence[Matrix] = (),
) -> Scores:
    """How well rows suit clusters, with what is told, in a few rounds.

    Parameters
    ----------
    features : arrays (n, d), one of each kind
    told : Told
        Labelled rows.
    found : array (n, k)
        Clusters found without labels: the share that each row has in each.
    near : sparse (n, n), optional
        Neighbours of every row, with weights that sum to one: scores are smoothed
        along them after every round.
    with_labels : arrays (n, d)
        Kinds that count for the less, the fewer labels there are.
    """
    match, k = matched(found, told), found.shape[1]
    per_cluster = len(told.at) / k
    late = per_cluster / (per_cluster + HALF_AT)
    pairs = [(x, 1.0) for x in features] + [(x, late) for x in with_labels]
    kinds = [(x, weight) for x, weight in pairs if x.size and weight > 0]
    weights = [weight for _, weight in kinds]
    by_found = _by_found(found, told, match)
    members = np.empty_like(found)
    members[:, match.cluster] = found
    trust = match.trust
    for _ in range(ROUNDS):
        parts = [_discriminant(x, told, members, trust) for x, _ in kinds]
        both = zip(zip(*parts, strict=True), by_found, strict=True)
        of_all, of_told = (_product(part, weights, own) for part, own in both)
        start = of_all.copy()
        start[told.at] = 0.0
        np.add.at(start, (told.at, told.cluster), 1.0)  # copies may have several
        start /= start.sum(axis=1, keepdims=True)
        scores, around = _smoothed(start, near)
        members = scores**SHARPER
        members /= members.sum(axis=1, keepdims=True)
        trust = np.ones(k)  # now they are the labels' own
    if near is not None:
        of_told = NEIGHBOURS * around[told.at] + (1 - NEIGHBOURS) * of_told
    return Scores(scores, of_told)


def _by_found(found: Matrix, told: Told, match: Matched) -> Scores:
    """Chances of the labels in each cluster found; of labelled rows by the others."""
    k = len(match.cluster)
    hits = match.counts[np.arange(k), match.cluster].sum()
    right = (hits + 1.0) / (len(told.at) + 1.0)
    prior = np.full((k, k), (1.0 - right) / k)
    prior[np.arange(k), match.cluster] += right
    counts = match.counts + LABELS_OF_ALL * prior
    own = found[told.at]
    n_labels = counts.sum(axis=1)
    without = own / (n_labels - own)
    of_told = without @ counts
    of_told[np.arange(len(own)), told.cluster] -= (without * own).sum(axis=1)
    return Scores(found @ (counts / n_labels[:, None]), of_told)


def _smoothed(start: Matrix, near: sp.csr_array | None) -> tuple[Matrix, Matrix]:
    """Scores of rows with their neighbours', and those of the neighbours alone."""
    scores = around = start
    for _ in range(SMOOTHINGS if near is not None else 0):
        around = near @ scores
        scores = NEIGHBOURS * around + (1 - NEIGHBOURS) * start
    return scores, around


def _product(parts: Sequence[Matrix], weights: Sequence[float], own: Matrix) -> Matrix:
    """The parts' product in which powers sum to one, times that of the clusters."""
    mean = np.average([np.log(p + NO_VETO) for p in parts], axis=0, weights=weights)
    found = FOUND_POWER * np.log(own + NO_VETO_OF_FOUND)
    return np.asarray(softmax(mean + found, axis=1))


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
