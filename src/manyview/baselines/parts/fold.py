"""The row index folded into runs of consecutive rows, and its low-rank part."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh

from manyview.base import FloatArray


def low_rank_fold(T: FloatArray, fold: tuple[int, int], rank: int) -> FloatArray:
    """Nearest tensor (n_views, n_samples, n_anchors) whose fold has rank `rank`."""
    block_rows, n_blocks = fold
    n_views, _, n_anchors = T.shape
    folded = T.reshape(n_views, n_blocks, block_rows, n_anchors)
    M = folded.transpose(3, 1, 2, 0).reshape(n_anchors * n_blocks, -1)
    L = truncate(M, rank).reshape(n_anchors, n_blocks, block_rows, n_views)
    return L.transpose(3, 1, 2, 0).reshape(T.shape)


def truncate(M: FloatArray, rank: int) -> FloatArray:
    """Best rank-`rank` approximation, through the smaller Gram matrix."""
    if M.shape[0] < M.shape[1]:
        return truncate(M.T, rank).T
    p = M.shape[1]
    first = max(0, p - rank)
    _, Q = eigh(M.T @ M, subset_by_index=[first, p - 1], check_finite=False)
    return np.asarray((M @ Q) @ Q.T)
