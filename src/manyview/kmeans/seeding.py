"""Starts of k-means that rounding cannot move.

scikit-learn's k-means++ picks the row at which a running sum of squared distances
passes a random number: sums that differ in the last digits, as those of the same
rows in another order do, sooner or later pick another row, and another partition
follows. Here the rows run a race: row i takes an exponential time divided by its
squared distance, so that it wins with a probability proportional to that distance,
and only rows that finish level could change places.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import (
    Array,
    at_least_zero,
    like,
    namespace,
    row_norms,
    smallest,
    to_host,
    wide,
)
from manyview.engine.cuda_graphs import recorded

Matrix = np.ndarray[Any, Any]

NO_DISTANCE = 1e-12
LEVEL = 1e-5
DRAWN_AT_ONCE = 2**22


def spread_rows(
    rows: Array, n_clusters: int, rng: np.random.Generator, n_starts: int = 1
) -> Matrix:
    """Numbers (n_starts, n_clusters) of rows far from each other.

    Greedy k-means++, several searches side by side: a row is picked with
    probability proportional to its squared distance from the rows picked before;
    of a few such picks the one that lowers the sum of squared distances most is
    kept. Rows (n, d) may be sparse, or on a device. With rows (s, n, d) every
    search has rows of its own and all see the same random numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.kmeans.seeding import spread_rows
    >>> rows = np.repeat([[0.0], [9.0]], 5, axis=0)
    >>> picks = spread_rows(rows, 2, np.random.default_rng(0))
    >>> sorted(rows[picks[0], 0].tolist())
    [0.0, 9.0]
    """
    rows = wide(rows)
    n_rows = rows.shape[-2]
    n_tries = min(2 + int(math.log(n_clusters)), n_rows)
    # A distance that is rounding comes out below 0, and counts as none.
    lengths = (1.0 - NO_DISTANCE) * row_norms(rows)
    own_rows = len(rows.shape) == 3
    n_searches = rows.shape[0] if own_rows else n_starts
    xp = namespace(lengths)
    each = like(np.arange(n_searches), lengths)
    times = _races(lengths, n_clusters, rng, n_starts)
    first = xp.argmin(next(times), axis=1)
    picks = [first[like(np.zeros(n_searches, dtype=int), first)] if own_rows else first]
    nearest = _distances(rows, lengths, picks[0][:, None], each)[:, 0, :]
    pick = recorded(partial(_pick, rows, lengths, each, n_tries), lengths)
    while len(picks) < n_clusters:
        nearest, picked = pick(nearest, next(times))
        picks.append(xp.asarray(picked, copy=True))
    return to_host(xp.stack(picks, axis=1))


def _pick(
    rows: Array, lengths: Array, each: Array, n_tries: int, nearest: Array, race: Array
) -> tuple[Array, Array]:
    """The best of a few rows, by every search: distances after it, and its number."""
    xp = namespace(lengths)
    with np.errstate(divide="ignore"):
        tries = smallest(race / nearest, n_tries)[1]
    closer = _distances(rows, lengths, tries, each)
    closer = xp.minimum(closer, nearest[:, None, :])
    # Two rows that are each other's nearest lower the sum alike: of those
    # that come level, the winner of the race.
    sums = xp.sum(closer, axis=2)
    level = sums <= (1.0 + LEVEL) * xp.min(sums, axis=1, keepdims=True)
    best = xp.argmax(xp.astype(level, xp.int8), axis=1)
    return closer[each, best], tries[each, best]


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


def _distances(rows: Array, lengths: Array, picks: Array, each: Array) -> Array:
    """Squared distances (s, p, n) of the picks of every search to all rows."""
    if len(rows.shape) == 3:
        chosen, own = rows[each[:, None], picks], lengths[each[:, None], picks]
        d = chosen @ namespace(rows).matrix_transpose(rows)
        others = lengths[:, None, :]
    else:
        flat = picks.reshape(-1)
        d = rows[flat] @ rows.T
        d = d.toarray() if sp.issparse(d) else d
        d = d.reshape((*picks.shape, rows.shape[0]))
        own, others = lengths[picks], lengths
    d *= -2.0
    d += own[:, :, None]
    d += others
    return at_least_zero(d)
