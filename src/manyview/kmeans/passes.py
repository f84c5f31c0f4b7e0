"""k-means: starts found on drawn rows, Lloyd steps on all rows as passes.

`kmeans` is Euclidean and starts from the best of several searches on rows drawn by
content, one of them from Ward's clusters, the others from rows far from each other
(`kmeans.first_centres`). Here are also the short searches for anchors.
"""

import warnings
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array
from sklearn import config_context
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.exceptions import ConvergenceWarning

from manyview.arrays.ops import (
    Array,
    Matrix,
    cast,
    in_float64,
    index_count,
    index_sum,
    like,
    namespace,
    row_norms,
    sum_in_float64,
    to_host,
)
from manyview.engine.contract import (
    NO_CHECKPOINT,
    Engine,
    NoCheckpoint,
    Result,
    State,
    touches,
)
from manyview.engine.threads import InCommon, side_by_side, thread_pools
from manyview.kmeans.first_centres import distinct_rows, spread_rows
from manyview.kmeans.lloyd import lloyd
from manyview.views.views import Block

FIELD = "B_bar"
LABELS = "labels"
KMEANS_SAMPLE = 8192  # rows of the search for starts: bounds its time
MOST_PASSES = 20  # the sample has settled the starts; full passes only polish them
LEVEL_INERTIA = 1e-5  # inertias closer than this are level: rounding must not choose
# Other runs of a search are worth a look up to so much more inertia (.003 misses some
# of Handwritten's, .02 lets 3Sources take a worse one), those of the same as one.
NEAR_INERTIA, SAME_INERTIA = 0.01, 0.001
MOST_STEPS = 300  # scikit-learn's own bound; searches on a sample end long before
WARD_ROWS_PER_CLUSTER = 20  # find nearly what the tree of all rows does (DESIGN.md)
MOST_WARD_ROWS = 4096  # the tree takes their square
FEW_ENTRIES = 10**6  # up to so many on one thread: to wake others takes longer
ROWS_PER_ANCHOR = 20  # anchors need to cover the data, not to converge
KMEANS_STEPS = 10  # after so many a few hundred anchors hardly move
LARGE_SEARCH = 5e8  # beyond so many products a step, fewer rows and steps
LARGE_ROWS_PER_ANCHOR, LARGE_STEPS = 10, 4
# Scores that stay in a core's cache, and rows that a product needs to be quick.
CACHE_SCORES, LEAST_ROWS = 2**17, 128
MOST_SPREAD = 200  # for more centres random rows are as good, and far cheaper


class Centres(NamedTuple):
    """Centres (n_clusters, k), an offset each; the least offset − 2 b·centre wins."""

    points: Matrix
    offsets: Matrix


def euclidean(points: Matrix) -> Centres:
    """Nearest centre by distance."""
    return Centres(points, np.sum(points * points, axis=1))


@touches(reads=[FIELD], writes=[LABELS])
def assign_step(block: Block, state: State, shared: Centres) -> Result:
    """Label every row; sum the rows and their squared distances by cluster."""
    labels, cost = nearest(state[FIELD], shared)
    n_clusters = shared.points.shape[0]
    stats = {
        "sums": index_sum(state[FIELD], labels, n_clusters),
        "counts": index_count(labels, n_clusters),
        "inertia": sum_in_float64(cost + row_norms(state[FIELD])),
    }
    return Result(state={LABELS: labels}, stats=stats)


def nearest(rows: Array, centres: Centres) -> tuple[Array, Array]:
    """Label and cost (distance² − |b|²) of every row."""
    xp = namespace(rows)
    cost = rows @ cast(-2.0 * centres.points.T, rows)
    cost += cast(centres.offsets, rows)
    labels = xp.argmin(cost, axis=1)
    return labels, xp.take_along_axis(cost, labels[:, None], axis=1)[:, 0]


class Clustering(NamedTuple):
    """What k-means finds; the labels belong to the centres."""

    centres: Centres
    labels: Array
    inertia: float
    n_iter: int


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


