"""Anchors, and what a block of rows looks like from them: the features Phi.

The RBF features of the paper's eq. (7), as its authors compute them, are
exp(−d²/(2σ²)) with σ = 2 · mean_i min_j d_ij, and every column centred. They are
made once and kept in the state, or made again in every pass where memory does not
allow it: `block_features` hides which.
"""

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array

from manyview.arrays.ops import (
    Array,
    Matrix,
    at_least_zero,
    cast,
    dense,
    exp_of,
    expanded_distances,
    in_float64,
    like,
    masked,
    namespace,
    row_norms,
    squared_distances,
    to_host,
)
from manyview.engine.contract import (
    Engine,
    Result,
    State,
    Totals,
    cut,
    fold,
    sizes,
    touches,
)
from manyview.engine.threads import at_once, side_by_side
from manyview.kmeans.batched import batched_anchors
from manyview.kmeans.passes import kmeans_anchors
from manyview.kmeans.row_products import anchors_by_products, row_products
from manyview.stages import ridge
from manyview.stages.given_anchors import given_anchors
from manyview.stages.sampling import SAMPLED, Draw
from manyview.stages.scaling import Scaling, apply_scaling, hide_empty_rows
from manyview.views.views import Block

N_ANCHORS, ROWS_PER_FEATURE = 500, 8  # twice as many fit no better (DESIGN.md)
# Of the Gram's mean eigenvalue, where nothing chooses: leaves the leading directions.
LAM_SHARE = 0.01
MOST_FEW_ROWS = 4096  # their inner products take 128 MB
TOGETHER = 2**24  # entries of views whose rows are prepared together: 64 MB
CENTRE_ROWS = 500  # show how large the rounding of a float32 Gram is
ROUNDED = 16.0  # units in the last place, of |x|²: what |x − x|² may come to


class Kernel(NamedTuple):
    """Anchors of one view (prepared like its rows) and their features' shape."""

    name: str
    anchors: Array
    width: float


class Features(NamedTuple):
    """How to make (or find) the features of a block.

    `keep`: they stay in the state; `sampled`: their Gram is that of a sample of the
    rows; a view's Gram is taken about its entry of `centres`, if any, in float32.
    """

    scalings: tuple[Scaling, ...]
    kernels: tuple[Kernel, ...]
    means: tuple[Matrix, ...] = ()
    reduces: tuple[Matrix | None, ...] = ()
    centres: tuple[Matrix | None, ...] = ()
    keep: bool = True
    sampled: bool = False


