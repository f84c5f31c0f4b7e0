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

from ._xp import (
    Array,
    at_least_zero,
    exp_of,
    index_sum,
    like,
    matmul,
    namespace,
    row_norms,
    to_host,
    wide,
)
from .draw import Draw
from .engine import Engine, Result, State
from .errors import InputError
from .quiet_kmeans import quiet_fit
from .scaling import Scaling, apply_scaling, cast
from .views import Block, Views

Matrix = np.ndarray[Any, Any]

ROWS_PER_ANCHOR = 20
KMEANS_STEPS = 10
LARGE_SEARCH = 5e8
LARGE_SEARCH_ON_DEVICE = 2e7
LARGE_ROWS_PER_ANCHOR = 10
LARGE_STEPS = 4
MOST_SPREAD = 200


class Kernel(NamedTuple):
    """Anchors of one view (prepared like its rows) and their features' shape."""

    name: str
    anchors: Matrix
    width: float


def squared_distances(x: Array, anchors: Array) -> Array:
    """Squared Euclidean distances (n_rows, n_anchors), never negative."""
    a = cast(anchors, x) if not sp.issparse(x) else anchors.astype(x.dtype, copy=False)
    d = matmul(x, -2.0 * a.T)
    d += row_norms(x)[:, None]
    d += row_norms(a)[None, :]
    return at_least_zero(d)


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
) -> tuple[Matrix, ...]:
    """Prepared anchors of every view: given, drawn ("random") or k-means centres."""
    if not isinstance(wanted, str):
        return _given_anchors(wanted, scalings, drawn)
    prepared = (apply_scaling(drawn.view(v), s) for v, s in enumerate(scalings))
    if wanted == "random":
        return tuple(dense(rows[:n_anchors]) for rows in prepared)
    return tuple(kmeans_anchors(rows, n_anchors, seed) for rows in prepared)


def _given_anchors(
    anchors: Any, scalings: tuple[Scaling, ...], drawn: Draw
) -> tuple[Matrix, ...]:
    """A user's anchors, one array per view in input units, checked and prepared."""
    known = [m.mean.size for m in drawn.moments]
    given = [Views.of(a) for a in anchors]
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


def kmeans_anchors(rows: Array, n_anchors: int, seed: int) -> Array:
    """Centres of a short k-means on prepared rows (host, dense or sparse)."""
    rows = rows[: ROWS_PER_ANCHOR * n_anchors]
    if n_anchors >= rows.shape[0]:
        return dense(rows)
    work = rows.shape[0] * n_anchors * rows.shape[1]
    if work > (LARGE_SEARCH_ON_DEVICE if is_torch_array(rows) else LARGE_SEARCH):
        search_by = sparse_lloyd if sp.issparse(rows) else lloyd
        return search_by(rows[: LARGE_ROWS_PER_ANCHOR * n_anchors], n_anchors, seed)
    rows = rows if sp.issparse(rows) else to_host(rows)
    rows = coarse(rows)
    # Anchors need to cover the data, not to converge: a few Lloyd steps do. For
    # many of them random rows are as good a start as k-means++, and far cheaper.
    start: Any = "k-means++"
    if n_anchors > MOST_SPREAD:
        chosen = np.random.default_rng(seed).permutation(rows.shape[0])[:n_anchors]
        start = dense(rows[chosen]).astype(rows.dtype)
    search = KMeans(
        n_anchors,
        init=start,
        n_init=1,
        max_iter=KMEANS_STEPS,
        random_state=seed,
        tol=0.0,
    )
    return np.asarray(quiet_fit(search, rows).cluster_centers_, dtype=np.float64)


def lloyd(rows: Array, n_anchors: int, seed: int) -> Array:
    """A few Lloyd steps from random rows, where k-means++ would take too long."""
    xp = namespace(rows)
    start = np.random.default_rng(seed).permutation(rows.shape[0])[:n_anchors]
    centres = rows[like(start, rows)]
    ones = xp.ones_like(rows[:, :1])
    for _ in range(KMEANS_STEPS if is_torch_array(rows) else LARGE_STEPS):
        score = rows @ (-2.0 * centres.T)
        score += row_norms(centres)
        nearest = xp.argmin(score, axis=1)
        counts = cast(index_sum(ones, nearest, n_anchors), rows)
        sums = cast(index_sum(rows, nearest, n_anchors), rows)
        filled = counts > 0
        safe = xp.where(filled, counts, xp.ones_like(counts))
        centres = xp.where(filled, sums / safe, centres)
    return wide(centres)


