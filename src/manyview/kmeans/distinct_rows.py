"""First centres that lie apart: of rows that are one up to rounding, only one.

Two centres within rounding of each other share their rows by the last digit of every
distance. So anchors would hang on the order in which column means were summed.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Array, row_norms, to_host

Matrix = np.ndarray[Any, Any]

# Squared distances below this share of the lengths are rounding; of float32 rows so
# many times its precision.
NO_DISTANCE = 1e-12
ROUNDED = 16
# Rows looked at for every centre wanted: as few as mostly do, then more.
LOOKS = (1.25, 4.0)
# Rows compared with those before them at a time: 16 MB for a few thousand.
COMPARED = 512


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
    lengths = to_host(row_norms(rows)).astype(np.float64)
    kind = np.finfo(str(rows.dtype).removeprefix("torch."))
    share = max(NO_DISTANCE, ROUNDED * float(kind.eps))
    found = np.zeros(len(lengths), dtype=bool)
    for first in range(0, len(lengths), COMPARED):
        own = slice(first, first + COMPARED)
        before = slice(0, min(own.stop, len(lengths)))
        if products is None:
            d = rows[own] @ rows[before].T
            d = to_host(d.toarray() if sp.issparse(d) else d)
        else:
            d = products[own, before]
        both = lengths[own, None] + lengths[None, before]
        near = both - 2.0 * d <= share * both
        found[own] = np.tril(near, first - 1).any(axis=1)
    return found
