"""Linear algebra on small symmetric matrices and k-sparse ones, on NumPy and torch.

Leading eigenvectors of a positive semidefinite matrix come by Lanczos steps (ARPACK)
on the host. On a device by Chebyshev-filtered blocks, where every step is a matrix
product. By Rayleigh–Ritz the vectors found diagonalise the matrix among themselves
exactly, converged or not.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from array_api_compat import is_numpy_array, is_torch_array
from scipy.linalg import eigvalsh_tridiagonal
from scipy.sparse.linalg import ArpackError, LinearOperator, eigsh

from manyview.arrays.ops import (
    Array,
    Matrix,
    has_float64,
    in_float64,
    is_on_gpu,
    like,
    namespace,
    to_host,
)

# Rows of a dense chunk of Z on a GPU: enough to keep it busy, little to hold.
CHUNK_ROWS = 16384
# Entries of a sparse H whose products are worth a second thread.
MANY_ENTRIES = 2**19
# Columns of ZᵀZ made at a time: the sparse product of all takes more room than it.
PANEL_COLUMNS = 512
# Room that LAPACK's blocked routines ask for, in columns.
BLOCK_COLUMNS = 64
# Up to this size all eigenvectors take no longer than the leading ones (timed).
DENSE_SIZE = 600
DENSE_SIZE_ON_DEVICE = 2048
# More than a quarter of the eigenvectors take longer alone than all of them (timed).
SOME_OF_ALL = 4
# Of a tridiagonal matrix up to so many times as many as asked for (timed).
FEW_TIMES = 6
# Below this share of the largest, an eigenvalue is rounding.
NO_SIZE = 1e-9
# An entry of a sparse product takes as long as so many of a dense one (timed).
SPARSE_COST = 8
# Directions beyond those asked for, which speed the filter up.
SPARE = 10
# Bounds of the Chebyshev filter: float64 holds a growth of e²⁴ beside 1.
MOST_FILTERS = 12
MOST_DEGREE = 24
MOST_GROWTH = 24.0
PRECISION = 1e-6


def eigh(matrix: Array, n_largest: int | None = None) -> tuple[Array, Array]:
    """Eigenvalues (ascending) and eigenvectors of a symmetric float64 matrix.

    All of them, or the largest: few of these take half the time on the host.
    """
    size = matrix.shape[0]
    first = 0 if n_largest is None else max(size - n_largest, 0)
    if not first or is_torch_array(matrix):
        # NumPy's and not SciPy's: that does the same and stops other threads.
        values, vectors = namespace(matrix).linalg.eigh(matrix)
        return values[first:], vectors[:, first:]
    values, vectors = scipy.linalg.eigh(matrix, subset_by_index=[first, size - 1])
    return values, vectors


# Does all jobs, in threads or not.
DoAll = Callable[[Sequence[Callable[[], Any]]], list[Any]]


def one_by_one(jobs: Sequence[Callable[[], Any]]) -> list[Any]:
    """What the jobs return, done in turn."""
    return [job() for job in jobs]


class Tridiagonal(NamedTuple):
    """A symmetric matrix G = Q T Qᵀ with T tridiagonal: all G + x I at the cost of one.

    Attributes
    ----------
    reflectors : array (m − 1, m − 1)
        The Householder vectors of Q below the diagonal, as LAPACK leaves them.
    scales : array (m − 1,)
        Their factors.
    diagonal, beside : arrays (m,), (m − 1,)
        T.
    values : array (m,)
        The eigenvalues of G, ascending.
    """

    reflectors: Matrix
    scales: Matrix
    diagonal: Matrix
    beside: Matrix
    values: Matrix


def tridiagonal(matrix: Matrix) -> Tridiagonal:
    """Q and T of a symmetric float64 matrix on the host."""
    size = len(matrix)
    if size == 1:
        none, only = np.empty(0), matrix.diagonal()
        return Tridiagonal(none[:, None], none, only, none, only)
    held, diagonal, beside, scales, _ = scipy.linalg.lapack.dsytrd(
        matrix, lower=1, lwork=BLOCK_COLUMNS * size
    )
    values = eigvalsh_tridiagonal(diagonal, beside)
    reflectors = np.asfortranarray(held[1:, :-1])
    return Tridiagonal(reflectors, scales, diagonal, beside, values)


def solve_shifted(found: Tridiagonal, shift: float, right: Matrix) -> Matrix:
    """(T + shift I)⁻¹ times a thin matrix; T + shift I must be positive definite."""
    if len(right) == 1:
        return right / (found.diagonal + shift)
    bands = np.stack([found.diagonal + shift, np.append(found.beside, 0.0)])
    return np.asarray(scipy.linalg.solveh_banded(bands, right, lower=True))


def turned(found: Tridiagonal, rows: Matrix, *, back: bool = False) -> Matrix:
    """Qᵀ times a thin matrix, or (`back`) Q: the first row stays as it is."""
    if len(rows) == 1:
        return rows
    room = BLOCK_COLUMNS * max(rows.shape[1], 1)
    rest, _, _ = scipy.linalg.lapack.dormqr(
        "L", "N" if back else "T", found.reflectors, found.scales, rows[1:], room
    )
    return np.concatenate([rows[:1], rest])


def leading_vectors(found: Tridiagonal, n_largest: int) -> Matrix:
    """The eigenvectors of G of the largest eigenvalues, largest first."""
    size = len(found.diagonal)
    if size == 1:
        return np.ones((1, 1))
    some: dict[str, Any] = {"lapack_driver": "stevd"}
    if size > FEW_TIMES * n_largest:
        some = {"select": "i", "select_range": (size - n_largest, size - 1)}
    _, vectors = scipy.linalg.eigh_tridiagonal(found.diagonal, found.beside, **some)
    return turned(found, vectors[:, : -n_largest - 1 : -1], back=True)


def inverse_by_cholesky(matrix: Array) -> Array | None:
    """Inverse of a positive definite float64 matrix; None where it is not one."""
    if is_torch_array(matrix):
        import torch

        lower, info = torch.linalg.cholesky_ex(matrix)
        return None if int(info) else torch.cholesky_inverse(lower)
    try:
        lower = scipy.linalg.cholesky(matrix, lower=True)
    except np.linalg.LinAlgError:
        return None
    inverse, info = scipy.linalg.lapack.dpotri(lower, lower=1)
    return None if info else mirrored(inverse)


def mirrored(lower: Array) -> Array:
    """The symmetric matrix of a lower triangle; what stands above it means nothing."""
    xp = namespace(lower)
    number = like(np.arange(lower.shape[0]), lower)
    return xp.where(number[:, None] >= number[None, :], lower, lower.T)


def plus_diagonal(matrix: Array, value: float) -> Array:
    """matrix + value · I, as a new matrix."""
    if is_torch_array(matrix):
        out = matrix.clone()
        out.diagonal().add_(value)
        return out
    out = matrix.copy()
    np.fill_diagonal(out, out.diagonal() + value)
    return out


def one_hot(labels: Array, size: int) -> Array:
    """Rows × labels in float64, 1 where a row has the label."""
    xp = namespace(labels)
    return xp.eye(size, dtype=xp.float64, device=labels.device)[labels]


def where_exact(array: Array) -> Array:
    """The array where it is, or on the host where its device has no float64."""
    return array if sp.issparse(array) or has_float64(array) else to_host(array)


def weighted_rows(columns: Array, weights: Array, table: Array) -> Array:
    """Σ_j weights_ij · table[columns_ij]: a sparse matrix times a thin table."""
    if is_torch_array(weights):
        from torch.nn.functional import embedding_bag

        return embedding_bag(columns, table, per_sample_weights=weights, mode="sum")
    return like(csr(columns, weights, table.shape[0]) @ to_host(table), weights)


def csr(columns: Array, weights: Array, n_columns: int) -> Any:
    """The sparse matrix with these columns and weights in every row."""
    n_rows, k = columns.shape
    indptr = np.arange(0, n_rows * k + 1, k)
    parts = (to_host(weights).ravel(), to_host(columns).ravel(), indptr)
    return sp.csr_array(parts, shape=(n_rows, n_columns))


def sparse_gram(
    columns: Array, weights: Array, n_columns: int, do_all: DoAll = one_by_one
) -> Array:
    """ZᵀZ, dense and in float64, of the sparse Z with these rows.

    On a GPU by dense products of chunks: weights cut to 11 binary digits are
    half-precision numbers, and the sums of their products float32.
    """
    if not is_on_gpu(weights):
        # Sums in float32 would hang on the order of the rows.
        z = csr(columns, in_float64(weights), n_columns)
        flipped, gram = z.T.tocsr(), np.empty((n_columns, n_columns))

        def fill(panel: slice) -> None:
            (flipped[panel] @ z).toarray(out=gram[panel])

        firsts = range(0, n_columns, PANEL_COLUMNS)
        panels = [slice(first, first + PANEL_COLUMNS) for first in firsts]
        do_all([partial(fill, panel) for panel in panels])
        return like(gram, weights)
    import torch

    total = weights.new_zeros((n_columns, n_columns), dtype=torch.float64)
    exact = (torch.round(weights * 1024) / 1024).to(torch.float16)
    for first in range(0, columns.shape[0], CHUNK_ROWS):
        rows = slice(first, first + CHUNK_ROWS)
        z = exact.new_zeros((columns[rows].shape[0], n_columns))
        z.scatter_add_(1, columns[rows].to(torch.int64), exact[rows])
        # A type of its own for the result: TF32 would be a switch that all threads see.
        total += torch.mm(z.T, z, out_dtype=torch.float32)
    return total


def leading(gram: Array, r: int, do_all: DoAll = one_by_one) -> tuple[Matrix, Array]:
    """Leading eigenvalues (descending, on the host) and their vectors.

    Of a Gram, or of HᵀH for a sparse H in its place. Directions of no size are left
    out. Signs come from the data: the cubes of a vector's entries sum to a positive
    number.
    """
    if sp.issparse(gram):
        values, vectors = _of_factor(gram, r, do_all)
    elif _is_small(gram.shape[0], r, on_host=is_numpy_array(gram)):
        values, vectors = _largest(gram, r)
    elif is_numpy_array(gram):
        start = np.sqrt(np.maximum(np.diag(gram), 0.0))
        parts = np.array_split(gram.astype(np.float32), 2)

        def rough(x: Matrix) -> Matrix:
            return np.concatenate(do_all([partial(np.matmul, own, x) for own in parts]))

        values, vectors = _lanczos(rough, lambda Q: gram @ Q, start, r)
    else:
        values, vectors = _filtered(gram, r)
    xp = namespace(vectors)
    order = np.argsort(to_host(values), kind="stable")
    values, vectors = values[like(order, values)], vectors[:, like(order, vectors)]
    found = to_host(values)[::-1]
    kept = int(np.count_nonzero(found > NO_SIZE * max(float(found[0]), 1e-300)))
    vectors = xp.flip(vectors, axis=1)[:, :kept]
    sides = xp.sum(vectors * vectors * vectors, axis=0)  # a power takes ten times
    return found[:kept].copy(), xp.where(sides < 0, -vectors, vectors)


def _largest(gram: Array, r: int) -> tuple[Array, Array]:
    """The largest eigenvalues, ascending, and their vectors, of any sign."""
    r = min(r, len(gram))
    values, vectors = eigh(gram, r if SOME_OF_ALL * r < len(gram) else None)
    return values[len(values) - r :], vectors[:, len(values) - r :]


def leading_values(gram: Array, r: int) -> Matrix:
    """Leading eigenvalues alone, descending, on the host."""
    if not is_torch_array(gram) or len(gram) > DENSE_SIZE_ON_DEVICE:
        return leading(gram, r)[0]
    return to_host(namespace(gram).linalg.eigvalsh(gram))[::-1][:r].copy()


def _is_small(size: int, r: int, *, on_host: bool) -> bool:
    """Do all eigenvectors take no longer than the leading ones?"""
    dense = DENSE_SIZE if on_host else DENSE_SIZE_ON_DEVICE
    return size <= dense or 5 * (min(r, size) + SPARE) > size


def _of_factor(h: Any, r: int, do_all: DoAll) -> tuple[Matrix, Matrix]:
    """The same of HᵀH, which is never formed: by the smaller of H's two sides."""
    by_rows = h.shape[0] < h.shape[1]
    tall = (h.T if by_rows else h).tocsr()
    flat = tall.T.tocsr()
    size = tall.shape[1]
    if _is_small(size, r, on_host=True):
        values, vectors = _largest((flat @ tall).toarray(), r)
    else:
        start = np.sqrt(np.asarray(tall.multiply(tall).sum(axis=0)).ravel())
        rough = partial(_halved, _halves(tall.astype(np.float32)), do_all)
        values, vectors = _lanczos(rough, lambda Q: flat @ (tall @ Q), start, r)
    if by_rows:
        least = NO_SIZE * max(float(values.max()), 1e-300)
        vectors = (tall @ vectors) / np.sqrt(np.maximum(values, least))
    return values, vectors


