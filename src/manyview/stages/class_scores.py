"""How well every row suits every cluster, from the clusters found and some labels.

Linear discriminants with one covariance (R. A. Fisher, 1936), shrunk as O. Ledoit and
M. Wolf do (2004), one for each kind of features; their probabilities are multiplied.
A cluster's mean is that of its labelled rows and, as if it were a few of these, that
of the community which the labels match best: where labels are few the communities
decide, where they are many the labels do, and a wrong one is outvoted.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax
from sklearn.covariance import ledoit_wolf_shrinkage

Matrix = np.ndarray[Any, Any]

# Rows that a community counts for in its mean and in the covariance, and the shrinkage
# of the latter's own part. All by judgement on the eleven sets of
# benchmarks/knowledge.py, where 3 to 10 and 10 to 100 rows were level.
ROWS_IN_MEAN = 5.0
ROWS_IN_SPREAD = 10.0
OWN_SHRINKAGE = 0.5
LEAST_SHRINKAGE = 0.02
# Added to every probability before they are multiplied: none is a veto.
NO_VETO = 1e-3


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


def class_scores(
    features: Sequence[Matrix], told: Told, communities: Matrix, n_clusters: int
) -> tuple[Matrix, Matrix]:
    """Probabilities of all rows (n, k), and of the labelled ones without their labels.

    The latter (n_told, k) are what the other rows say of them.
    """
    cluster, trust = matched(communities, told, n_clusters)
    first = cluster[communities]
    parts = [_discriminant(x, told, first, trust) for x in features]
    of_all, of_told = zip(*parts, strict=True)
    return _product(of_all), _product(of_told)


def _product(parts: Sequence[Matrix]) -> Matrix:
    logs = [np.log(p + NO_VETO) for p in parts]
    return np.asarray(softmax(np.mean(logs, axis=0), axis=1))


def _discriminant(
    X: Matrix, told: Told, first: Matrix, trust: Matrix
) -> tuple[Matrix, Matrix]:
    """Probabilities by one kind of features; `first` are clusters by community."""
    k = len(trust)
    sizes = np.bincount(first, minlength=k)
    of_community = _sums(X, first, k) / np.maximum(sizes, 1)[:, None]
    weight = np.maximum(ROWS_IN_MEAN * trust * (sizes > 0), 1e-6)
    rows, own = X[told.at], told.cluster
    n_told, sums = np.bincount(own, minlength=k), _sums(rows, own, k)
    total = sums + weight[:, None] * of_community
    means = total / (n_told + weight)[:, None]
    others = (total[own] - rows) / (n_told[own] - 1 + weight[own])[:, None]
    inside = rows - (sums / np.maximum(n_told, 1)[:, None])[own]
    n_free = len(own) - int((n_told > 0).sum())
    spread = cho_factor(_spread(inside, n_free, X - of_community[first]))
    scores = _scores(X, means, spread)
    without = scores[told.at].copy()
    turned = cho_solve(spread, others.T).T
    places = np.arange(len(own))
    without[places, own] = ((rows - 0.5 * others) * turned).sum(axis=1)
    return softmax(scores, axis=1), softmax(without, axis=1)


def _sums(X: Matrix, cluster: Matrix, k: int) -> Matrix:
    sums = np.zeros((k, X.shape[1]))
    np.add.at(sums, cluster, X)
    return sums


def _scores(X: Matrix, means: Matrix, spread: Any) -> Matrix:
    turned = cho_solve(spread, means.T)
    return np.asarray(X @ turned - 0.5 * (means.T * turned).sum(axis=0))


def _spread(inside: Matrix, n_free: int, gaps: Matrix) -> Matrix:
    """Covariance inside clusters: of the labelled rows and of the communities."""
    n_rows = n_free + ROWS_IN_SPREAD
    S = (inside.T @ inside + ROWS_IN_SPREAD * (gaps.T @ gaps) / len(gaps)) / n_rows
    shrunk = OWN_SHRINKAGE * ROWS_IN_SPREAD
    if n_free > 0:
        shrunk += n_free * ledoit_wolf_shrinkage(inside, assume_centered=True)
    share = max(shrunk / n_rows, LEAST_SHRINKAGE)
    scale = float(np.trace(S)) / len(S) or 1.0
    return np.asarray((1 - share) * S + share * scale * np.eye(len(S)))
