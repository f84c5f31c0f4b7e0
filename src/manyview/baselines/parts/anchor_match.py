"""Which anchor of one view answers to which anchor of another."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from manyview.base import FloatArray, IntArray


def match(Z1: FloatArray, Zv: FloatArray, lam: float, exact: bool) -> IntArray:
    """Anchor of the reference view for every anchor of another one."""
    M = correspondence(Z1.T @ Z1, Zv.T @ Zv, Z1.T @ Zv, lam)
    if not exact:
        return np.asarray(np.argmax(M, axis=0))
    ours, theirs = linear_sum_assignment(M, maximize=True)
    return np.asarray(ours[np.argsort(theirs)])


def correspondence(
    S1: FloatArray, Sv: FloatArray, K: FloatArray, lam: float
) -> FloatArray:
    """Fixed point of the projected matching iteration (n_anchors, n_anchors)."""
    m = len(K)
    M = np.full((m, m), 1 / m**2)
    for _ in range(50):
        Y = doubly_stochastic(S1 @ M @ Sv + lam * K)
        new = (M + Y) / 2
        new /= new.max()
        moved = np.abs(new - M).max()
        M = new
        if moved < 1e-6:
            break
    return M


def doubly_stochastic(Y: FloatArray, n_rounds: int = 30) -> FloatArray:
    """Alternating projections on unit row and column sums, and on ``Y >= 0``."""
    m = len(Y)
    for _ in range(n_rounds):
        rows, columns = Y.mean(axis=1, keepdims=True), Y.mean(axis=0)
        Y = np.maximum(Y - rows - columns + (1 + rows.sum()) / m, 0)
    return Y


def fuse(graphs: list[FloatArray], matches: IntArray) -> FloatArray:
    """Mean of the views' graphs with matched columns added up."""
    Z = np.zeros_like(graphs[0])
    for graph, partner in zip(graphs, matches, strict=True):
        hot = np.eye(len(partner), dtype=Z.dtype)[partner]
        Z += graph @ hot
    return Z / len(graphs)
