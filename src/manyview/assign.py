"""One k-means for every engine: starts on a drawn sample, Lloyd steps as passes.

`kmeans` is Euclidean and starts from the best of several scikit-learn runs on
rows drawn by content. `correlation_kmeans` is the D, G step of the paper's
eq. (18) as its authors run it: rows are z-scored, so the largest inner product
is the largest correlation; one start, ten steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans

from ._xp import (
    Array,
    index_sum,
    like,
    namespace,
    row_norms,
    smallest,
    to_host,
    wide_sum,
)
from .checkpoint import NO_CHECKPOINT, Checkpoint
from .engine import Engine, Result, State
from .quiet_kmeans import quiet_fit
from .scaling import cast
from .starts import spread_rows
from .views import Block

Matrix = np.ndarray[Any, Any]
FIELD = "B_bar"
LABELS = "labels"
KMEANS_SAMPLE = 8192
# The sample has settled the starts; full passes only polish them.
MOST_PASSES = 20
SAME = 1e-5


class Centres(NamedTuple):
    """Centres (n_clusters, k) and an offset each; a row takes the smallest
    offset − 2 b·centre."""

    points: Matrix
    offsets: Matrix


def euclidean(points: Matrix) -> Centres:
    """Nearest centre by distance."""
    return Centres(points, np.sum(points * points, axis=1))


def correlation(sums: Matrix, counts: Matrix) -> Centres:
    """Best centre by correlation; an empty cluster is never chosen."""
    offsets = np.where(counts > 0, 0.0, np.inf)
    return Centres(z_score(sums), offsets)


def z_score(rows: Array, centre: bool = True) -> Array:
    """Every row to mean 0 and sd 1 (k − 1); rows without variance become 0.

    Without `centre` only the length is set, to the same √(k − 1): the mean over
    coordinates whose signs are arbitrary means nothing.
    """
    xp = namespace(rows)
    away = rows - xp.mean(rows, axis=1, keepdims=True) if centre else rows
    free = max(rows.shape[1] - 1, 1)
    length = xp.sqrt(row_norms(away) / free)
    # Rounding of a constant row must not be blown up to variance 1.
    size = xp.sqrt(row_norms(rows) / rows.shape[1]) if centre else length
    flat = length <= 8 * xp.finfo(rows.dtype).eps * size
    one = xp.ones_like(length)
    factor = xp.where(flat, 0.0 * one, one / xp.where(flat, one, length))
    return away * factor[:, None]


def assign_step(block: Block, state: State, small: Centres) -> Result:
    """Label every row; sum the rows and their squared distances by cluster."""
    labels, cost = nearest(state[FIELD], small)
    n_clusters = small.points.shape[0]
    xp = namespace(state[FIELD])
    ones = xp.ones_like(state[FIELD][:, :1])
    stats = {
        "sums": index_sum(state[FIELD], labels, n_clusters),
        "counts": index_sum(ones, labels, n_clusters)[:, 0],
        "inertia": wide_sum(cost + row_norms(state[FIELD])),
    }
    return Result(state={LABELS: labels}, stats=stats)


def nearest(rows: Array, centres: Centres) -> tuple[Array, Array]:
    """Label and cost (distance² − |b|²) of every row."""
    xp = namespace(rows)
    cost = rows @ cast(-2.0 * centres.points.T, rows) + cast(centres.offsets, rows)
    return xp.argmin(cost, axis=1), xp.min(cost, axis=1)


def certainty(rows: Matrix, centres: Centres) -> Matrix:
    """(d₂ − d₁)/d₂ of every row, d₁ and d₂ the distances to its two best centres."""
    points = centres.points[np.isfinite(centres.offsets)]
    if len(points) < 2:
        return np.ones(len(rows))
    d, _ = nearest_two(np.asarray(rows, dtype=np.float64), points)
    return np.asarray(1.0 - np.sqrt(d[:, 0] / np.where(d[:, 1] > 0, d[:, 1], 1.0)))


def nearest_two(rows: Matrix, points: Matrix) -> tuple[Matrix, Matrix]:
    """Squared distances to, and numbers of, the two nearest points of every row."""
    d = row_norms(rows)[:, None] + row_norms(points) - 2.0 * rows @ points.T
    return smallest(np.maximum(d, 0.0), 2)


class Clustering(NamedTuple):
    """What k-means finds; the labels belong to the centres."""

    centres: Centres
    labels: Array
    inertia: float
    n_iter: int


def correlation_kmeans(engine: Engine, rows: Matrix, max_iter: int = 10) -> Clustering:
    """Correlation k-means from the given rows as centres: one start, few steps."""
    centres = correlation(pick(engine, FIELD, rows), np.ones(len(rows)))
    for _ in range(max_iter):
        total, _ = engine.run(assign_step, centres, title="Clustering", views=False)
        centres = correlation(to_host(total["sums"]), to_host(total["counts"]))
    total, _ = engine.run(assign_step, centres, title="Clustering", views=False)
    inertia = float(total["inertia"])
    return Clustering(centres, engine.read(LABELS), inertia, max_iter)


class Picked(NamedTuple):
    """Which rows of which field to gather."""

    name: str
    rows: Matrix


def pick(engine: Engine, name: str, rows: Matrix) -> Matrix:
    """The given rows of a state field, on the host, in the order asked for."""
    order = np.argsort(rows, kind="stable")
    wanted = Picked(name, np.asarray(rows)[order])
    _, notes = engine.run(pick_step, wanted, title="Gathering rows", views=False)
    found = np.concatenate([n for n in notes if n.size], axis=0)
    out = np.empty_like(found)
    out[order] = found
    return out


def pick_step(block: Block, state: State, small: Picked) -> Result:
    """This block's share of the wanted rows."""
    low, high = np.searchsorted(small.rows, [block.start, block.start + len(block)])
    inside = small.rows[low:high] - block.start
    values = state[small.name]
    return Result(note=to_host(values[like(inside, values)]))


