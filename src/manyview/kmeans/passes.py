"""One k-means for every engine: starts on a drawn sample, Lloyd steps as passes.

`kmeans` is Euclidean and starts from the best of several searches on rows drawn
by content (scikit-learn's, or on a device `lloyd`), one of them from Ward's
clusters. `correlation_kmeans` is the D, G step of the paper's eq. (18) as its
authors run it: rows are z-scored, so the largest inner product is the largest
correlation; one start, ten steps.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from array_api_compat import is_torch_array
from sklearn.cluster import AgglomerativeClustering, KMeans

from manyview.arrays.ops import (
    Array,
    index_count,
    index_sum,
    like,
    namespace,
    row_norms,
    smallest,
    to_host,
    wide,
    wide_sum,
)
from manyview.engine.contract import NO_CHECKPOINT, Engine, NoCheckpoint, Result, State
from manyview.kmeans.lloyd import lloyd
from manyview.kmeans.quiet import quiet_fit
from manyview.kmeans.seeding import spread_rows
from manyview.stages.scaling import cast
from manyview.views.views import Block

Matrix = np.ndarray[Any, Any]
FIELD = "B_bar"
LABELS = "labels"
KMEANS_SAMPLE = 8192
# The sample has settled the starts; full passes only polish them.
MOST_PASSES = 20
SAME = 1e-5
MOST_STEPS = 300
WARD_ROWS_PER_CLUSTER = 20
MOST_WARD_ROWS = 4096


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
    mean = xp.mean(rows, axis=1, keepdims=True) if centre else None
    away = rows if mean is None else rows - mean
    square = row_norms(away) / max(rows.shape[1] - 1, 1)
    length = xp.sqrt(square)
    # Rounding of a constant row must not be blown up to variance 1.
    size = length if mean is None else xp.sqrt(square + mean[:, 0] ** 2)
    flat = length <= 8 * xp.finfo(rows.dtype).eps * size
    one = xp.ones_like(length)
    factor = xp.where(flat, 0.0 * one, one / xp.where(flat, one, length))
    return away * factor[:, None]


def assign_step(block: Block, state: State, small: Centres) -> Result:
    """Label every row; sum the rows and their squared distances by cluster."""
    labels, cost = nearest(state[FIELD], small)
    n_clusters = small.points.shape[0]
    stats = {
        "sums": index_sum(state[FIELD], labels, n_clusters),
        "counts": index_count(labels, n_clusters),
        "inertia": wide_sum(cost + row_norms(state[FIELD])),
    }
    return Result(state={LABELS: labels}, stats=stats)


def nearest(rows: Array, centres: Centres) -> tuple[Array, Array]:
    """Label and cost (distance² − |b|²) of every row."""
    xp = namespace(rows)
    cost = rows @ cast(-2.0 * centres.points.T, rows)
    cost += cast(centres.offsets, rows)
    labels = xp.argmin(cost, axis=1)
    return labels, xp.take_along_axis(cost, labels[:, None], axis=1)[:, 0]


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
    first = to_host(pick(engine, FIELD, rows))
    centres = correlation(first, np.ones(len(rows)))
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


def pick(engine: Engine, name: str, rows: Matrix) -> Array:
    """The given rows of a state field, in the order asked for, where they are."""
    order = np.argsort(rows, kind="stable")
    wanted = Picked(name, np.asarray(rows)[order])
    _, notes = engine.run(pick_step, wanted, title="Gathering rows", views=False)
    parts = [note for note in notes if note.shape[0]]
    found = namespace(parts[0]).concat(parts)
    return found[like(np.argsort(order, kind="stable"), found)]


def pick_step(block: Block, state: State, small: Picked) -> Result:
    """This block's share of the wanted rows."""
    low, high = np.searchsorted(small.rows, [block.start, block.start + len(block)])
    inside = small.rows[low:high] - block.start
    values = state[small.name]
    return Result(note=values[like(inside, values)])


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
    saved: NoCheckpoint = NO_CHECKPOINT,
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
            search = _refine(some, centroids(some, first, n_clusters)[None, :, :])
        found = euclidean(search.centres), np.inf, 0
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
    return _search(_sample(engine, rows), n_clusters, n_init, seed).labels


def centroids(rows: Array, labels: Matrix, n_clusters: int) -> Array:
    """Mean of the rows of every label; a label without rows takes one of them."""
    sums = to_host(index_sum(rows, like(labels, rows), n_clusters))
    counts = np.bincount(labels, minlength=n_clusters)
    spare = to_host(rows[:n_clusters])
    return like(_means(sums, counts, np.resize(spare, sums.shape)), rows)


def _sample(engine: Engine, rows: Matrix) -> Array:
    found = pick(engine, FIELD, rows[:KMEANS_SAMPLE])
    return wide(found if is_torch_array(found) else to_host(found))


class Search(NamedTuple):
    """The best of a few searches on a sample, on the host."""

    centres: Matrix
    labels: Matrix


def _search(sample: Array, n_clusters: int, n_init: int, seed: int) -> Search:
    """The best of `n_init` runs from rows far from each other, and one from Ward's."""
    rng = np.random.default_rng(seed)
    picks = spread_rows(sample, n_clusters, rng, n_init)
    starts = sample[like(picks, sample)]
    some = sample[: min(WARD_ROWS_PER_CLUSTER * n_clusters, MOST_WARD_ROWS)]
    if 1 < n_clusters < len(some):
        # Many clusters are more than twenty spread starts can find.
        tree = AgglomerativeClustering(n_clusters, linkage="ward").fit(to_host(some))
        merged = centroids(some, tree.labels_, n_clusters)[None, :, :]
        starts = namespace(sample).concat([starts, merged])
    return _refine(sample, starts)


def _refine(sample: Array, starts: Array) -> Search:
    """k-means on the sample from every start (n_starts, n_clusters, k); the best."""
    if is_torch_array(sample):
        found = lloyd(sample, starts, MOST_STEPS)
        best = _best([float(x) for x in to_host(found.inertia)])
        labels = to_host(found.labels[best])
        return Search(to_host(found.centres[best]), labels)
    runs = [
        quiet_fit(KMeans(len(start), init=start, n_init=1, tol=0.0), sample)
        for start in starts
    ]
    run = runs[_best([run.inertia_ for run in runs])]
    return Search(run.cluster_centers_, np.asarray(run.labels_))


def _best(inertias: list[float]) -> int:
    """The smallest; a later one must be better by more than rounding."""
    best = 0
    for number, inertia in enumerate(inertias):
        if inertia < (1.0 - SAME) * inertias[best]:
            best = number
    return best


def _means(sums: Matrix, counts: Matrix, old: Matrix) -> Matrix:
    """Cluster means; an empty cluster keeps its centre."""
    full = counts > 0
    return np.where(full[:, None], sums / np.where(full, counts, 1.0)[:, None], old)