def _halves(tall: Any) -> list[tuple[Any, Any]]:
    """Halves of the rows, and the same turned; all of them in one part where few."""
    step = tall.shape[0] if tall.nnz < MANY_ENTRIES else -(-tall.shape[0] // 2)
    parts = [tall[first : first + step] for first in range(0, tall.shape[0], step)]
    return [(part, part.T.tocsr()) for part in parts]


def _halved(halves: list[tuple[Any, Any]], do_all: DoAll, x: Matrix) -> Matrix:
    """HᵀH x, summed over the halves of H."""

    def one(part: Any, back: Any) -> Any:
        return back @ (part @ x)

    return np.asarray(sum(do_all([partial(one, *half) for half in halves])))


def _lanczos(
    rough: Callable[[Matrix], Matrix],
    exact: Callable[[Matrix], Matrix],
    start: Matrix,
    r: int,
) -> tuple[Matrix, Matrix]:
    """Lanczos steps in float32 (they read the matrix once each), then exact.

    The matrix is known by its products. Where the steps do not converge, all of it
    is solved: slower, but it always ends.
    """
    size = len(start)
    operator = LinearOperator((size, size), rough, dtype=np.float32)
    first = start.astype(np.float32)
    try:
        _, found = eigsh(operator, k=r, v0=first, ncv=3 * r + SPARE, tol=1e-6)
    except ArpackError:
        return eigh(exact(np.eye(size)), r)
    Q = np.linalg.qr(found.astype(np.float64))[0]
    values, turn = scipy.linalg.eigh(Q.T @ exact(Q))
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
