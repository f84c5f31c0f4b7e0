"""Starts of k-means that rounding cannot move.

scikit-learn's k-means++ picks the row at which a running sum of squared distances
passes a random number: sums that differ in the last digits, as those of the same
rows in another order do, sooner or later pick another row, and another partition
follows. Here every row has a random number of its own and the best of a race is
picked, which draws rows with the same probabilities (the Gumbel-max trick): only
rows that finish level could change places.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Matrix = np.ndarray[Any, Any]

NO_DISTANCE = 1e-12


def spread_rows(rows: Matrix, n_clusters: int, rng: np.random.Generator) -> Matrix:
    """Numbers of `n_clusters` rows far from each other, by greedy k-means++.

    A row is picked with probability proportional to its squared distance from
    the rows picked before; of a few such picks the one that lowers the sum of
    squared distances most is kept.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.starts import spread_rows
    >>> rows = np.repeat([[0.0], [9.0]], 5, axis=0)
    >>> picks = spread_rows(rows, 2, np.random.default_rng(0))
    >>> sorted(rows[picks, 0].tolist())
    [0.0, 9.0]
    """
    n_tries = min(2 + int(math.log(n_clusters)), len(rows))
    lengths = np.vecdot(rows, rows)
    picks = [int(np.argmax(rng.gumbel(size=len(rows))))]
    nearest = _distances(rows, lengths, picks)[:, 0]
    while len(picks) < n_clusters:
        with np.errstate(divide="ignore"):
            race = np.log(nearest) + rng.gumbel(size=len(rows))
        tries = np.sort(np.argpartition(-race, n_tries - 1)[:n_tries])
        closer = np.minimum(nearest[:, None], _distances(rows, lengths, tries))
        best = int(np.argmin(closer.sum(axis=0)))
        picks.append(int(tries[best]))
        nearest = closer[:, best]
    return np.asarray(picks)


def _distances(rows: Matrix, lengths: Matrix, picks: Any) -> Matrix:
    """Squared distances to the picked rows; rounding counts as none."""
    both = lengths[:, None] + lengths[picks]
    d = both - 2.0 * rows @ rows[picks].T
    return np.where(d > NO_DISTANCE * both, d, 0.0)