def anchor_count(n_anchors: int | None, n_samples: int, n_clusters: int) -> int:
    """`n_anchors` at most, one for every second row; by default fewer."""
    per_row = 2 if n_anchors else ROWS_PER_FEATURE
    room = max(n_samples // per_row, min(n_samples, 3 * n_clusters))
    return max(1, min(n_anchors or N_ANCHORS, room))


def choose_anchors(
    drawn: Draw,
    scalings: tuple[Scaling, ...],
    wanted: Any,
    n_anchors: int,
    seed: int,
    view_order: Sequence[int],
    products: dict[int, Matrix] | None = None,
) -> tuple[Array, ...]:
    """Prepared anchors of every view: given (in the caller's order), drawn or found."""
    if not isinstance(wanted, str):
        return given_anchors(wanted, scalings, drawn, view_order)
    if wanted == "random":
        rows = [drawn.view(v)[:n_anchors] for v in range(len(scalings))]
        return tuple(map(dense, map(apply_scaling, rows, scalings)))
    search = [(n_anchors, seed)]
    return tuple(anchors_of_views(drawn, scalings, search, products=products)[0])


def anchors_of_views(
    drawn: Draw,
    scalings: tuple[Scaling, ...],
    searches: Sequence[tuple[int, int]],
    *,
    products: dict[int, Matrix] | None = None,
) -> list[list[Array]]:
    """Anchors of every view for each (number, seed), centres of a short k-means.

    All views see the same seed: a view's place must not matter. On the host, searches
    run side by side; wide views are prepared one by one, and their `products` are kept.
    """
    known = {} if products is None else products

    def prepared(v: int) -> Array:
        return apply_scaling(drawn.view(v), scalings[v])

    n_views = len(scalings)
    if is_torch_array(drawn.block.views[0]):
        views = [prepared(v) for v in range(n_views)]
        return [batched_anchors(views, size, seed) for size, seed in searches]
    pairs = zip(drawn.block.views, scalings, strict=True)
    seen = [x if s.directions is None else s.directions for x, s in pairs]
    entries = [len(drawn.block) * x.shape[1] for x in seen]
    groups = [[v] for v in range(n_views)]
    if sum(entries) <= TOGETHER:
        groups = [list(range(n_views))]
    by_view: list[list[Array]] = []
    for group in groups:
        jobs: list[Any] = []
        for v, rows in zip(group, map(prepared, group), strict=True):
            search: Any = kmeans_anchors
            if rows.shape[0] <= min(rows.shape[1], MOST_FEW_ROWS):
                known[v] = known[v] if v in known else row_products(rows)
                search = partial(anchors_by_products, products=known[v])
            jobs += [partial(search, rows, *each) for each in searches]
        found = side_by_side(jobs)
        step = len(searches)
        by_view += [found[a : a + step] for a in range(0, len(found), step)]
    return [list(found) for found in zip(*by_view, strict=True)]


def make_kernels(
    engine: Engine,
    name: str,
    scalings: tuple[Scaling, ...],
    anchors: tuple[Matrix, ...],
    *,
    keep: bool = False,
    drawn: Draw | None = None,
) -> tuple[Kernel, ...]:
    """Anchors with the width σ of their features (none for the linear kernel).

    Rows that are anchors themselves have distance 0 and count, as the authors
    do it, unless they are the majority: then only the others count. Where every
    row is an anchor, the anchors' distances to each other stand in. With `keep`
    the distances stay in the state; with `drawn` the mean is that of these rows.
    """
    kernels = tuple(Kernel(name, a, 0.0) for a in anchors)
    if name == "linear":
        return kernels
    shared = Features(scalings, kernels, keep=keep and drawn is None)
    total: Totals = {}
    if drawn is None:
        total, _ = engine.run(width_step, shared, title="Measuring kernel widths")
    else:
        blocks = map(drawn.block.part, cut(len(drawn.block), sizes.block_rows))
        jobs = [partial(width_step, block, {}, shared) for block in blocks]
        for result in side_by_side(jobs, drawn.block.views[0]):
            fold(total, result)
    widths = []
    for v, a in enumerate(anchors):
        distance, n_rows, away = to_host(total[f"nearest{v}"])
        counted = away if 2 * away < n_rows else n_rows
        mean = float(distance / counted) if away else spacing(a, engine.dtype)
        widths.append(2.0 * mean)
    return tuple(k._replace(width=w) for k, w in zip(kernels, widths, strict=True))


def spacing(anchors: Array, dtype: np.dtype[Any]) -> float:
    """Mean distance of an anchor to the nearest other one; 0 if all are the same.

    `dtype` is that of the rows: anchors that differ by its rounding are the same.
    """
    anchors = to_host(anchors)
    d = squared_distances(anchors, anchors)
    noise = rounding(anchors.shape[1], np.finfo(dtype).eps) * row_norms(anchors)
    nearest = np.where(d > noise[:, None], d, np.inf).min(axis=1)
    apart = nearest[np.isfinite(nearest)]
    return float(np.sqrt(apart).mean()) if apart.size else 0.0


def rounding(width: int, eps: float) -> float:
    """Share of |x|² that |x|² + |a|² − 2 x·a may come to where x is a.

    Errors of wider rows add up like steps to either side.
    """
    return max(ROUNDED, 2.0 * math.sqrt(width)) * eps


@touches(writes=["D"])
def width_step(block: Block, state: State, shared: Features) -> Result:
    """Per view: sum of nearest-anchor distances, rows, rows away from any anchor."""
    stats: dict[str, Array] = {}
    kept: dict[str, Array] = {}
    block = hide_empty_rows(block, shared.scalings)
    for v, x in enumerate(block.views):
        rows = apply_scaling(x, shared.scalings[v])
        d = expanded_distances(rows, shared.kernels[v].anchors)
        xp = namespace(d)
        nearest = in_float64(at_least_zero(xp.min(d, axis=1))) ** 0.5
        # |x|²+|a|²−2x·a of a row with itself is rounding, not distance; so is a mean
        # of rows of zeros.
        eps = xp.finfo(d.dtype).eps
        largest = xp.max(row_norms(cast(shared.kernels[v].anchors, d))) ** 0.5
        share = rounding(x.shape[1], eps)
        noise = share**0.5 * row_norms(rows) ** 0.5 + ROUNDED * eps * largest
        nearest = nearest * in_float64(nearest > in_float64(noise))
        own = block.there(v)
        there = xp.ones_like(nearest) if own is None else in_float64(like(own, nearest))
        away = in_float64(nearest > 0) * there
        sums = [xp.sum(nearest * there), xp.sum(there), xp.sum(away)]
        stats[f"nearest{v}"] = xp.stack(sums)
        if shared.keep:
            kept[f"D{v}"] = d
    return Result(state=kept, stats=stats)


def features(x: Array, scaling: Scaling, kernel: Kernel) -> Array:
    """Phi (n_rows, n_anchors): exp(−d²/(2σ²)), or inner products. Not centred: the
    mean is known only after the Gram pass, and `ridge` takes it out there."""
    rows = apply_scaling(x, scaling)
    if kernel.name == "linear":
        weights = kernel.anchors.T
        return rows @ (weights if sp.issparse(rows) else cast(weights, rows))
    d = expanded_distances(rows, kernel.anchors)
    return exp_of(d, _exponent(kernel), reuse=True)


def _exponent(kernel: Kernel) -> float:
    return -0.5 / kernel.width**2 if kernel.width > 0 else 0.0


def feature_passes(n_rounds: int, sampled: bool) -> int:
    """Passes that need all rows' features: the Grams (of all rows), start, rounds."""
    return n_rounds + (1 if sampled else 2)


def plain_features(
    engine: Engine,
    drawn: Draw,
    scalings: tuple[Scaling, ...],
    anchors: tuple[Array, ...],
    *,
    kernel: str,
    lam: float | None,
    n_rounds: int,
) -> Features:
    """How to make the features of these anchors, and whether to keep them."""
    # A ridge weight that follows the Gram's size needs no exact Gram.
    rough = lam is None and engine.n_samples > sizes.sampled_rows
    n_bytes = engine.dtype.itemsize * sum(len(a) for a in anchors)
    work = 2.0 * sum(a.shape[0] * a.shape[1] for a in anchors)
    keep = engine.keeps(n_bytes, work, feature_passes(n_rounds, rough))
    some = drawn if rough else None
    kernels = make_kernels(engine, kernel, scalings, anchors, keep=keep, drawn=some)
    found = Features(scalings, kernels, keep=keep, sampled=rough)
    on_device = is_torch_array(drawn.block.views[0])  # multiplies float64 as fast
    if on_device or (lam is None and not rough):
        return found
    few = [drawn.view(v)[:CENTRE_ROWS] for v in range(len(anchors))]
    views = list(zip(few, scalings, kernels, strict=True))
    quick = partial(ridge.quick_centre, lam=lam, n_samples=engine.n_samples)
    centres = at_once(lambda of: quick(features(*of)), views, few[0])
    return found._replace(centres=tuple(centres))


def sum_grams(engine: Engine, plain: Features) -> list[ridge.Gram]:
    """One pass: Gram and mean of every view's features; those of a sample scaled up."""
    total, _ = engine.run(gram_step, plain, title="Anchor features")
    grams = []
    for v in range(len(plain.kernels)):
        count, sums = float(total[f"rows{v}"]), total[f"sum{v}"]
        gram = ridge.centred_gram(total[f"gram{v}"], sums, count)
        if plain.sampled:
            gram = gram * (float(total[f"all{v}"]) / max(count, 1.0))
        mean = sums / max(count, 1.0)
        centre = plain.centres[v] if plain.centres else None
        grams.append(ridge.Gram(gram, mean if centre is None else mean + centre))
    return grams


def fit_features(
    plain: Features,
    grams: list[ridge.Gram],
    lam: float | None,
    rank_tol: float,
    *,
    reduces: bool = True,
) -> tuple[Features, tuple[ridge.Ridge, ...]]:
    """A ridge per view, and the features that it speaks of.

    Without `lam` it is `LAM_SHARE` of the mean eigenvalue of each view's Gram, which
    neither rows nor anchors change. Without `reduces` Phi stays for other ridges.
    """
    reduces = reduces and plain.keep

    def fitted(gram: ridge.Gram) -> ridge.Ridge:
        own = LAM_SHARE * ridge.mean_eigenvalue(gram.matrix) if lam is None else lam
        return ridge.factor_gram(*gram, own, rank_tol, reduces=reduces)

    ridges = at_once(fitted, grams, grams[0].matrix)
    means = tuple(g.mean for g in grams)
    reducing = tuple(r.reduce for r in ridges)
    return plain._replace(means=means, reduces=reducing), tuple(ridges)


@touches(reads=["D", SAMPLED], writes=["Phi"])
def gram_step(block: Block, state: State, shared: Features) -> Result:
    """Phi of every view; Gram, column sums and number of (sampled) rows."""
    kept: dict[str, Array] = {}
    replaces: dict[str, str] = {}
    stats: dict[str, Array] = {}
    rows = None
    block = hide_empty_rows(block, shared.scalings)
    if shared.sampled:
        rows = namespace(state[SAMPLED]).nonzero(state[SAMPLED])[0]
    for v in range(block.present.shape[1]):
        there = chosen = block.there(v)
        stats[f"all{v}"] = count_rows(there, len(block))
        if there is not None and rows is not None:
            chosen = there[to_host(rows)]
        if rows is not None and not shared.keep:
            some = block.views[v][rows]
            phi = masked(features(some, shared.scalings[v], shared.kernels[v]), chosen)
        else:
            phi = masked(_first_features(block, state, shared, v), there)
            if shared.keep:
                kept[f"Phi{v}"] = phi
                if f"D{v}" in state:
                    replaces[f"Phi{v}"] = f"D{v}"
            phi = phi if rows is None else phi[rows]
        centre = shared.centres[v] if shared.centres else None
        if centre is not None:
            phi = masked(phi - cast(centre, phi), chosen)
        exact = centre is None and not shared.sampled
        stats[f"gram{v}"], stats[f"sum{v}"] = ridge.block_gram(phi, exact=exact)
        stats[f"rows{v}"] = count_rows(chosen, phi.shape[0])
    return Result(state=kept, stats=stats, replaces=replaces)


def _first_features(block: Block, state: State, shared: Features, v: int) -> Array:
    """Phi from the distances that the width pass has left, or from the view."""
    if f"D{v}" not in state:
        return features(block.views[v], shared.scalings[v], shared.kernels[v])
    return exp_of(state[f"D{v}"], _exponent(shared.kernels[v]))


def count_rows(there: Matrix | None, n_rows: int) -> Matrix:
    """How many of the rows have a view, to be summed."""
    return np.asarray(float(n_rows if there is None else np.count_nonzero(there)))


def block_features(block: Block, state: State, shared: Features, v: int) -> Array:
    """The kept features of one view: from the state, or made again."""
    if f"Psi{v}" in state:
        return state[f"Psi{v}"]
    phi = state.get(f"Phi{v}")
    if phi is None:
        phi = features(block.views[v], shared.scalings[v], shared.kernels[v])
    reduce = shared.reduces[v]
    if reduce is None:
        return phi
    return ridge.reduced(phi, cast(shared.means[v], phi), cast(reduce, phi))


def keep_reduced(phis: list[Array], state: State, shared: Features) -> Result:
    """Psi of the views that have one, in place of the Phi it was made of."""
    if not shared.keep:
        return Result()
    reduced = [v for v, matrix in enumerate(shared.reduces) if matrix is not None]
    return Result(
        state={f"Psi{v}": phis[v] for v in reduced},
        replaces={f"Psi{v}": f"Phi{v}" for v in reduced if f"Phi{v}" in state},
    )