@touches(reads=[FIELD, LABELS, "F", "Y"])
def pick_step(block: Block, state: State, shared: Picked) -> Result:
    """This block's share of the wanted rows."""
    low, high = np.searchsorted(shared.rows, [block.start, block.start + len(block)])
    inside = shared.rows[low:high] - block.start
    values = state[shared.name]
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
            runs = _search(some, n_clusters, n_init, seed)
        else:
            runs = _refine(some, centroids(some, first, n_clusters)[None, :, :])
        found = euclidean(np.asarray(to_host(runs[0].centres))), np.inf, 0
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


def partitions(
    engine: Engine, n_clusters: int, rows: Matrix, *, n_init: int, seed: int
) -> list[Matrix]:
    """Labels of the given (drawn) rows by the best of `n_init` runs on them.

    After them those of other runs of nearly its inertia: which of several such optima
    means the classes, inertia does not say.
    """
    runs = _search(_sample(engine, rows), n_clusters, n_init, seed)
    kept = runs[:1]
    for run in runs[1:]:
        near = run.inertia <= (1.0 + NEAR_INERTIA) * runs[0].inertia
        if near and run.inertia > (1.0 + SAME_INERTIA) * kept[-1].inertia:
            kept.append(run)
    return [np.asarray(to_host(run.labels)) for run in kept]


def centroids(rows: Array, labels: Matrix, n_clusters: int) -> Array:
    """Mean of the rows of every label; a label without rows takes one of them."""
    sums = to_host(index_sum(rows, like(labels, rows), n_clusters))
    counts = np.bincount(labels, minlength=n_clusters)
    spare = to_host(rows[:n_clusters])
    return like(_means(sums, counts, np.resize(spare, sums.shape)), rows)


def _sample(engine: Engine, rows: Matrix) -> Array:
    found = pick(engine, FIELD, rows[:KMEANS_SAMPLE])
    return in_float64(found if is_torch_array(found) else to_host(found))


class Run(NamedTuple):
    """What one of several runs has found."""

    inertia: float
    centres: Array
    labels: Array


def _search(sample: Array, n_clusters: int, n_init: int, seed: int) -> list[Run]:
    """`n_init` runs from rows far from each other, and one from Ward's; best first."""
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


def _refine(sample: Array, starts: Array) -> list[Run]:
    """The runs from the starts (n_starts, n_clusters, k): the best, then by inertia."""
    if is_torch_array(sample):
        found = lloyd(sample, starts, MOST_STEPS)
        inertias = [float(x) for x in to_host(found.inertia)]
        parts = zip(inertias, found.centres, found.labels, strict=True)
        runs = [Run(*part) for part in parts]
    else:
        fits = [KMeans(len(start), init=start, n_init=1, tol=0.0) for start in starts]
        fits = side_by_side([partial(quiet_fit, fit, sample, 1) for fit in fits])
        runs = [Run(f.inertia_, f.cluster_centers_, f.labels_) for f in fits]
    best = runs.pop(_best([run.inertia for run in runs]))
    return [best, *sorted(runs, key=lambda run: run.inertia)]


def _best(inertias: list[float]) -> int:
    """The smallest; a later one must be better by more than rounding."""
    best = 0
    for number, inertia in enumerate(inertias):
        if inertia < (1.0 - LEVEL_INERTIA) * inertias[best]:
            best = number
    return best


def _means(sums: Matrix, counts: Matrix, old: Matrix) -> Matrix:
    """Cluster means; an empty cluster keeps its centre."""
    full = counts > 0
    return np.where(full[:, None], sums / np.where(full, counts, 1.0)[:, None], old)


# Fewer distinct rows than clusters is valid data here.
_quietly = InCommon(
    partial(warnings.catch_warnings, action="ignore", category=ConvergenceWarning)
)


