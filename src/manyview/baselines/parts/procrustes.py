"""The orthogonal Procrustes problem: the semi-orthogonal matrix nearest to one."""

from __future__ import annotations

from typing import Any

import numpy as np

FloatArray = np.ndarray[Any, Any]


def polar(M: FloatArray) -> FloatArray:
    """Semi-orthogonal W that maximises ``tr(W'M)``: ``W = P Q'`` from ``M = P S Q'``.

    Parameters
    ----------
    M : array (p, q)

    Returns
    -------
    W : array (p, q)
        ``W'W = I`` where p ≥ q, ``WW' = I`` otherwise. The zero matrix, for which
        every W is as good, gives the rectangular identity: several methods start
        from it.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines.parts.procrustes import polar
    >>> polar(np.array([[0.0, 2.0], [3.0, 0.0]])).round(12).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    if not M.any():
        return np.eye(*M.shape, dtype=M.dtype)
    P, _, Qt = np.linalg.svd(M, full_matrices=False)
    return np.asarray(P @ Qt)
