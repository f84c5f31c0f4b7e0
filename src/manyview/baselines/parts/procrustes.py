"""The orthogonal Procrustes problem: the semi-orthogonal matrix nearest to one."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

FloatArray = np.ndarray[Any, Any]


def polar(M: FloatArray) -> FloatArray:
    """Semi-orthogonal W (p, q) that maximises ``tr(W'M)`` for M (p, q).

    ``W'W = I`` where p ≥ q, ``WW' = I`` otherwise. The zero matrix, for which every
    W is as good, gives the rectangular identity: several methods start from it.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines.parts.procrustes import polar
    >>> polar(np.array([[0.0, 2.0], [3.0, 0.0]])).round(12).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if not M.any():
        return np.eye(*M.shape, dtype=M.dtype)
    # The other factor, which nobody asks for, is kept to the smaller side.
    side = "right" if M.shape[0] >= M.shape[1] else "left"
    return np.asarray(scipy.linalg.polar(M, side)[0])
