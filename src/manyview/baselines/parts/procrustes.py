"""The orthogonal Procrustes problem: the semi-orthogonal matrix nearest to one."""

import numpy as np
import scipy.linalg

from manyview.base import FloatArray


def polar(M: FloatArray) -> FloatArray:
    """Semi-orthogonal W (p, q) that maximises ``tr(W'M)`` for M (p, q).

    ``W'W = I`` where p ≥ q, ``WW' = I`` otherwise. The zero matrix, for which every
    W is as good, gives the rectangular identity: several methods start from it.
    """
    if not M.any():
        return np.eye(*M.shape, dtype=M.dtype)
    # The other factor, which nobody asks for, is kept to the smaller side.
    side = "right" if M.shape[0] >= M.shape[1] else "left"
    return np.asarray(scipy.linalg.polar(M, side)[0])
