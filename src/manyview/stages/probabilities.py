"""How likely every row is to be in each cluster, calibrated without classes.

A probability is the chance that one view alone would put the row there: the view
taken by its weight, the cluster the one that most of the row's nearest rows in it are
in. Linear scores of the embedding predict that by a softmax, and how sharp it is
follows from some drawn rows, whose nearest rows in every view are known. So views that
contradict each other make all rows less certain.
"""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from manyview.arrays.ops import Matrix
from manyview.engine.resources import physical_memory, show_size
from manyview.errors import ResourceError
from manyview.kmeans.nodes import Nodes
from manyview.kmeans.passes import Centres
from manyview.stages.sampling import Asked
from manyview.stages.telling_apart import discriminants

ENTRIES_AT_ONCE = 2**22  # probabilities of a chunk of rows: 32 MB
# Of another cluster over a row's own: where they are level, its own stays ahead.
AHEAD = 1e-9
WIDEST_SHARPNESS = np.log(1e6)  # either way, beside the spread of the scores


def soft_scores(
    asked: Asked, centres: Centres, nodes: Nodes | Centres | None = None
) -> Centres:
    """Scores 2 b·direction − offset whose softmax are the probabilities.

    Those that give the labels (centres or linear scores), or linear discriminants of
    labelled nodes, so sharp that they predict best what single views say of the rows
    that were `asked`.
    """
    scores = centres if nodes is None else nodes
    if isinstance(scores, Nodes):
        points = np.asarray(scores.points, dtype=np.float64)
        scores = discriminants(points, scores.labels, centres.points)
    votes = np.zeros((len(asked.rows), len(scores.points)))
    for own, weight in zip(asked.votes.T, asked.weights, strict=True):
        there = np.flatnonzero(own >= 0)
        votes[there, own[there]] += weight
    # As if one more row said nothing: no votes make anything certain.
    votes += np.mean(asked.weights) / votes.size
    used = np.isfinite(scores.offsets)
    values = (2.0 * asked.rows @ scores.points.T - scores.offsets)[:, used]
    spread = float(np.mean(values.max(axis=1) - values.mean(axis=1))) or 1.0
    values, votes = values / spread, votes[:, used]

    def loss(log_sharpness: float) -> float:
        return -float(np.sum(votes * log_softmax(np.exp(log_sharpness) * values, 1)))

    bounds = (-WIDEST_SHARPNESS, WIDEST_SHARPNESS)
    sharpness = np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x)
    return Centres(*(part * (sharpness / spread) for part in scores))


def probabilities(rows: Matrix, labels: Matrix, scores: Centres) -> Matrix:
    """Probability (n_rows, n_clusters) of every cluster for every row.

    Labels come from rows nearby too, which linear scores may contradict. Then the
    clusters ahead of a row's own share their probability evenly with it.
    """
    values = 2.0 * np.asarray(rows, dtype=np.float64) @ scores.points.T
    found: Matrix = softmax(values - scores.offsets, axis=1)
    each = np.arange(len(labels))
    own, at = found[each, labels], np.flatnonzero(found.argmax(axis=1) != labels)
    if at.size:
        rest = found[at]
        rest[np.arange(at.size), labels[at]] = 0.0
        rest = -np.sort(-rest, axis=1)
        means = own[at, None] + np.concatenate(
            [np.zeros((at.size, 1)), np.cumsum(rest, axis=1)], axis=1
        )
        means /= np.arange(1, means.shape[1] + 1)
        n_ahead = (rest > means[:, :-1]).sum(axis=1)
        level = means[np.arange(at.size), n_ahead]
        found[at] = np.minimum(found[at], level[:, None])
        found[at, labels[at]] = level
    found[each, labels] += AHEAD
    found /= 1.0 + AHEAD
    return found


def all_probabilities(rows: Matrix, labels: Matrix, scores: Centres) -> Matrix:
    """`probabilities` of many rows; refused where the memory has no room for them."""
    n_bytes = 8 * len(labels) * len(scores.points)
    if n_bytes > physical_memory() // 2:
        raise ResourceError(
            f"Probabilities of {len(scores.points)} clusters for {len(labels)} rows "
            f"take {show_size(n_bytes)}, more than half of the memory. Ask for the "
            "likeliest clusters alone: labels_proba(top=3), predict_proba(X, top=3)."
        )
    return np.concatenate([found for _, found in _by_chunks(rows, labels, scores)])


def certainty(rows: Matrix, labels: Matrix, scores: Centres) -> Matrix:
    """Probability of its own cluster for every row."""
    parts = _by_chunks(rows, labels, scores)
    return np.concatenate([found[np.arange(len(own)), own] for own, found in parts])


def likeliest(rows: Matrix, labels: Matrix, scores: Centres, top: int) -> Matrix:
    """The `top` likeliest clusters of every row, its own first, and how likely."""
    parts = []
    for _, found in _by_chunks(rows, labels, scores):
        ids = np.argpartition(-found, top - 1, axis=1)[:, :top]
        order = np.argsort(-np.take_along_axis(found, ids, axis=1), axis=1)
        ids = np.take_along_axis(ids, order, axis=1)
        parts.append(np.hstack([ids, np.take_along_axis(found, ids, axis=1)]))
    return np.concatenate(parts)


def _by_chunks(
    rows: Matrix, labels: Matrix, scores: Centres
) -> Iterator[tuple[Matrix, Matrix]]:
    """Labels and probabilities of so many rows at a time that these are few."""
    step = max(1, ENTRIES_AT_ONCE // len(scores.points))
    for start in range(0, len(labels), step):
        own = labels[start : start + step]
        yield own, probabilities(rows[start : start + step], own, scores)


def as_sparse(found: Matrix, n_clusters: int) -> sp.csr_array:
    """What `likeliest` gives as sparse rows, one column per cluster."""
    n_rows, top = len(found), found.shape[1] // 2
    ids, values = found[:, :top].astype(np.intp), found[:, top:]
    ends = np.arange(n_rows + 1) * top
    made = sp.csr_array((values.ravel(), ids.ravel(), ends), (n_rows, n_clusters))
    made.sort_indices()
    return made
