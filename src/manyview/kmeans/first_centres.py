"""First centres, all of them rows: far from each other, or random ones that differ.

`spread_rows` is greedy k-means++ as a race: row i takes an exponential time divided by
its squared distance to the rows picked before, so that it wins with a probability
proportional to that distance, whatever the rounding of sums over other rows.

`distinct_rows` takes rows in a given order, and of rows that are one up to rounding
only one. Two centres within rounding of each other share their rows by the last digit
of every distance: anchors would hang on the order in which column means were summed.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_numpy_array

from manyview.arrays.linear import where_exact
from manyview.arrays.ops import (
    Array,
    Matrix,
    at_least_zero,
    in_float64,
    is_on_gpu,
    like,
    namespace,
    row_norms,
    smallest,
    to_host,
)
from manyview.engine.cuda_graphs import recorded

# Squared distances below this share of the lengths are rounding; of float32 rows so
# many times its precision.
NO_DISTANCE = 1e-12
ROUNDED = 16
# Rows looked at for every centre wanted: as few as mostly do, then more.
LOOKS = (1.25, 4.0)
# Rows compared with those before them at a time: 16 MB for a few thousand.
COMPARED = 512
LEVEL_SUM = 1e-5  # starts whose sums of squares differ by less are level
DRAWN_AT_ONCE = 2**22  # random numbers: 16 MB of float32


class Points(NamedTuple):
    """Rows, their squared lengths and, where they are known, their inner products."""

    rows: Array
    lengths: Array
    products: Array | None


def spread_rows(
    rows: Array,
    n_clusters: int,
    rng: np.random.Generator,
    n_starts: int = 1,
    products: Matrix | None = None,
) -> Matrix:
    """Numbers (n_starts, n_clusters) of rows far from each other (greedy k-means++).

    Of a few picks the one that lowers the sum of squared distances most is kept. Rows
    (n, d) may be sparse, or on a device; with rows (s, n, d) every search has its own.
    """
    rows = in_float64(rows)
    n_rows = rows.shape[-2]
    n_tries = min(2 + int(math.log(n_clusters)), n_rows)
    lengths = row_norms(rows) if products is None else np.diagonal(products)
    # A distance that is rounding comes out below 0, and counts as none.
    points = Points(rows, (1.0 - NO_DISTANCE) * lengths, products)
    own_rows = len(rows.shape) == 3
    n_searches = rows.shape[0] if own_rows else n_starts
    xp = namespace(lengths)
    each = like(np.arange(n_searches), lengths)
    times = _races(lengths, n_clusters, rng, n_starts)
    first = xp.argmin(next(times), axis=1)
    picks = [first[like(np.zeros(n_searches, dtype=int), first)] if own_rows else first]
    nearest = _distances(points, picks[0][:, None], each)[:, 0, :]
    pick: Any = partial(_pick, points, each, n_tries)
    if n_searches == 1 and not own_rows and is_numpy_array(lengths):
        turned = -2.0 * rows.T if products is None else None
        pick = partial(_pick_on_host, points, turned, n_tries)
    if is_on_gpu(lengths):
        pick = recorded(pick, lengths.device)
    while len(picks) < n_clusters:
        nearest, picked = pick(nearest, next(times))
        picks.append(xp.asarray(picked, copy=True))
    return to_host(xp.stack(picks, axis=1))


def _pick(
    points: Points, each: Array, n_tries: int, nearest: Array, race: Array
) -> tuple[Array, Array]:
    """The best of a few rows, by every search: distances after it, and its number."""
    xp = namespace(nearest)
    # A row that repeats a picked one never arrives, not even with no time to take.
    apart, one = nearest > 0.0, xp.ones_like(nearest)
    arrival = xp.where(apart, race / xp.where(apart, nearest, one), np.inf * one)
    tries = smallest(arrival, n_tries)[1]
    closer = _distances(points, tries, each)
    closer = xp.minimum(closer, nearest[:, None, :])
    # Two rows that are each other's nearest lower the sum alike: of those
    # that come level, the winner of the race.
    sums = xp.sum(closer, axis=2)
    level = sums <= (1.0 + LEVEL_SUM) * xp.min(sums, axis=1, keepdims=True)
    best = xp.argmax(xp.astype(level, xp.int8), axis=1)
    return closer[each, best], tries[each, best]


def _pick_on_host(
    points: Points, turned: Any, n_tries: int, nearest: Matrix, race: Matrix
) -> tuple[Matrix, Matrix]:
    """The same of one search on the host, in half the time."""
    near = nearest[0]
    arrival = np.full(len(near), np.inf)
    np.divide(race[0], near, out=arrival, where=near > 0.0)
    tries = np.empty(n_tries, dtype=np.intp)
    for place in range(n_tries):
        tries[place] = arrival.argmin()
        arrival[tries[place]] = np.inf
    if points.products is None:
        d = points.rows[tries] @ turned
        d = d.toarray() if sp.issparse(d) else d
    else:
        d = -2.0 * points.products[tries]
    d += points.lengths[tries][:, None]
    d += points.lengths
    np.maximum(d, 0.0, out=d)
    np.minimum(d, near, out=d)
    sums = d.sum(axis=1)
    best = int(np.argmax(sums <= (1.0 + LEVEL_SUM) * sums.min()))
    return d[best][None, :], tries[best : best + 1]


def _races(
    lengths: Array, n_races: int, rng: np.random.Generator, n_starts: int
) -> Iterator[Array]:
    """Exponential times (n_starts, n_rows) of every race, drawn many at once."""
    n_rows = lengths.shape[-1]
    at_once = max(1, DRAWN_AT_ONCE // (n_starts * n_rows))
    for first in range(0, n_races, at_once):
        n_now = min(at_once, n_races - first)
        times = rng.standard_exponential((n_now, n_starts, n_rows), np.float32)
        drawn = like(times, lengths)
        for number in range(n_now):
            yield drawn[number, :, :]


def _distances(points: Points, picks: Array, each: Array) -> Array:
    """Squared distances (s, p, n) of the picks of every search to all rows."""
    rows, lengths, products = points
    if len(rows.shape) == 3:
        chosen, own = rows[each[:, None], picks], lengths[each[:, None], picks]
        d = chosen @ namespace(rows).matrix_transpose(rows)
        others = lengths[:, None, :]
    else:
        flat = picks.reshape(-1)
        d = rows[flat] @ rows.T if products is None else products[flat]
        d = d.toarray() if sp.issparse(d) else d
        d = d.reshape((*picks.shape, rows.shape[0]))
        own, others = lengths[picks], lengths
    d *= -2.0
    d += own[:, :, None]
    d += others
    return at_least_zero(d)


def distinct_rows(
    rows: Array, order: Matrix, size: int, products: Matrix | None = None
) -> Matrix:
    """The first `size` row numbers of an order that repeat none before them.

    Rows (n, d) may be sparse, or on a device; of rows (s, n, d) every search has its
    own numbers (s, size). Where too few rows differ, repeated ones fill up. The rows'
    inner products are looked up where they are known.
    """
    if not sp.issparse(rows) and rows.ndim == 3:
        return np.stack([distinct_rows(own, order, size)[0] for own in rows])
    for look in LOOKS:
        some = order[: int(look * size)]
        own = None if products is None else products[np.ix_(some, some)]
        repeats = _repeats(rows[some], own)
        if np.count_nonzero(~repeats) >= size or len(some) == len(order):
            break
    found = np.concatenate([some[~repeats], order[len(some) :], some[repeats]])
    return found[None, :size]


def _repeats(rows: Array, products: Matrix | None = None) -> Matrix:
    """Which rows lie where an earlier one does, up to rounding."""
    rows, found = where_exact(rows), []
    lengths = in_float64(row_norms(rows))
    kind = np.finfo(str(rows.dtype).removeprefix("torch."))
    share = max(NO_DISTANCE, ROUNDED * float(kind.eps))
    xp = namespace(lengths)
    for first in range(0, len(lengths), COMPARED):
        own = slice(first, first + COMPARED)
        before = slice(0, min(own.stop, len(lengths)))
        if products is None:
            d = rows[own] @ rows[before].T
            d = d.toarray() if sp.issparse(d) else d
        else:
            d = products[own, before]
        both = lengths[own, None] + lengths[None, before]
        near = xp.tril(both - 2.0 * d <= share * both, k=first - 1)
        found.append(xp.any(near, axis=1))
    return to_host(xp.concat(found))
