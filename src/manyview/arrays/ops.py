"""The few gaps in the array API that the passes meet.

Everything else in the numerical files is array-API code on the namespace of
its own arguments, so NumPy and torch share it. Sparse (scipy CSR) views only
ever meet `matmul`, `row_norms` and `take_rows`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from array_api_compat import array_namespace, is_numpy_array, is_torch_array

Array = Any

CACHE_ROWS = 128
CHUNK_ROWS = 16384
TALL_ROWS = 4096
MOST_HOT = 2048
FEW = 32
FEW_ON_DEVICE = 10
MANY_ROWS = 4096


def namespace(*arrays: Array) -> Any:
    """Array namespace of the dense arguments; NumPy where all are sparse."""
    dense = [a for a in arrays if not sp.issparse(a)]
    return array_namespace(*dense) if dense else array_namespace(np.empty(0))


def to_host(array: Array) -> np.ndarray[Any, Any]:
    """NumPy copy or view of an array that may live on a device."""
    if is_torch_array(array):
        return np.asarray(array.detach().cpu().numpy())
    return np.asarray(array)


def like(array: Array, model: Array) -> Array:
    """`array` in the namespace and on the device of `model`, its own dtype kept."""
    if is_torch_array(model):
        import torch

        if is_torch_array(array):
            return array.to(model.device)
        # torch warns of, and could write into, a read-only array: copy that one.
        host = np.require(array, requirements=("C", "W"))
        return torch.as_tensor(host, device=model.device)
    if is_numpy_array(model) or sp.issparse(model):
        return to_host(array)
    return namespace(model).asarray(to_host(array))


def has_float64(array: Array) -> bool:
    """Can the array's device compute in float64?"""
    return not (is_torch_array(array) and array.device.type == "mps")


def is_on_gpu(array: Array) -> bool:
    """Does the array lie in the memory of a CUDA device?"""
    return bool(is_torch_array(array) and array.device.type == "cuda")


def wide(array: Array, *, copy: bool = False) -> Array:
    """The array in float64, sparse ones too; on the host where its device has none."""
    if sp.issparse(array):
        return array.astype(np.float64, copy=copy)
    if not has_float64(array):
        array = array.cpu()
    xp = namespace(array)
    return xp.astype(array, xp.float64, copy=copy)


def wide_sum(array: Array, axis: int | None = None) -> Array:
    """Sum in float64, without a float64 copy of the array where it can be helped."""
    if not has_float64(array):
        array = array.cpu()
    xp = namespace(array)
    return xp.sum(array, axis=axis, dtype=xp.float64)


def at_least_zero(array: Array) -> Array:
    """Negative entries set to 0, in place where the namespace allows it."""
    if is_torch_array(array):
        return array.clamp_(min=0.0)
    if is_numpy_array(array):
        return np.maximum(array, 0.0, out=array)
    return namespace(array).clip(array, 0.0, None)


def exp_of(array: Array, factor: float, *, reuse: bool = False) -> Array:
    """exp(factor · array), with one new array, or in the array itself (`reuse`)."""
    xp = namespace(array)
    if is_torch_array(array):
        return (array.mul_(factor) if reuse else array * factor).exp_()
    if not is_numpy_array(array):
        return xp.exp(array * factor)
    # New pages cost more than the exponential itself.
    out = array if reuse else np.empty_like(array)
    # Rows that fit into the cache: scaling and exponential touch memory once.
    for first in range(0, len(array), CACHE_ROWS):
        rows = slice(first, first + CACHE_ROWS)
        np.multiply(array[rows], factor, out=out[rows])
        np.exp(out[rows], out=out[rows])
    return out


def matmul(a: Array, b: Array) -> Array:
    """`a @ b` where `a` may be sparse; the result is dense."""
    return a @ b


def row_norms(a: Array) -> Array:
    """Squared length of every row, dense or sparse."""
    if sp.issparse(a):
        return np.asarray(a.multiply(a).sum(axis=1)).ravel()
    if is_torch_array(a):
        # One reduction; a product with itself would be a small one for every row.
        return namespace(a).linalg.vector_norm(a, axis=-1) ** 2
    return namespace(a).vecdot(a, a)


