"""Anchors, and what a block of rows looks like from them.

Squared distances are |x|² + |a|² − 2 x·a on prepared (centred) rows, clipped
at 0. The RBF features of the paper's eq. (7), as its authors compute them, are
exp(−d²/(2σ²)) with σ = 2 · mean_i min_j d_ij, and every column centred.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array
from sklearn.cluster import KMeans

from manyview.arrays.ops import (
    Array,
    at_least_zero,
    exp_of,
    like,
    matmul,
    namespace,
    row_norms,
    to_host,
    wide,
)
from manyview.engine.contract import Engine, Result, State
from manyview.errors import InputError, InputTypeError, ManyviewError
from manyview.kmeans.lloyd import lloyd, sparse_lloyd
from manyview.kmeans.quiet import quiet_fit
from manyview.kmeans.seeding import spread_rows
from manyview.stages.sampling import Draw
from manyview.stages.scaling import Scaling, apply_scaling, cast, seen
from manyview.views.views import Block, Views

Matrix = np.ndarray[Any, Any]

ROWS_PER_ANCHOR = 20
KMEANS_STEPS = 10
LARGE_SEARCH = 5e8
LARGE_ROWS_PER_ANCHOR = 10
LARGE_STEPS = 4
MOST_SPREAD = 200
ALIGNED = 8


class Kernel(NamedTuple):
    """Anchors of one view (prepared like its rows) and their features' shape."""

    name: str
    anchors: Array
    width: float


def squared_distances(x: Array, anchors: Array) -> Array:
    """Squared Euclidean distances (n_rows, n_anchors), never negative."""
    return at_least_zero(expanded_distances(x, anchors))


def expanded_distances(x: Array, anchors: Array) -> Array:
    """|x|² + |a|² − 2 x·a: squared distances, below 0 by no more than rounding.

    One product of longer rows, (x, |x|², 1) and (−2a, 1, |a|²): to add the lengths
    afterwards would take as long as the product of narrow views.
    """
    if sp.issparse(x):
        a = anchors.astype(x.dtype, copy=False)
        d = matmul(x, -2.0 * a.T)
        d += row_norms(x)[:, None]
        d += row_norms(a)[None, :]
        return d
    a = cast(anchors, x)
    left = _lengthened(x, row_norms(x), 1.0)
    return left @ _lengthened(-2.0 * a, 1.0, row_norms(a)).T


