"""Euclidean projection of many vectors at once onto the probability simplex."""

import numpy as np

from manyview.base import FloatArray, IntArray


def project_simplex(U: FloatArray) -> FloatArray:
    """Nearest point of the simplex to every row of U: ``argmin_z ‖z - u‖²``.

    The minimiser over ``z ≥ 0, Σz = 1`` is ``max(u - θ, 0)`` with the one θ that
    makes the entries sum to 1; sorting finds it in O(m log m) a row.
    """
    # Entries more than 1 below the largest project to 0, so nothing is lost by
    # clipping there, and large or infinite inputs stay harmless.
    shifted = np.maximum(U - U.max(axis=1, keepdims=True), -1)
    descending = -np.sort(-shifted, axis=1)
    ranks = np.arange(1, U.shape[1] + 1, dtype=shifted.dtype)
    thresholds = (np.cumsum(descending, axis=1) - 1) / ranks
    n_kept = np.count_nonzero(descending > thresholds, axis=1)
    theta = np.take_along_axis(thresholds, n_kept[:, None] - 1, axis=1)
    return np.asarray(np.maximum(shifted - theta, 0))


def project_groups(u: FloatArray, group: IntArray, n_groups: int) -> FloatArray:
    """The same projection of groups of any size: entry i of `u` is in ``group[i]``.

    Michelot's finite iteration on all groups at once: entries below the
    threshold (Σ u - 1) / count leave until none does.
    """
    top = np.full(n_groups, -np.inf)
    np.maximum.at(top, group, u)
    u = u - top[group]
    values, ids = u, group
    while True:
        count = np.bincount(ids, minlength=n_groups)
        total = np.bincount(ids, values, minlength=n_groups)
        threshold = (total - 1) / np.maximum(count, 1)
        above = values > threshold[ids]
        if above.all():
            projected: FloatArray = np.maximum(u - threshold[group], 0)
            return projected
        values, ids = values[above], ids[above]
