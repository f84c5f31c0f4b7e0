"""Draw rows by content, so that a shuffled file gives the same draw.

Every row gets two seeded hashes of its standardised values: a coarse one (rounded
to 1/64 of a standard deviation, so that rounding in other sums does not move it)
and a fine one that settles ties. The m rows with the
smallest hashes are the draw: a bottom-m sketch that blocks, engines and
workers can merge in any order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Array, like, namespace, to_host
from manyview.engine.contract import Engine, Result, State
from manyview.stages.scaling import (
    Moments,
    Scaling,
    cast,
    make_scaling,
    mark_gaps,
    measure,
    seen,
    suggest,
)
from manyview.views.views import Block

Matrix = np.ndarray[Any, Any]

COARSE = 64.0
FINE = 2.0**16
ALL = 2**63 - 1
SAMPLED_ROWS = 65_536
SAMPLED = "sampled"


class Draw(NamedTuple):
    """The column moments of every view, and rows drawn by content.

    Attributes
    ----------
    moments : tuple of Moments
    rows : array (size,)
        Row numbers in the order of their hashes.
    block : Block
        Those rows of all views.
    """

    moments: tuple[Moments, ...]
    rows: Matrix
    block: Block

    def view(self, v: int) -> Array:
        """The drawn rows of one view, without those that lack it."""
        there = to_host(self.block.present[:, v])
        x = self.block.views[v]
        return x if there.all() else x[np.flatnonzero(there)]

    def seen(self, scalings: tuple[Scaling, ...]) -> Draw:
        """The draw without the views in which a row holds nothing."""
        return self._replace(block=seen(self.block, scalings))


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


def draw(engine: Engine, size: int, seed: int) -> Draw:
    """Measure the views and draw `size` rows: two passes and one gathering."""
    moments = measure(engine)
    rows = draw_rows(engine, moments, size, seed)
    return Draw(moments, rows, engine.take(rows))


def draw_rows(
    engine: Engine, moments: tuple[Moments, ...], size: int, seed: int
) -> Matrix:
    """Row numbers of a draw of `size` rows, in the order of their hashes."""
    multipliers = tuple(
        # The same stream for every view: a view's place must not matter.
        _odd_numbers(m.mean.size, seed)
        for m in moments
    )
    n_rows = engine.n_samples
    sample = _quantile(SAMPLED_ROWS / n_rows) if n_rows > SAMPLED_ROWS else None
    # Six standard deviations of room: only repeated rows can make it too tight.
    share = (size + 6 * size**0.5 + 6) / n_rows
    for below in (_quantile(share), ALL):
        small = SketchSmall(moments, multipliers, size, below, sample)
        _, notes = engine.run(sketch_step, small, title="Drawing rows")
        keys = np.concatenate(notes, axis=1)
        if keys.shape[1] >= size or below == ALL:
            break
    return np.asarray(keys[2, _smallest(keys, size)])


def _odd_numbers(size: int, seed: int) -> Matrix:
    numbers = np.random.default_rng(seed).integers(-(2**30), 2**30, size) * 2 + 1
    return numbers.astype(np.int32)


def _quantile(share: float) -> int:
    """The signed 64-bit number below which that share of them lies."""
    return ALL if share >= 1 else int(share * 2.0**64) - 2**63


def sketch_step(block: Block, state: State, small: SketchSmall) -> Result:
    """The block's rows of smallest hash: coarse, fine, row number."""
    coarse = _row_hash(block, small, COARSE, None)
    xp = namespace(coarse)
    kept = {} if small.sample is None else {SAMPLED: coarse < small.sample}
    rows = xp.nonzero(coarse <= small.below)[0]
    fine = _row_hash(block, small, FINE, rows)
    found = to_host(rows)
    keys = np.stack([to_host(coarse[rows]), to_host(fine), block.start + found])
    return Result(state=kept, note=keys[:, _smallest(keys, small.size)])


def _row_hash(
    block: Block, small: SketchSmall, steps: float, rows: Array | None
) -> Array:
    """Hash of the block's rows (or of some of them) over all views they have."""
    total: Array = 0
    for v, x in enumerate(block.views):
        there = block.there(v)
        if rows is not None:
            x = x[rows]
            there = None if there is None else there[to_host(rows)]
        codes = _codes(x, small.moments[v], steps)
        one = _hash(codes, small.multipliers[v])
        total = total + (one if there is None else one * like(there, one))
    return _mix(total)


def _smallest(keys: Matrix, size: int) -> Matrix:
    return np.lexsort((keys[1], keys[0]))[:size]


def _codes(x: Array, moments: Moments, steps: float) -> Array:
    """The row's values in steps of a standard deviation; sparse ones not centred."""
    unit = moments.inverse_std * steps
    if sp.issparse(x):
        scaled = x.data * unit[x.indices].astype(x.dtype)
        return sp.csr_array((scaled, x.indices, x.indptr), shape=x.shape)
    codes = x - cast(moments.mean, x)
    codes *= cast(unit, codes)
    return codes


def _hash(codes: Array, multiplier: Matrix) -> Array:
    """Mixed linear hash, modulo 2^32, of every row's rounded values.

    No value is further from the mean than √n standard deviations: in steps it
    fits into 32 bits.
    """
    if sp.issparse(codes):
        whole = np.rint(codes.data).astype(np.int32)
        rounded = sp.csr_array((whole, codes.indices, codes.indptr), codes.shape)
        return _mix(np.asarray(rounded @ multiplier).astype(np.int64))
    xp = namespace(codes)
    whole = xp.astype(xp.round(codes), xp.int32)
    whole *= like(multiplier, codes)
    return _mix(xp.astype(xp.sum(whole, axis=1, dtype=xp.int32), xp.int64))


def _mix(h: Array) -> Array:
    """splitmix64's finaliser: every input bit reaches every output bit."""
    h = (h ^ _shift(h, 30)) * _signed(0xBF58476D1CE4E5B9)
    h = (h ^ _shift(h, 27)) * _signed(0x94D049BB133111EB)
    return h ^ _shift(h, 31)


def _shift(h: Array, bits: int) -> Array:
    """Logical right shift of signed 64-bit integers."""
    return (h >> bits) & ((1 << (64 - bits)) - 1)


def _signed(constant: int) -> int:
    return constant - 2**64 if constant >= 2**63 else constant


def choose_scalings(
    drawn: Draw, kind: str | None, n_clusters: int
) -> tuple[Scaling, ...]:
    """The scaling of every view: the named one, or what its drawn rows suggest."""
    found = []
    for v, moments in enumerate(drawn.moments):
        rows = drawn.view(v)
        own = suggest(moments, rows, n_clusters) if kind == "auto" else kind
        found.append(mark_gaps(make_scaling(moments, own), rows, n_clusters))
    return tuple(found)
