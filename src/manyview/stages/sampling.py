"""Rows drawn by content, and what they tell of the views.

Every row gets two seeded hashes of its standardised values: a coarse one (rounded
to 1/64 of a standard deviation, so that rounding in other sums does not move it)
and a fine one that settles ties; rows that are one up to rounding follow the hash of
their bits. The m rows with the smallest hashes are the draw: a bottom-m sketch that
blocks, engines and workers can merge in any order, the same for a shuffled file.

The neighbours of drawn rows tell how much each view shaped the consensus. A view
speaks for a partition where the nearest neighbours of a row, in that view alone,
lie in the row's cluster more often than chance has it; its influence is that
agreement times the weight it had. Rows are never their own neighbours, so a view of
noise gets nothing.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.arrays.linear import plus_diagonal
from manyview.arrays.ops import (
    Array,
    Matrix,
    cast,
    in_float64,
    like,
    mix64,
    namespace,
    nearest_points,
    row_norms,
    smallest,
    to_host,
)
from manyview.engine.content_order import hash_block, odd_numbers
from manyview.engine.contract import Engine, Result, State, sizes, touches
from manyview.engine.threads import side_by_side
from manyview.errors import DegenerateWarning, InputError
from manyview.stages.scaling import (
    Moments,
    Scaling,
    along_directions,
    apply_scaling,
    hide_empty_rows,
    make_scaling,
    mark_gaps,
    measure,
    suggest,
)
from manyview.views.views import Block

# Steps of a standard deviation: far coarser than rounding, far finer than clusters.
COARSE = 64.0
FINE = 2.0**16
ALL = 2**63 - 1  # the largest hash: leaves no row out
SAMPLED = "sampled"
# Rows whose neighbours are looked at, all against all: a million distances.
INFLUENCE_ROWS = 1000
# Neighbours of a row: the usual number of neighbourhood graphs.
NEIGHBOURS = 10


class Draw(NamedTuple):
    """The column moments of every view, and rows drawn by content.

    Attributes
    ----------
    moments : tuple of Moments
    rows : array (size,)
        Row numbers (the engine's) in the order of their hashes.
    caller_rows : array (size,)
        The same rows by the caller's numbers.
    block : Block
        Those rows of all views.
    """

    moments: tuple[Moments, ...]
    rows: Matrix
    caller_rows: Matrix
    block: Block

    def view(self, v: int) -> Array:
        """The drawn rows of one view, without those that lack it."""
        there = to_host(self.block.present[:, v])
        x = self.block.views[v]
        return x if there.all() else x[np.flatnonzero(there)]

    def without_most_rows(self) -> Draw:
        """The draw with the few rows that tell of the views' influence in the end."""
        few = first_rows(self.block)
        # Copies: a slice would hold on to all rows.
        views = tuple(x if sp.issparse(x) else 1 * x for x in few.views)
        return self._replace(block=Block(few.start, views, few.present))

    def without_empty_rows(self, scalings: tuple[Scaling, ...]) -> Draw:
        """The draw without the views in which a row holds nothing."""
        return self._replace(block=hide_empty_rows(self.block, scalings))


class SketchSmall(NamedTuple):
    """What the sketch pass needs.

    `below` leaves out rows whose hash is too large to be among the `size`
    smallest; `sample` is the hash below which a row is in the large sample that
    Grams are taken from, or None where they are taken from all rows.
    """

    moments: tuple[Moments, ...]
    multipliers: tuple[Matrix, ...]
    size: int
    below: int
    sample: int | None


def draw(
    engine: Engine, size: int, seed: int, moments: tuple[Moments, ...] | None = None
) -> Draw:
    """Measure the views, unless that is done, and draw `size` rows: two passes."""
    moments = measure(engine) if moments is None else moments
    rows = draw_rows(engine, moments, size, seed)
    return Draw(moments, rows, engine.caller_rows(rows), engine.take(rows))


def draw_rows(
    engine: Engine, moments: tuple[Moments, ...], size: int, seed: int
) -> Matrix:
    """Row numbers of a draw of `size` rows, in the order of their hashes."""
    # The same stream for every view: a view's place must not matter.
    streams = [(np.random.default_rng(seed), m.mean.size) for m in moments]
    draws = [stream.integers(-(2**30), 2**30, size) for stream, size in streams]
    multipliers = tuple((drawn * 2 + 1).astype(np.int32) for drawn in draws)
    n_rows = engine.n_samples
    few = n_rows <= sizes.sampled_rows
    sample = None if few else _quantile(sizes.sampled_rows / n_rows)
    # Six standard deviations of room: only repeated rows can make it too tight.
    share = (size + 6 * size**0.5 + 6) / n_rows
    for below in (_quantile(share), ALL):
        shared = SketchSmall(moments, multipliers, size, below, sample)
        _, notes = engine.run(sketch_step, shared, title="Drawing rows")
        keys = np.concatenate(notes, axis=1)
        if keys.shape[1] >= size or below == ALL:
            break
    return _by_bits(engine, keys[:, _smallest(keys, size)])


def _by_bits(engine: Engine, keys: Matrix) -> Matrix:
    """The row numbers of sorted keys; those of equal keys by the hash of their bits."""
    ties = (keys[:2, 1:] == keys[:2, :-1]).all(axis=0)
    tied = np.flatnonzero(np.append(ties, False) | np.append(False, ties))
    bits = np.zeros(keys.shape[1], dtype=np.int64)
    if tied.size:
        block = engine.take(keys[2, tied])
        odd = [odd_numbers(x.shape[1]) for x in block.views]
        bits[tied] = to_host(mix64(hash_block(block, odd))).sum(axis=1)
    return np.asarray(keys[2, np.lexsort((bits, keys[1], keys[0]))])


def _quantile(share: float) -> int:
    """The signed 64-bit number below which that share of them lies."""
    return ALL if share >= 1 else int(share * 2.0**64) - 2**63


@touches(writes=[SAMPLED])
def sketch_step(block: Block, state: State, shared: SketchSmall) -> Result:
    """The block's rows of smallest hash: coarse, fine, row number."""
    coarse = _row_hash(block, shared, COARSE, None)
    xp = namespace(coarse)
    kept = {} if shared.sample is None else {SAMPLED: coarse < shared.sample}
    rows = xp.nonzero(coarse <= shared.below)[0]
    fine = _row_hash(block, shared, FINE, rows)
    found = to_host(rows)
    keys = np.stack([to_host(coarse[rows]), to_host(fine), block.start + found])
    return Result(state=kept, note=keys[:, _smallest(keys, shared.size)])


def _row_hash(
    block: Block, shared: SketchSmall, steps: float, rows: Array | None
) -> Array:
    """Hash of the block's rows (or of some of them) over all views they have."""
    total: Array = 0
    for v, x in enumerate(block.views):
        there = block.there(v)
        if rows is not None:
            x = x[rows]
            there = None if there is None else there[to_host(rows)]
        one = _hash(_codes(x, shared.moments[v], steps), shared.multipliers[v])
        total = total + (one if there is None else one * like(there, one))
    return mix64(total)


def _smallest(keys: Matrix, size: int) -> Matrix:
    return np.lexsort((keys[1], keys[0]))[:size]


def _codes(x: Array, moments: Moments, steps: float) -> Array:
    """The row's values in steps of a standard deviation; sparse ones not centred."""
    unit = moments.inverse_std * steps
    if moments.dtype == "float64":  # which has room for smaller spreads
        x = in_float64(x)
    if sp.issparse(x):
        scaled = x.data * unit[x.indices].astype(x.dtype)
        return sp.csr_array((scaled, x.indices, x.indptr), shape=x.shape)
    codes = x - cast(moments.mean, x)
    codes *= cast(unit, codes)
    return codes


def _hash(codes: Array, multiplier: Matrix) -> Array:
    """Mixed linear hash, modulo 2^32, of every row's rounded values.

    No value is further from the mean than √n standard deviations: in steps it
    fits into 32 bits. Sparse ones are not centred, and their lowest bits are taken.
    """
    if sp.issparse(codes):
        steps = np.fmod(np.rint(codes.data), 2.0**32).astype(np.int64)
        whole = steps.astype(np.int32)
        rounded = sp.csr_array((whole, codes.indices, codes.indptr), codes.shape)
        return mix64(np.asarray(rounded @ multiplier).astype(np.int64))
    xp = namespace(codes)
    whole = xp.astype(xp.round(codes), xp.int32)
    whole *= like(multiplier, codes)
    return mix64(xp.astype(xp.sum(whole, axis=1, dtype=xp.int32), xp.int64))


def check_views_speak(drawn: Draw, names: Sequence[str]) -> None:
    """Refuse a view that no row has; warn of views in which all rows are the same."""
    constant = []
    for v, name in enumerate(names):
        moments = drawn.moments[v]
        if drawn.view(v).shape[0] == 0:
            raise InputError(
                f"View {name!r} is missing in all rows but {int(moments.n_rows)}, too "
                "few to learn anything from. Leave the view out."
            )
        if moments.n_rows > 1 and not to_host(moments.std).any():
            constant.append(name)
    if constant:
        every = "no view tells rows apart" if len(constant) == len(names) else ""
        warnings.warn(
            "All rows are the same, or differ by less than rounding, in "
            f"{', '.join(map(repr, sorted(constant)))}: "
            f"{every or 'it has no say in the clusters'}. Leave such a view out, or "
            "look whether the right columns were read.",
            DegenerateWarning,
            stacklevel=4,
        )


def choose_scalings(
    drawn: Draw, kind: str | None, n_clusters: int, *, many: bool = False
) -> tuple[Scaling, ...]:
    """The scaling of every view: the named one, or what rows suggest; for `many`."""
    found = []
    for v, moments in enumerate(drawn.moments):
        rows = drawn.view(v)
        own = suggest(moments, rows, n_clusters) if kind == "auto" else kind
        made = mark_gaps(make_scaling(moments, own), rows, n_clusters)
        found.append(along_directions(made, rows, n_clusters) if many else made)
    return tuple(found)


class Influence(NamedTuple):
    """Shares that sum to 1: of all rows, and of the rows of every cluster."""

    overall: Matrix
    by_cluster: Matrix


def first_rows(block: Block) -> Block:
    """The first rows of a drawn block."""
    return block.part(slice(0, min(INFLUENCE_ROWS, len(block))))


def neighbours(block: Block, scalings: tuple[Scaling, ...]) -> list[Matrix]:
    """Nearest rows (n_rows, k) of every row in each view; −1 for rows without it."""

    def of_view(v: int) -> Matrix:
        there = np.flatnonzero(block.present[:, v])
        nearest = np.full((len(block), NEIGHBOURS), -1)
        k = min(NEIGHBOURS, there.size - 1)
        if k > 0:
            rows = apply_scaling(block.views[v][there], scalings[v])
            nearest[there, :k] = there[_nearest_others(rows, k)]
        return nearest

    return side_by_side([partial(of_view, v) for v in range(len(scalings))])


def _nearest_others(rows: Any, k: int) -> Matrix:
    """Numbers of the k nearest other rows of every row."""
    if sp.issparse(rows):
        length = row_norms(rows)
        d = length[:, None] + length - 2.0 * (rows @ rows.T).toarray()
        return np.asarray(smallest(plus_diagonal(d, np.inf), k)[1])
    ids = to_host(nearest_points(rows, rows, k + 1)[1])
    # A row is among its own nearest, unless as many others lie where it does.
    own = ids == np.arange(len(ids))[:, None]
    own[~own.any(axis=1), -1] = True
    return np.asarray(ids[~own].reshape(len(ids), k))


def agreement(nearest: Matrix, labels: Matrix) -> Matrix:
    """Share of a row's neighbours in its own cluster, beyond chance; NaN without."""
    there = nearest[:, 0] >= 0
    out = np.full(len(labels), np.nan)
    if there.sum() < 2:
        return out
    own = labels[there]
    counts = np.bincount(own)[own] - 1
    chance = np.minimum(counts / (own.size - 1), 1.0 - 1e-9)
    mask = nearest[there] >= 0
    same = (labels[nearest[there]] == own[:, None]) & mask
    share = same.sum(axis=1) / mask.sum(axis=1)
    out[there] = (share - chance) / (1.0 - chance)
    return out


def measure_influence(
    near: Sequence[Matrix], labels: Matrix, weights: Matrix, n_clusters: int
) -> Influence:
    """Influence of every view on the labels of rows whose `neighbours` are given.

    `weights` (n_views,) are the weights of the views in the consensus.
    """
    found = to_host(labels[: len(near[0])])
    rows = np.stack([agreement(n, found) for n in near], axis=1)
    by_cluster = np.full((n_clusters, len(near)), 1.0 / len(near))
    for j in range(n_clusters):
        if np.any(found == j):
            by_cluster[j] = _shares(rows[found == j], weights)
    return Influence(_shares(rows, weights), by_cluster)


def _shares(rows: Matrix, weights: Matrix) -> Matrix:
    """Mean agreement times weight, as shares; equal where no view agrees at all."""
    seen = np.maximum(np.sum(~np.isnan(rows), axis=0), 1)
    parts = np.maximum(np.nansum(rows, axis=0) / seen, 0.0) * weights
    total = float(parts.sum())
    return parts / total if total > 0 else np.full(parts.size, 1.0 / parts.size)


class Asked(NamedTuple):
    """What single views say of some drawn rows.

    `rows` of the embedding, `labels` (n_rows,), the cluster that `vote` gives for each
    view (n_rows, n_views), −1 without the view, and the views' `weights`.
    """

    rows: Matrix
    labels: Matrix
    votes: Matrix
    weights: Matrix


def vote(nearest: Matrix, labels: Matrix, n_clusters: int) -> Matrix:
    """Cluster most neighbours of a row are in; −1 for rows without the view."""
    there = nearest[:, 0] >= 0
    counts = np.zeros((len(labels), n_clusters))
    for column in nearest.T:
        rows = np.flatnonzero(column >= 0)
        counts[rows, labels[column[rows]]] += 1.0
    return np.where(there, counts.argmax(axis=1), -1)
