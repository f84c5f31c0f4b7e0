"""How clearly rows belong to their clusters."""

from typing import Any

import numpy as np

from manyview.arrays.ops import smallest, squared_distances
from manyview.kmeans.passes import Centres

Matrix = np.ndarray[Any, Any]


def certainty(rows: Matrix, centres: Centres) -> Matrix:
    """(d₂ − d₁)/d₂ of every row, d₁ and d₂ the distances to its two best centres."""
    points = centres.points[np.isfinite(centres.offsets)]
    if len(points) < 2:
        return np.ones(len(rows))
    d, _ = nearest_two(np.asarray(rows, dtype=np.float64), points)
    return np.asarray(1.0 - np.sqrt(d[:, 0] / np.where(d[:, 1] > 0, d[:, 1], 1.0)))


def nearest_two(rows: Matrix, points: Matrix) -> tuple[Matrix, Matrix]:
    """Squared distances to, and numbers of, the two nearest points of every row."""
    return smallest(squared_distances(rows, points), 2)