def _lengthened(rows: Array, one: Array | float, other: Array | float) -> Array:
    """Rows with two more columns, and zeros up to a width that products like."""
    n_rows, width = rows.shape
    whole = -(-(width + 2) // ALIGNED) * ALIGNED
    long = namespace(rows).zeros((n_rows, whole), dtype=rows.dtype, device=rows.device)
    long[:, :width], long[:, width], long[:, width + 1] = rows, one, other
    return long


def anchor_count(n_anchors: int, n_samples: int, n_clusters: int) -> int:
    """`n_anchors` at most, fewer on small data."""
    room = max(n_samples // 2, min(n_samples, 3 * n_clusters))
    return max(1, min(n_anchors, room))


def choose_anchors(
    drawn: Draw,
    scalings: tuple[Scaling, ...],
    wanted: Any,
    n_anchors: int,
    seed: int,
) -> tuple[Array, ...]:
    """Prepared anchors of every view: given, drawn ("random") or k-means centres."""
    if not isinstance(wanted, str):
        return _given_anchors(wanted, scalings, drawn)
    prepared = [apply_scaling(drawn.view(v), s) for v, s in enumerate(scalings)]
    if wanted == "random":
        return tuple(dense(rows[:n_anchors]) for rows in prepared)
    return tuple(anchors_of_views(prepared, n_anchors, seed))


def _given_anchors(
    anchors: Any, scalings: tuple[Scaling, ...], drawn: Draw
) -> tuple[Matrix, ...]:
    """A user's anchors, one array per view in input units, checked and prepared."""
    known = [m.mean.size for m in drawn.moments]
    try:
        given = [Views.of(a) for a in anchors]
    except ManyviewError as error:
        raise InputTypeError(
            f"One of the given anchors is no table: {error}"
        ) from error
    seen = [sum(g.n_features) for g in given]
    if seen != known:
        raise InputError(
            f"The given anchors have {seen} features per view, the data {known}. "
            "Give one anchor array per view, in the order of the views."
        )
    blocks = [g.block(slice(0, len(g)), np.float64).views[0] for g in given]
    return tuple(
        dense(apply_scaling(a, s)) for a, s in zip(blocks, scalings, strict=True)
    )


def anchors_of_views(views: list[Array], n_anchors: int, seed: int) -> list[Array]:
    """Centres of a short k-means on prepared rows of every view, same seed each.

    On a device views of equally many rows go side by side: one search after the
    other would mostly wait.
    """
    searches = [_search_of(rows, n_anchors) for rows in views]
    found: dict[int, Array] = {}
    for v, search in enumerate(searches):
        if not is_torch_array(search.rows):
            found[v] = kmeans_anchors(search, n_anchors, seed)
        elif v not in found:
            alike = [u for u, other in enumerate(searches) if _alike(other, search)]
            made = _side_by_side([searches[u] for u in alike], n_anchors, seed)
            found.update(zip(alike, made, strict=True))
    return [found[v] for v in range(len(views))]


class AnchorSearch(NamedTuple):
    """Rows to search, and how many Lloyd steps; 0 where every row is an anchor."""

    rows: Array
    steps: int
    large: bool = False


def _alike(one: AnchorSearch, other: AnchorSearch) -> bool:
    return len(one.rows) == len(other.rows) and one.steps == other.steps


def _search_of(rows: Array, n_anchors: int) -> AnchorSearch:
    """Anchors need to cover the data, not to converge: a few rows and steps do."""
    rows = rows[: ROWS_PER_ANCHOR * n_anchors]
    if n_anchors >= rows.shape[0]:
        return AnchorSearch(rows, 0)
    if rows.shape[0] * n_anchors * rows.shape[1] > LARGE_SEARCH:
        some = rows[: LARGE_ROWS_PER_ANCHOR * n_anchors]
        return AnchorSearch(some, LARGE_STEPS, large=True)
    return AnchorSearch(rows, KMEANS_STEPS)


def _start(search: AnchorSearch, n_anchors: int, seed: int) -> Matrix:
    """Numbers (s, n_anchors) of the first centres; s is 1 if all views share them.

    For many centres random rows are as good as k-means++, and far cheaper.
    """
    rng = np.random.default_rng(seed)
    if search.large or n_anchors > MOST_SPREAD:
        return rng.permutation(search.rows.shape[-2])[None, :n_anchors]
    return spread_rows(search.rows, n_anchors, rng)


def kmeans_anchors(search: AnchorSearch, n_anchors: int, seed: int) -> Matrix:
    """Anchors of one view on the host, dense or sparse."""
    rows, steps, large = search
    if steps == 0:
        return np.asarray(dense(rows))
    chosen = _start(search, n_anchors, seed)[0]
    first = dense(rows[chosen])
    if large:
        if sp.issparse(rows):
            return sparse_lloyd(rows, first, steps)
        found = lloyd(rows, first[None].astype(rows.dtype), steps)
        return np.asarray(wide(found.centres[0]))
    first = first.astype(rows.dtype)
    model = KMeans(n_anchors, init=first, n_init=1, max_iter=steps, tol=0.0)
    return np.asarray(quiet_fit(model, rows).cluster_centers_, dtype=np.float64)


def _side_by_side(
    searches: list[AnchorSearch], n_anchors: int, seed: int
) -> list[Array]:
    """Anchors of views on a device, made equally wide with zeros."""
    views, steps = [s.rows for s in searches], searches[0].steps
    if steps == 0:
        return [dense(rows) for rows in views]
    xp, model = namespace(views[0]), views[0]
    shape = (len(views), len(model), max(x.shape[1] for x in views))
    rows = xp.zeros(shape, dtype=model.dtype, device=model.device)
    for place, x in zip(rows, views, strict=True):
        place[:, : x.shape[1]] = x
    chosen = _start(searches[0]._replace(rows=rows), n_anchors, seed)
    each = like(np.arange(len(views))[:, None], rows)
    first = rows[each, like(chosen, rows)]
    centres = wide(lloyd(rows, first, steps).centres)
    return [c[:, : x.shape[1]] for c, x in zip(centres, views, strict=True)]


def dense(rows: Array) -> Array:
    """A few rows as a dense float64 array, where they are."""
    return wide(rows.toarray() if sp.issparse(rows) else rows)


class WidthSmall(NamedTuple):
    """What the width pass needs."""

    scalings: tuple[Scaling, ...]
    anchors: tuple[Matrix, ...]
    keep: bool


def make_kernels(
    engine: Engine,
    name: str,
    scalings: tuple[Scaling, ...],
    anchors: tuple[Matrix, ...],
    *,
    keep: bool = False,
    drawn: Draw | None = None,
) -> tuple[Kernel, ...]:
    """Anchors with the width of their features (none for the linear kernel).

    σ is twice the mean distance of a row to its nearest anchor.

    Rows that are anchors themselves have distance 0 and count, as the authors
    do it, unless they are the majority: then only the others count. Where every
    row is an anchor, the anchors' distances to each other stand in. With `keep`
    the distances stay in the state, where the features made of them will be. With
    `drawn` the mean is that of the drawn rows, without a pass.
    """
    if name == "linear":
        return tuple(Kernel(name, a, 0.0) for a in anchors)
    small = WidthSmall(scalings, anchors, keep and drawn is None)
    if drawn is None:
        total, _ = engine.run(width_step, small, title="Measuring kernel widths")
    else:
        total = dict(width_step(drawn.block, {}, small).stats)
    kernels = []
    for v, a in enumerate(anchors):
        distance, rows, away = to_host(total[f"nearest{v}"])
        counted = away if 2 * away < rows else rows
        mean = float(distance / counted) if away else spacing(a)
        kernels.append(Kernel(name, a, 2.0 * mean))
    return tuple(kernels)


def spacing(anchors: Array) -> float:
    """Mean distance of an anchor to the nearest other one; 0 if all are the same."""
    anchors = to_host(anchors)
    d = squared_distances(anchors, anchors)
    noise = 16 * np.finfo(d.dtype).eps * row_norms(anchors)
    nearest = np.where(d > noise[:, None], d, np.inf).min(axis=1)
    apart = nearest[np.isfinite(nearest)]
    return float(np.sqrt(apart).mean()) if apart.size else 0.0


def width_step(block: Block, state: State, small: WidthSmall) -> Result:
    """Per view: sum of nearest-anchor distances, rows, rows away from any anchor."""
    stats: dict[str, Array] = {}
    kept: dict[str, Array] = {}
    block = seen(block, small.scalings)
    for v, x in enumerate(block.views):
        rows = apply_scaling(x, small.scalings[v])
        d = expanded_distances(rows, small.anchors[v])
        xp = namespace(d)
        nearest = wide(at_least_zero(xp.min(d, axis=1))) ** 0.5
        # |x|²+|a|²−2x·a of a row with itself is rounding, not distance.
        noise = xp.finfo(d.dtype).eps ** 0.5 * 4 * row_norms(rows) ** 0.5
        nearest = nearest * wide(nearest > wide(noise))
        own = block.there(v)
        there = xp.ones_like(nearest) if own is None else wide(like(own, nearest))
        away = wide(nearest > 0) * there
        sums = [xp.sum(nearest * there), xp.sum(there), xp.sum(away)]
        stats[f"nearest{v}"] = xp.stack(sums)
        if small.keep:
            kept[f"Phi{v}"] = d
    return Result(state=kept, stats=stats)


def features(x: Array, scaling: Scaling, kernel: Kernel) -> Array:
    """Phi: features (n_rows, n_anchors) of a block against the anchors.

    RBF: exp(−d²/(2σ²)); linear: inner products. Not centred: the mean is known
    only after the Gram pass, and `ridge` takes it out of the small matrices.
    """
    rows = apply_scaling(x, scaling)
    if kernel.name == "linear":
        weights = kernel.anchors.T
        phi = matmul(rows, cast(weights, rows) if not sp.issparse(rows) else weights)
    else:
        d = expanded_distances(rows, kernel.anchors)
        phi = from_distances(d, kernel, reuse=True)
    return phi


def from_distances(d: Array, kernel: Kernel, *, reuse: bool = False) -> Array:
    """exp(−d/(2σ²)) of squared distances; with `reuse` these are overwritten."""
    factor = -0.5 / kernel.width**2 if kernel.width > 0 else 0.0
    return exp_of(d, factor, reuse=reuse)