def quiet_fit(search: KMeans, rows: Any, n_threads: int | None = None) -> KMeans:
    """Fit the search, on all cores or so many; repeated rows are not warned of."""
    few = rows.shape[0] * rows.shape[1] <= FEW_ENTRIES
    with (
        _quietly,
        config_context(assume_finite=True, skip_parameter_validation=True),
        thread_pools().limit(limits=1 if few else n_threads, user_api="openmp"),
    ):
        return search.fit(rows)


class AnchorSearch(NamedTuple):
    """Rows to search, and how many Lloyd steps; 0 where every row is an anchor."""

    rows: Array
    steps: int
    large: bool = False


def search_steps(n_anchors: int) -> int:
    """Lloyd steps: many anchors need fewer, as each has few rows to move to."""
    return KMEANS_STEPS if n_anchors <= MOST_SPREAD else LARGE_STEPS


def anchor_search(rows: Array, n_anchors: int) -> AnchorSearch:
    """How hard to search for this many anchors."""
    rows = rows[: ROWS_PER_ANCHOR * n_anchors]
    if n_anchors >= rows.shape[0]:
        return AnchorSearch(rows, 0)
    if rows.shape[0] * n_anchors * rows.shape[1] > LARGE_SEARCH:
        some = rows[: LARGE_ROWS_PER_ANCHOR * n_anchors]
        return AnchorSearch(some, LARGE_STEPS, large=True)
    return AnchorSearch(rows, search_steps(n_anchors))


def first_anchors(search: AnchorSearch, n_anchors: int, seed: int) -> Matrix:
    """Numbers (s, n_anchors) of the first centres of every search."""
    rng = np.random.default_rng(seed)
    if search.large or n_anchors > MOST_SPREAD:
        n_rows = search.rows.shape[-2]
        return distinct_rows(search.rows, rng.permutation(n_rows), n_anchors)
    return spread_rows(search.rows, n_anchors, rng)


def kmeans_anchors(view: Array, n_anchors: int, seed: int) -> Matrix:
    """Anchors of one view's prepared rows on the host, dense or sparse."""
    search = anchor_search(view, n_anchors)
    rows = search.rows
    if search.steps == 0:
        return np.asarray(in_float64(rows.toarray() if sp.issparse(rows) else rows))
    first = rows[first_anchors(search, n_anchors, seed)[0]]
    first = first.toarray() if sp.issparse(first) else first
    if search.large or n_anchors > MOST_SPREAD:
        return np.asarray(in_float64(host_lloyd(rows, first, search.steps)))
    model = KMeans(n_anchors, init=first, n_init=1, max_iter=search.steps, tol=0.0)
    return np.asarray(quiet_fit(model, rows, 1).cluster_centers_, dtype=np.float64)


def host_lloyd(rows: Any, centres: Matrix, n_steps: int) -> Matrix:
    """The steps of one search of many centres on the host, rows dense or sparse.

    The centres stand column by column: so products take them, and none is turned twice.
    """
    n_rows, n_centres = rows.shape[0], len(centres)
    turned = np.ascontiguousarray(centres.T)
    step = max(CACHE_SCORES // n_centres, LEAST_ROWS)
    chunks = [slice(first, first + step) for first in range(0, n_rows, step)]
    for _ in range(n_steps):
        half = 0.5 * np.einsum("ij,ij->j", turned, turned)
        scores = (rows[chunk] @ turned for chunk in chunks)
        near = [np.subtract(s, half, out=s).argmax(axis=1) for s in scores]
        nearest = np.concatenate(near)
        counts = np.bincount(nearest, minlength=n_centres)
        share = (1.0 / counts[nearest]).astype(rows.dtype)
        place = (nearest, np.arange(n_rows))
        means = sp.csr_array((share, place), shape=(n_centres, n_rows)) @ rows
        lost, before = counts == 0, turned
        across = means.T.toarray(order="C") if sp.issparse(means) else means.T
        turned = np.ascontiguousarray(across)
        turned[:, lost] = before[:, lost]
    return np.ascontiguousarray(turned.T)
