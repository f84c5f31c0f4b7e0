"""Ridge fit of an embedding on anchor features, eq. (11–12), from small matrices.

U = (PhiᵀPhi + lam I)⁻¹ PhiᵀB with centred features Phi. Blocks only ever hold
plain features; their mean is taken out of the small matrices. Grams are summed
and factored in float64: in float32 they lose positive definiteness well before
a million rows. Where most directions are shrunk away, the features are replaced
by their leading orthonormal combinations Psi = Phi E S^(−1/2), and
Phi U = Psi diag(s/(s+lam)) PsiᵀB.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from array_api_compat import is_numpy_array

from ._xp import Array, namespace

Matrix = np.ndarray[Any, Any]
FLOOR = 1e-14


class Ridge(NamedTuple):
    """The factored Gram of one view's centred features.

    Attributes
    ----------
    reduce : array (m, rank) or None
        Turns Phi into Psi; None when Phi itself is kept.
    factor : array (m, m) or (rank,)
        The inverse of the Gram plus lam, or the shrinkages s/(s+lam).
    mean : array (m,) or (rank,)
        Mean of the kept features (0 for Psi, which is centred as it is made).
    gram : array (m, m)
        The centred Gram.
    """

    reduce: Matrix | None
    factor: Matrix
    mean: Matrix
    gram: Matrix


def block_gram(phi: Array) -> Array:
    """PhiᵀPhi of a block in float64 (lower triangle where that is cheaper)."""
    xp = namespace(phi)
    wide = xp.astype(phi, xp.float64, copy=False)
    if is_numpy_array(wide):
        return scipy.linalg.blas.dsyrk(1.0, wide.T, lower=1)
    return wide.T @ wide


def centred_gram(total: Matrix, sums: Matrix, count: float) -> Matrix:
    """Gram of the centred features from the lower triangle of the plain one."""
    full = np.tril(total) + np.tril(total, -1).T
    return np.asarray(full - np.outer(sums, sums) / max(count, 1.0))


def factor_gram(gram: Matrix, mean: Matrix, lam: float, rank_tol: float) -> Ridge:
    """Choose between Psi (few directions matter) and Phi with its full factor.

    A direction of eigenvalue s may go only where its shrinkage s/(s+lam) is
    below `rank_tol`, or s is rounding: a cut relative to the largest s alone
    changes the labels. More than half of the directions left: keep Phi.
    """
    if rank_tol == 0:
        factor = _inverse_by_cholesky(gram, lam)
        if factor is not None:
            return Ridge(None, factor, mean, gram)
    values, vectors = scipy.linalg.eigh(gram)
    values = np.maximum(values, 0.0)
    real = values > FLOOR * values[-1]
    keep = real & (values >= rank_tol * (values + lam))
    if rank_tol > 0 and 2 * int(keep.sum()) <= values.size:
        s = values[keep]
        reduce = vectors[:, keep] / np.sqrt(s)
        return Ridge(reduce, s / (s + lam), np.zeros(s.size), gram)
    shrunk = np.where(real, 1.0 / np.where(real, values + lam, 1.0), 0.0)
    return Ridge(None, (vectors * shrunk) @ vectors.T, mean, gram)


def _inverse_by_cholesky(gram: Matrix, lam: float) -> Matrix | None:
    """(gram + lam I)⁻¹, or None where that is not safely positive definite."""
    scale = float(np.trace(gram)) / max(gram.shape[0], 1)
    if lam <= FLOOR * scale * gram.shape[0]:
        return None
    shifted = gram + lam * np.eye(gram.shape[0])
    try:
        lower = scipy.linalg.cholesky(shifted, lower=True, overwrite_a=True)
    except np.linalg.LinAlgError:
        return None
    inverse, info = scipy.linalg.lapack.dpotri(lower, lower=1)
    if info != 0:
        return None
    return np.asarray(np.tril(inverse) + np.tril(inverse, -1).T)


def reduced(phi: Array, mean: Array, reduce: Array) -> Array:
    """Psi of a block: the centred features in orthonormal directions."""
    return phi @ reduce - mean @ reduce


def solve(ridge: Ridge, products: Matrix) -> Matrix:
    """Coefficients of the kept features: U, or diag(s/(s+lam)) P."""
    if ridge.reduce is None:
        return np.asarray(ridge.factor @ products)
    return np.asarray(ridge.factor[:, None] * products)


def centred_products(ridge: Ridge, products: Matrix, sums: Matrix) -> Matrix:
    """PhiᵀB of centred features from the plain products and the sum of B's rows."""
    return np.asarray(products - np.outer(ridge.mean, sums))


def express(ridge: Ridge, weights: Matrix) -> Matrix:
    """Weights of the centred features in terms of the kept ones."""
    if ridge.reduce is None:
        return weights
    return np.asarray(ridge.reduce.T @ (ridge.gram @ weights))


def start_products(ridge: Ridge, weights: Matrix) -> Matrix:
    """Products of the kept features with B = Phi W (or Psi W), without a pass."""
    # The columns of Psi are orthonormal, so their Gram is the identity.
    return np.asarray(ridge.gram @ weights) if ridge.reduce is None else weights