def wide_norms(a: Array) -> Array:
    """Length of every row of a float32 tensor, its squares in float64."""
    import torch

    lengths = torch.linalg.vector_norm(a, dim=1, dtype=torch.float64)
    return lengths.to(a.dtype)


def group_sums(rows: Array, labels: Array, size: int) -> tuple[Array, Array]:
    """Sums (s, size, d) and counts (s, size) of rows by s sets of labels (s, n).

    Rows (n, d), or (s, n, d) where every set of labels has rows of its own.
    """
    if is_torch_array(rows):
        hot = rows.new_zeros((*labels.shape, size))
        hot.scatter_(2, labels[:, :, None], 1.0)
        return hot.mT @ rows, hot.sum(dim=1)
    xp = namespace(rows)
    sums, counts = [], []
    for s in range(labels.shape[0]):
        own = rows if rows.ndim == 2 else rows[s, :, :]
        sums.append(index_sum(own, labels[s, :], size))
        counts.append(xp.astype(index_count(labels[s, :], size), rows.dtype))
    return xp.stack(sums), xp.stack(counts)


def index_sum(values: Array, index: Array, size: int) -> Array:
    """Sum the rows of `values` by `index`: out[j] = Σ_{i: index_i = j} values_i."""
    if is_torch_array(values):
        if size <= MOST_HOT and values.ndim == 2 and values.shape[1] > 1:
            # A product instead of colliding additions, and the same every time.
            hot = values.new_zeros((values.shape[0], size))
            hot.scatter_(1, index[:, None].long(), 1.0)
            return tall_product(hot, values)
        out = values.new_zeros((size, *values.shape[1:]))
        return out.index_add_(0, index, values)
    rows, host = to_host(index), to_host(values)
    hot = sp.csr_array(
        (np.ones(rows.size, host.dtype), (rows, np.arange(rows.size))),
        shape=(size, rows.size),
    )
    return like(hot @ host, values)


def index_count(index: Array, size: int) -> Array:
    """How often each of 0 … size − 1 occurs, in float64."""
    if is_torch_array(index):
        counts = index.new_zeros(size).index_add_(0, index, index.new_ones(index.shape))
        return wide(counts)
    return like(np.bincount(to_host(index), minlength=size).astype(np.float64), index)


def smallest(distances: Array, k: int) -> tuple[Array, Array]:
    """Values and columns of the k smallest entries of every row, ascending."""
    if is_torch_array(distances):
        return _smallest_on_device(distances, k)
    values, columns = _smallest_host(to_host(distances), k)
    return like(values, distances), like(columns, distances)


def _smallest_on_device(d: Any, k: int) -> tuple[Any, Any]:
    """The same, where a selection of few takes several times as long."""
    import torch

    if k > FEW_ON_DEVICE or len(d) < MANY_ROWS:
        values, columns = torch.topk(d, k, dim=1, largest=False, sorted=True)
        return values, columns
    left, found = d.clone(), []
    for _ in range(k):
        found.append(left.min(dim=1, keepdim=True))
        left.scatter_(1, found[-1].indices, float("inf"))
    values = torch.cat([f.values for f in found], dim=1)
    return values, torch.cat([f.indices for f in found], dim=1)


