"""How clearly rows belong to their clusters."""

from typing import Any

import numpy as np

from manyview.arrays.ops import smallest, squared_distances
from manyview.kmeans.passes import Centres

Matrix = np.ndarray[Any, Any]


def certainty(rows: Matrix, centres: Centres, labels: Matrix) -> Matrix:
    """(d₂ − d₁)/d₂ of every row, d₁ to its own centre, d₂ to the nearest other one.

    0 where another centre is the nearer one, and for rows set aside (label −1).
    """
    used = np.flatnonzero(np.isfinite(centres.offsets))
    if len(used) < 2:
        return np.ones(len(rows))
    d, ids = nearest_two(np.asarray(rows, dtype=np.float64), centres.points[used])
    own = used[ids[:, 0]] == labels
    return np.where(
        own, 1.0 - np.sqrt(d[:, 0] / np.where(d[:, 1] > 0, d[:, 1], 1.0)), 0
    )


def nearest_two(rows: Matrix, points: Matrix) -> tuple[Matrix, Matrix]:
    """Squared distances to, and numbers of, the two nearest points of every row."""
    return smallest(squared_distances(rows, points), 2)