def sparse_lloyd(rows: Any, n_anchors: int, seed: int) -> Matrix:
    """The same steps on sparse rows; only the centres are dense."""
    n_rows = rows.shape[0]
    start = np.random.default_rng(seed).permutation(n_rows)[:n_anchors]
    centres = np.asarray(rows[start].toarray())
    for _ in range(LARGE_STEPS):
        score = rows @ np.ascontiguousarray(-2.0 * centres.T)
        nearest = np.argmin(score + row_norms(centres), axis=1)
        counts = np.bincount(nearest, minlength=n_anchors)
        share = (1.0 / counts[nearest]).astype(rows.dtype)
        place = (nearest, np.arange(n_rows))
        means = sp.csr_array((share, place), shape=(n_anchors, n_rows)) @ rows
        filled = np.flatnonzero(counts)
        centres[filled] = means[filled].toarray()
    return centres


def coarse(rows: Array) -> Array:
    """Rows rounded to 24 binary digits.

    k-means++ meets exact ties (either of two rows that are each other's nearest),
    and the rounding of other sums must not be what breaks them.
    """
    if sp.issparse(rows):
        return sp.csr_array((coarse(rows.data), rows.indices, rows.indptr), rows.shape)
    mantissa, exponent = np.frexp(rows)
    return np.ldexp(np.rint(mantissa * 2.0**24) / 2.0**24, exponent)


def dense(rows: Array) -> Matrix:
    """A few rows as a dense float64 array on the host."""
    plain = rows.toarray() if sp.issparse(rows) else to_host(rows)
    return plain.astype(np.float64, copy=False)


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
    the distances stay in the state, for the features to be made of. With `drawn`
    the mean is that of the drawn rows, without a pass.
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


def spacing(anchors: Matrix) -> float:
    """Mean distance of an anchor to the nearest other one; 0 if all are the same."""
    d = squared_distances(anchors, anchors)
    noise = 16 * np.finfo(d.dtype).eps * row_norms(anchors)
    nearest = np.where(d > noise[:, None], d, np.inf).min(axis=1)
    apart = nearest[np.isfinite(nearest)]
    return float(np.sqrt(apart).mean()) if apart.size else 0.0


def width_step(block: Block, state: State, small: WidthSmall) -> Result:
    """Per view: sum of nearest-anchor distances, rows, rows away from any anchor."""
    stats: dict[str, Array] = {}
    kept: dict[str, Array] = {}
    for v, x in enumerate(block.views):
        rows = apply_scaling(x, small.scalings[v])
        d = squared_distances(rows, small.anchors[v])
        xp = namespace(d)
        nearest = wide(xp.min(d, axis=1)) ** 0.5
        # |x|²+|a|²−2x·a of a row with itself is rounding, not distance.
        noise = xp.finfo(d.dtype).eps ** 0.5 * 4 * row_norms(rows) ** 0.5
        nearest = nearest * wide(nearest > wide(noise))
        there = wide(like(block.present[:, v], nearest))
        away = wide(nearest > 0) * there
        sums = [xp.sum(nearest * there), xp.sum(there), xp.sum(away)]
        stats[f"nearest{v}"] = xp.stack(sums)
        if small.keep:
            kept[f"D{v}"] = d
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
        d = squared_distances(rows, kernel.anchors)
        phi = from_distances(d, kernel, reuse=True)
    return phi


def from_distances(d: Array, kernel: Kernel, *, reuse: bool = False) -> Array:
    """exp(−d/(2σ²)) of squared distances; with `reuse` these are overwritten."""
    factor = -0.5 / kernel.width**2 if kernel.width > 0 else 0.0
    return exp_of(d, factor, reuse=reuse)