def _smallest_host(d: Any, k: int) -> tuple[Any, Any]:
    """A few minima one after the other beat a partition of the row by far."""
    if k > FEW:
        columns = np.argsort(d, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(d, columns, axis=1), columns
    left, rows = d.copy(), np.arange(len(d))
    columns = np.empty((len(d), k), dtype=np.intp)
    values = np.empty((len(d), k), dtype=d.dtype)
    for j in range(k):
        columns[:, j] = left.argmin(axis=1)
        values[:, j] = left[rows, columns[:, j]]
        left[rows, columns[:, j]] = np.inf
    return values, columns


def tall_product(a: Array, b: Array) -> Array:
    """aᵀb for tall a and b: chunks of rows by themselves, summed in float64.

    A device multiplies a million rows in one go; their float32 sum would lose
    the digits that a small ridge weight asks for. Short chunks also make enough
    products at a time to keep a GPU busy.
    """
    n_rows = a.shape[0]
    if is_numpy_array(a):
        # b is the thinner one; this way round the product is a tenth faster.
        return (b.T @ a).T
    if not is_torch_array(a) or n_rows <= TALL_ROWS or not has_float64(a):
        return a.T @ b
    whole = n_rows - n_rows % TALL_ROWS
    left = a[:whole].reshape(-1, TALL_ROWS, a.shape[1])
    right = b[:whole].reshape(-1, TALL_ROWS, b.shape[1])
    total = wide_sum(left.transpose(1, 2) @ right, axis=0)
    return total + a[whole:].T @ b[whole:]


def tall_sum(a: Array) -> Array:
    """Column sums of tall a, like `tall_product`."""
    n_rows = a.shape[0]
    if not is_torch_array(a) or n_rows <= TALL_ROWS or not has_float64(a):
        return wide_sum(a, axis=0)
    whole = n_rows - n_rows % TALL_ROWS
    parts = a[:whole].reshape(-1, TALL_ROWS, a.shape[1]).sum(dim=1)
    return wide_sum(parts, axis=0) + wide_sum(a[whole:], axis=0)


def eigh(matrix: Array, n_largest: int | None = None) -> tuple[Array, Array]:
    """Eigenvalues (ascending) and eigenvectors of a symmetric float64 matrix.

    All of them, or the largest, which take a third of the time on the host.
    """
    size = matrix.shape[0]
    first = 0 if n_largest is None else max(size - n_largest, 0)
    if is_torch_array(matrix):
        import torch

        values, vectors = torch.linalg.eigh(matrix)
        return values[first:], vectors[:, first:]
    if size == 1:
        return np.linalg.eigh(matrix)  # the drivers of old SciPy ask for room to work
    some = {"subset_by_index": [first, size - 1]} if first else {"driver": "evd"}
    values, vectors = scipy.linalg.eigh(matrix, **some)
    return values, vectors


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


def sparse_gram(columns: Array, weights: Array, n_columns: int) -> Array:
    """ZᵀZ, dense and in float64, of the sparse Z with these rows.

    On a GPU by dense products of chunks. Weights cut to 11 binary digits pass
    through TF32 unchanged, so only this product may use it.
    """
    if not is_on_gpu(weights):
        # Sums in float32 would hang on the order of the rows.
        z = csr(columns, wide(weights), n_columns)
        return like((z.T @ z).toarray(), weights)
    import torch

    total = weights.new_zeros((n_columns, n_columns), dtype=torch.float64)
    exact = torch.round(weights.to(torch.float32) * 1024) / 1024
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = True
    try:
        for first in range(0, columns.shape[0], CHUNK_ROWS):
            rows = slice(first, first + CHUNK_ROWS)
            z = exact.new_zeros((columns[rows].shape[0], n_columns))
            z.scatter_add_(1, columns[rows].to(torch.int64), exact[rows])
            total += z.T @ z
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    return total


def unit_rows(x: Array) -> Array:
    """Every row to Euclidean length 1, dense or sparse; a zero row stays zero.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.arrays.ops import unit_rows
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]])).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    # Squares of very small or very large entries would vanish or overflow, unless
    # they are taken in a wider type.
    if is_torch_array(x) and x.dtype.itemsize == 4 and has_float64(x):
        return _divide_rows(x, wide_norms(x))
    scaled = _divide_rows(x, _largest(x))
    return _divide_rows(scaled, row_norms(scaled) ** 0.5)


def _largest(x: Array) -> Array:
    """The largest absolute entry of every row."""
    if sp.issparse(x):
        return abs(x).max(axis=1).toarray().ravel()
    xp = namespace(x)
    return xp.max(xp.abs(x), axis=1)


def _divide_rows(x: Array, by: Array) -> Array:
    """Every row divided by its number; by nothing where that is 0."""
    xp = namespace(by)
    safe = xp.where(by > 0, by, xp.ones_like(by))
    if sp.issparse(x):
        data = x.data / np.repeat(safe, np.diff(x.indptr)).astype(x.dtype)
        return sp.csr_array((data, x.indices, x.indptr), shape=x.shape)
    return x / safe[:, None]