def kmeans(
    engine: Engine,
    n_clusters: int,
    rows: Matrix,
    *,
    n_init: int,
    seed: int,
    first: Matrix | None = None,
    max_iter: int = MOST_PASSES,
    tol: float = 1e-5,
    saved: Checkpoint = NO_CHECKPOINT,
) -> Clustering:
    """Best of `n_init` runs on the given (drawn) rows, then Lloyd steps on all.

    With `first`, an earlier partition of the drawn rows, one run from there.
    Stops when the inertia falls by less than `tol` of itself.
    """
    found = saved.load("kmeans")
    if found is None:
        some = _sample(engine, rows)
        if first is None:
            search = _search(some, n_clusters, n_init, seed)
        else:
            search = _refine(some, centroids(some, first, n_clusters))
        found = euclidean(search.cluster_centers_), np.inf, 0
    centres, last, done = found
    for step in range(done, max_iter):
        total, _ = engine.run(assign_step, centres, title="Clustering", views=False)
        inertia = float(total["inertia"])
        if step == max_iter - 1 or last - inertia <= tol * abs(inertia):
            break
        last = inertia
        sums, counts = to_host(total["sums"]), to_host(total["counts"])
        centres = euclidean(_means(sums, counts, centres.points))
        saved.save("kmeans", (centres, last, step + 1), number=step + 1)
    return Clustering(centres, engine.read(LABELS), inertia, step + 1)


def partition(
    engine: Engine, n_clusters: int, rows: Matrix, *, n_init: int, seed: int
) -> Matrix:
    """Labels of the given (drawn) rows: the best of `n_init` runs on them."""
    search = _search(_sample(engine, rows), n_clusters, n_init, seed)
    return np.asarray(search.labels_)


def centroids(rows: Matrix, labels: Matrix, n_clusters: int) -> Matrix:
    """Mean of the rows of every label; a label without rows takes one of them."""
    sums = np.zeros((n_clusters, rows.shape[1]))
    np.add.at(sums, labels, rows)
    counts = np.bincount(labels, minlength=n_clusters)
    return _means(sums, counts, np.resize(rows, sums.shape))


def _sample(engine: Engine, rows: Matrix) -> Matrix:
    return pick(engine, FIELD, rows[:KMEANS_SAMPLE]).astype(np.float64)


def _search(sample: Matrix, n_clusters: int, n_init: int, seed: int) -> KMeans:
    """The best of `n_init` runs; a later one must be better by more than rounding."""
    rng = np.random.default_rng(seed)
    best = _refine(sample, sample[spread_rows(sample, n_clusters, rng)])
    for _ in range(n_init - 1):
        found = _refine(sample, sample[spread_rows(sample, n_clusters, rng)])
        if found.inertia_ < (1.0 - SAME) * best.inertia_:
            best = found
    return best


def _refine(sample: Matrix, centres: Matrix) -> KMeans:
    """One run of k-means on the sample, from these centres."""
    return quiet_fit(KMeans(len(centres), init=centres, n_init=1, tol=0.0), sample)


def _means(sums: Matrix, counts: Matrix, old: Matrix) -> Matrix:
    """Cluster means; an empty cluster keeps its centre."""
    full = counts > 0
    return np.where(full[:, None], sums / np.where(full, counts, 1.0)[:, None], old)
