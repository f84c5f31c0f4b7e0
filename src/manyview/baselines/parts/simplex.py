"""Euclidean projection of many vectors at once onto the probability simplex."""

from __future__ import annotations

from typing import Any

import numpy as np

FloatArray = np.ndarray[Any, Any]


def project_simplex(U: FloatArray, support: FloatArray | None = None) -> FloatArray:
    """Nearest point of the simplex to every row: ``argmin_z ‖z - u‖²``.

    The minimiser over ``z ≥ 0, Σz = 1`` is ``max(u - θ, 0)`` with the one θ that
    makes the entries sum to 1; sorting finds it in O(m log m) a row.

    Parameters
    ----------
    U : array (n_rows, m)
        Points to project; float32 stays float32.
    support : array (n_rows, m) of bool, optional
        Entries that may be non-zero; each row needs at least one.

    Returns
    -------
    Z : array (n_rows, m)
        Non-negative rows that sum to 1.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines.parts.simplex import project_simplex
    >>> project_simplex(np.array([[0.75, 0.25, -1.0], [3.0, 0.0, 0.0]])).tolist()
    [[0.75, 0.25, 0.0], [1.0, 0.0, 0.0]]
    """
    allowed = U if support is None else np.where(support, U, -np.inf)
    # Entries more than 1 below the largest project to 0, so nothing is lost by
    # clipping there, and large or infinite inputs stay harmless.
    shifted = np.maximum(allowed - allowed.max(axis=1, keepdims=True), -1)
    descending = -np.sort(-shifted, axis=1)
    ranks = np.arange(1, U.shape[1] + 1, dtype=shifted.dtype)
    thresholds = (np.cumsum(descending, axis=1) - 1) / ranks
    n_kept = np.count_nonzero(descending > thresholds, axis=1)
    theta = np.take_along_axis(thresholds, n_kept[:, None] - 1, axis=1)
    return np.asarray(np.maximum(shifted - theta, 0))
