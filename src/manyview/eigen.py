"""Leading eigenvectors of a symmetric positive matrix, by products with blocks.

A block Krylov method with restarts: every product is a matrix product, so it
runs at full speed on any device. By Rayleigh–Ritz the vectors found diagonalise
the matrix among themselves exactly, converged or not.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
from array_api_compat import is_numpy_array

from ._xp import Array, eigh, like, namespace, to_host

Matrix = np.ndarray[Any, Any]

DENSE_SIZE = 600
NO_SIZE = 1e-9
SPARE = 10
DEPTH = 3
MOST_RESTARTS = 20
PRECISION = 1e-7


def leading(gram: Array, r: int) -> tuple[Matrix, Array]:
    """Leading eigenvalues (descending, on the host) and their vectors.

    Directions of no size are left out. Signs come from the data: the cubes of
    a vector's entries sum to a positive number.
    """
    size = len(gram)
    r = min(r, size)
    if size <= DENSE_SIZE or (DEPTH + 3) * (r + SPARE) > size:
        values, vectors = _dense(gram, r)
    else:
        values, vectors = _krylov(gram, r)
    xp = namespace(vectors)
    found = to_host(values)[::-1]
    kept = int(np.count_nonzero(found > NO_SIZE * max(float(found[0]), 1e-300)))
    vectors = xp.flip(vectors, axis=1)[:, :kept]
    sides = xp.sum(vectors**3, axis=0)
    return found[:kept].copy(), xp.where(sides < 0, -vectors, vectors)


def _dense(gram: Array, r: int) -> tuple[Array, Array]:
    size = len(gram)
    if is_numpy_array(gram):
        return scipy.linalg.eigh(gram, subset_by_index=[size - r, size - 1])
    values, vectors = eigh(gram)
    return values[size - r :], vectors[:, size - r :]


def _krylov(gram: Array, r: int) -> tuple[Array, Array]:
    """Ascending leading eigenpairs; a few directions more than asked for help."""
    xp = namespace(gram)
    start = np.random.default_rng(0).standard_normal((len(gram), r + SPARE))
    Q = xp.linalg.qr(gram @ like(start, gram))[0]
    for _ in range(MOST_RESTARTS):
        blocks = [Q]
        for _ in range(DEPTH):
            blocks.append(xp.linalg.qr(gram @ blocks[-1])[0])
        K = xp.linalg.qr(xp.concat(blocks, axis=1))[0]
        image = gram @ K
        inner = K.T @ image
        values, turn = eigh(0.5 * (inner + inner.T))
        values, turn = values[-(r + SPARE) :], turn[:, -(r + SPARE) :]
        Q = K @ turn
        miss = xp.linalg.vector_norm(image @ turn - Q * values, axis=0)[SPARE:]
        if float(xp.max(miss)) <= PRECISION * float(values[-1]):
            break
    return values[SPARE:], Q[:, SPARE:]
