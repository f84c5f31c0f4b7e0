"""Updates that the methods which factor the views share."""

import numpy as np

from manyview.base import FloatArray
from manyview.baselines.parts.procrustes import polar

# Least loss of a view, as a share of the largest: no view takes all the weight.
LEAST_LOSS = 1e-12


def anchor_step(
    Xs: list[FloatArray], A: FloatArray, Z: FloatArray, shares: FloatArray
) -> tuple[list[FloatArray], FloatArray]:
    """Anchors W_v A (d_v, c) of every view, and A (c, c), for the graph Z.

    ``W_v = polar(X_v'Z A')`` from the old A, then ``A = polar(Σ_v s_v W_v'X_v'Z)``.
    """
    XZ = [x.T @ Z for x in Xs]
    Ws = [polar(xz @ A.T) for xz in XZ]
    parts = [s * W.T @ xz for s, W, xz in zip(shares, Ws, XZ, strict=True)]
    A = polar(np.sum(parts, axis=0))
    return [W @ A for W in Ws], A


def misfit(X: FloatArray, XM: FloatArray, M: FloatArray, Z: FloatArray) -> float:
    """‖X - ZM'‖² from XM, without an n x d product."""
    size = float(np.vdot((M.T @ M).astype(np.float64), Z.T @ Z))
    return max(float(np.vdot(X, X)) - 2 * float(np.vdot(XM, Z)) + size, 0.0)


def inverse_weights(losses: FloatArray, *, root: bool = False) -> FloatArray:
    """a_v ∝ 1/ℓ_v, which minimises Σ a_v² ℓ_v on Σ a_v = 1; or ∝ 1/√ℓ_v."""
    safe = np.maximum(losses, np.finfo(float).tiny + LEAST_LOSS * losses.max())
    inverse = 1 / (np.sqrt(safe) if root else safe)
    return np.asarray(inverse / inverse.sum())
