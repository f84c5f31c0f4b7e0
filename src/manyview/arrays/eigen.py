"""Leading eigenvectors of a symmetric positive semidefinite matrix.

On the host by Lanczos steps (ARPACK). On a device by Chebyshev-filtered blocks,
where every step is a matrix product. By Rayleigh–Ritz the vectors found
diagonalise the matrix among themselves exactly, converged or not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from array_api_compat import is_numpy_array
from scipy.sparse.linalg import eigsh

from manyview.arrays.ops import Array, eigh, like, namespace, to_host

Matrix = np.ndarray[Any, Any]

DENSE_SIZE = 600
DENSE_SIZE_ON_DEVICE = 2048
NO_SIZE = 1e-9
SPARE = 10
MOST_FILTERS = 12
MOST_DEGREE = 24
MOST_GROWTH = 24.0
PRECISION = 1e-6


def leading(gram: Array, r: int) -> tuple[Matrix, Array]:
    """Leading eigenvalues (descending, on the host) and their vectors.

    Directions of no size are left out. Signs come from the data: the cubes of
    a vector's entries sum to a positive number.
    """
    size = len(gram)
    r = min(r, size)
    dense = DENSE_SIZE if is_numpy_array(gram) else DENSE_SIZE_ON_DEVICE
    if size <= dense or 5 * (r + SPARE) > size:
        values, vectors = eigh(gram, r)
    elif is_numpy_array(gram):
        values, vectors = _lanczos(gram, r)
    else:
        values, vectors = _filtered(gram, r)
    xp = namespace(vectors)
    order = np.argsort(to_host(values), kind="stable")
    values, vectors = values[like(order, values)], vectors[:, like(order, vectors)]
    found = to_host(values)[::-1]
    kept = int(np.count_nonzero(found > NO_SIZE * max(float(found[0]), 1e-300)))
    vectors = xp.flip(vectors, axis=1)[:, :kept]
    sides = xp.sum(vectors**3, axis=0)
    return found[:kept].copy(), xp.where(sides < 0, -vectors, vectors)


def leading_values(gram: Array, r: int) -> Matrix:
    """Leading eigenvalues alone, descending, on the host."""
    if is_numpy_array(gram) or len(gram) > DENSE_SIZE_ON_DEVICE:
        return leading(gram, r)[0]
    return to_host(namespace(gram).linalg.eigvalsh(gram))[::-1][:r].copy()


def _lanczos(gram: Matrix, r: int) -> tuple[Matrix, Matrix]:
    """Lanczos steps in float32 (they read the matrix once each), then exact."""
    start = np.sqrt(np.maximum(np.diag(gram), 0.0)).astype(np.float32)
    narrow = gram.astype(np.float32)
    _, rough = eigsh(narrow, k=r, v0=start, ncv=3 * r + SPARE, tol=1e-6)
    Q = np.linalg.qr(rough.astype(np.float64))[0]
    values, turn = scipy.linalg.eigh(Q.T @ (gram @ Q))
    return values, Q @ turn


def _filtered(gram: Array, r: int) -> tuple[Array, Array]:
    """Ascending leading eigenpairs; a few directions more than asked for help.

    Each filter is a Chebyshev polynomial that stays small between 0 and the least
    eigenvalue of the block, and grows as fast as precision allows above it.
    """
    xp = namespace(gram)
    start = np.random.default_rng(0).standard_normal((len(gram), r + SPARE))
    Q = xp.linalg.qr(gram @ (gram @ like(start, gram)))[0]
    for _ in range(MOST_FILTERS):
        image = gram @ Q
        values, turn = eigh(0.5 * (Q.T @ image + image.T @ Q))
        Q, image = Q @ turn, image @ turn
        miss = xp.linalg.vector_norm(image - Q * values, axis=0)[SPARE:]
        low, high = float(values[0]), float(values[-1])
        if float(xp.max(miss)) <= PRECISION * high:
            break
        Q = xp.linalg.qr(_chebyshev(gram, Q, image, low, high))[0]
    return values[SPARE:], Q[:, SPARE:]


def _chebyshev(gram: Array, Q: Array, image: Array, low: float, high: float) -> Array:
    """T_d((2 G − low I)/low) Q, the degree d bounded by the growth at `high`."""
    half = max(0.5 * low, 1e-3 * high)
    growth = float(np.arccosh(max((high - half) / half, 1.0 + 1e-6)))
    degree = int(np.clip(MOST_GROWTH / growth, 2, MOST_DEGREE))
    before, now = Q, (image - half * Q) / half
    for _ in range(degree - 1):
        before, now = now, (2.0 / half) * (gram @ now - half * now) - before
    return now
