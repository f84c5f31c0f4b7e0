"""The gaps in the array API that the passes meet, and the few sums all stages share.

Everything else in the numerical files is array-API code on the namespace of its own
arguments, so NumPy and torch share it. Sparse (scipy CSR) views meet only what
says so here.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, is_numpy_array, is_torch_array

Array = Any
Matrix = np.ndarray[Any, Any]  # on the host, of any shape

CACHE_ROWS = 128  # of a thousand features: they stay in a core's cache
# Rows whose float32 sum keeps the digits that a small ridge weight asks for.
TALL_ROWS = 4096
# A product with a one-hot matrix beats colliding additions up to this many groups.
MOST_HOT = 2048
# So many minima beat a partition of the row (timed; on a device, of many rows).
FEW = 16
FEW_ON_DEVICE = 10
MANY_ROWS = 4096
# Widths of products that BLAS libraries like are multiples of this.
ALIGNED = 8
NUMPY = array_namespace(np.empty(0))


def namespace(*arrays: Array) -> Any:
    """Array namespace of the dense arguments; NumPy where all are sparse."""
    # To look it up takes as long as a sum over some rows, thousands of times a fit.
    dense = [a for a in arrays if type(a) is not np.ndarray and not sp.issparse(a)]
    return array_namespace(*dense) if dense else NUMPY


def to_host(array: Array) -> np.ndarray[Any, Any]:
    """NumPy copy or view of an array that may live on a device."""
    if is_torch_array(array):
        if array.dtype.is_floating_point and array.dtype.itemsize < 4:
            array = array.float()  # NumPy knows but one float of two bytes
        return np.asarray(array.detach().cpu().numpy())
    return np.asarray(array)


def dtype_of(array: Array) -> np.dtype[Any]:
    """The dtype in NumPy's words; float16 for the narrow floats of torch alone."""
    kind = array.dtype
    if is_torch_array(array) and kind.is_floating_point and kind.itemsize < 4:
        return np.dtype(np.float16)
    known = isinstance(kind, np.dtype)
    return kind if known else np.dtype(str(kind).removeprefix("torch."))


def like(array: Array, model: Array) -> Array:
    """`array` in the namespace and on the device of `model`; its dtype is kept, but
    that float64 is float32 where there is none."""
    if is_torch_array(model):
        import torch

        if is_torch_array(array):
            return array.to(model.device)
        # torch warns of, and could write into, a read-only array: copy that one.
        host = np.require(array, requirements=("C", "W"))
        if host.dtype == np.float64 and not has_float64(model):
            host = host.astype(np.float32)
        return torch.as_tensor(host, device=model.device)
    if is_numpy_array(model) or sp.issparse(model):
        return to_host(array)
    return namespace(model).asarray(to_host(array))


def cast(shared: Any, model: Array) -> Array:
    """A small float64 array on the device and in the dtype of `model`."""
    return namespace(model).astype(like(shared, model), model.dtype)


def has_float64(array: Array) -> bool:
    """Can the array's device compute in float64?"""
    return not (is_torch_array(array) and array.device.type == "mps")


def is_on_gpu(array: Array) -> bool:
    """Does the array lie in the memory of a CUDA device?"""
    return bool(is_torch_array(array) and array.device.type == "cuda")


def in_float64(array: Array, *, copy: bool = False) -> Array:
    """The array in float64, sparse ones too; on the host where its device has none."""
    if sp.issparse(array):
        return array.astype(np.float64, copy=copy)
    if not has_float64(array):
        array = array.cpu()
    xp = namespace(array)
    return xp.astype(array, xp.float64, copy=copy)


def dense(rows: Array) -> Array:
    """A few rows as a dense float64 array, where they are."""
    return in_float64(rows.toarray() if sp.issparse(rows) else rows)


def sum_in_float64(array: Array, axis: int | None = None) -> Array:
    """Sum in float64, without a float64 copy of the array where it can be helped."""
    array = array if has_float64(array) else array.cpu()
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
    if is_torch_array(array):
        return (array.mul_(factor) if reuse else array * factor).exp_()
    if not is_numpy_array(array):
        return namespace(array).exp(array * factor)
    out = array if reuse else np.empty_like(array)  # new pages cost more than exp
    # Rows that fit into the cache: scaling and exponential touch memory once.
    for first in range(0, len(array), CACHE_ROWS):
        rows = slice(first, first + CACHE_ROWS)
        np.multiply(array[rows], factor, out=out[rows])
        np.exp(out[rows], out=out[rows])
    return out


def squared_distances(x: Array, points: Array) -> Array:
    """Squared Euclidean distances (n_rows, n_points), never negative."""
    return at_least_zero(expanded_distances(x, points))


def expanded_distances(x: Array, points: Array) -> Array:
    """|x|² + |a|² − 2 x·a: squared distances, below 0 by no more than rounding.

    One product of longer rows, (x, |x|², 1) and (−2a, 1, |a|²): to add the lengths
    afterwards would take as long as the product of narrow views.
    """
    if sp.issparse(x):
        a = points.astype(x.dtype, copy=False)
        d = (-2.0 * x) @ np.ascontiguousarray(a.T) + row_norms(a)
        d += row_norms(x)[:, None]
        return d
    a = cast(points, x)
    left = _lengthened(x, row_norms(x), 1.0)
    return left @ _lengthened(-2.0 * a, 1.0, row_norms(a)).T


def _lengthened(rows: Array, one: Array | float, other: Array | float) -> Array:
    """Rows with two more columns, and zeros up to a width that products like."""
    n_rows, width = rows.shape
    full = -(-(width + 2) // ALIGNED) * ALIGNED
    long = namespace(rows).zeros((n_rows, full), dtype=rows.dtype, device=rows.device)
    long[:, :width], long[:, width], long[:, width + 1] = rows, one, other
    return long


def row_norms(a: Array) -> Array:
    """Squared length of every row, dense or sparse."""
    if sp.issparse(a):
        squares = sp.csr_array((a.data * a.data, a.indices, a.indptr), a.shape)
        # Entry by entry: a sum in pairs would hang on how many zeros are stored.
        return np.asarray(squares @ np.ones(a.shape[1], a.dtype))
    if is_torch_array(a):
        # One reduction; a product with itself would be a small one for every row.
        return namespace(a).linalg.vector_norm(a, axis=-1) ** 2
    return namespace(a).vecdot(a, a)


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
            # A product, not colliding additions: the same every time.
            hot = values.new_zeros((values.shape[0], size))
            hot.scatter_(1, index[:, None].long(), 1.0)
            return tall_product(hot, values)
        out = values.new_zeros((size, *values.shape[1:]))
        return out.index_add_(0, index, values)
    rows, host = to_host(index), to_host(values)
    if host.ndim == 2 and host.shape[1] == 1:
        sums = np.bincount(rows, weights=host[:, 0], minlength=size)
        return like(sums[:, None].astype(host.dtype), values)
    hot = sp.csr_array(
        (np.ones(rows.size, host.dtype), (rows, np.arange(rows.size))),
        shape=(size, rows.size),
    )
    return like(hot @ host, values)


def index_count(index: Array, size: int) -> Array:
    """How often each of 0 … size − 1 occurs, in float64."""
    if is_torch_array(index):
        counts = index.new_zeros(size).index_add_(0, index, index.new_ones(index.shape))
        return in_float64(counts)
    return like(np.bincount(to_host(index), minlength=size).astype(np.float64), index)


def nearest_points(
    x: Array, points: Array, k: int, lengths: Array | None = None
) -> tuple[Array, Array]:
    """Squared distances to, and numbers of, the k nearest points of every row.

    On the host some rows at a time, whose distances stay in the cache.
    """
    if not (is_numpy_array(x) or sp.issparse(x)):
        return smallest(squared_distances(x, points), k)
    own = to_host(points).astype(x.dtype, copy=False)
    across = np.ascontiguousarray(own.T) if sp.issparse(x) else own.T
    lengths = row_norms(own) if lengths is None else lengths
    values = np.empty((x.shape[0], k), x.dtype)
    columns = np.empty(values.shape, np.intp)
    for first in range(0, x.shape[0], 2 * CACHE_ROWS):
        some = slice(first, first + 2 * CACHE_ROWS)
        # What a row adds to all of its distances changes none of their order.
        d = (-2.0 * x[some]) @ across
        d += lengths
        values[some], columns[some] = _smallest_host(d, k)
    return at_least_zero(values + row_norms(x)[:, None]), columns


def smallest(distances: Array, k: int) -> tuple[Array, Array]:
    """Values and columns of the k smallest entries of every row, ascending."""
    if is_torch_array(distances):
        return _smallest_on_device(distances, k)
    found = _smallest_host(to_host(distances).copy(), k)
    return like(found[0], distances), like(found[1], distances)


def _smallest_on_device(d: Any, k: int) -> tuple[Any, Any]:
    """The same, where a selection of few takes several times as long."""
    import torch

    if k > FEW_ON_DEVICE or len(d) < MANY_ROWS:
        return tuple(torch.topk(d, k, dim=1, largest=False, sorted=True))
    left, found = d.clone(), []
    for _ in range(k):
        found.append(left.min(dim=1, keepdim=True))
        left.scatter_(1, found[-1].indices, float("inf"))
    return tuple(torch.cat(parts, dim=1) for parts in zip(*found, strict=True))


def _smallest_host(d: Any, k: int) -> tuple[Any, Any]:
    """A few minima one after the other, or a partition of the row; d is lost."""
    rows, columns = np.arange(len(d)), np.empty((len(d), k), dtype=np.intp)
    if k > FEW:  # of level entries the first comes first
        columns = np.sort(np.argpartition(d, k - 1, axis=1)[:, :k], axis=1)
        values = d[rows[:, None], columns]
        order = rows[:, None], np.argsort(values, axis=1, kind="stable")
        return values[order], columns[order]
    values = np.empty((len(d), k), dtype=d.dtype)
    for j in range(k):
        columns[:, j] = d.argmin(axis=1)
        values[:, j] = d[rows, columns[:, j]]
        d[rows, columns[:, j]] = np.inf
    return values, columns


def tall_product(a: Array, b: Array) -> Array:
    """aᵀb for tall a and b: chunks of rows by themselves, summed in float64.

    A device multiplies a million rows in one go; their float32 sum would lose the
    digits that a small ridge weight asks for. Many short products keep it busy.
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
    total = sum_in_float64(left.transpose(1, 2) @ right, axis=0)
    return total + a[whole:].T @ b[whole:]


def tall_sum(a: Array) -> Array:
    """Column sums of tall a, like `tall_product`."""
    n_rows = a.shape[0]
    if not is_torch_array(a) or n_rows <= TALL_ROWS or not has_float64(a):
        return sum_in_float64(a, axis=0)
    whole = n_rows - n_rows % TALL_ROWS
    parts = a[:whole].reshape(-1, TALL_ROWS, a.shape[1]).sum(dim=1)
    return sum_in_float64(parts, axis=0) + sum_in_float64(a[whole:], axis=0)


def z_score(rows: Array, centre: bool = True) -> Array:
    """Every row to mean 0 and sd 1 (k − 1); rows without variance become 0.

    Without `centre` only the length is set, to the same √(k − 1): the mean over
    coordinates whose signs are arbitrary means nothing.
    """
    xp = namespace(rows)
    mean = xp.mean(rows, axis=1, keepdims=True) if centre else None
    away = rows if mean is None else rows - mean
    length = xp.sqrt(row_norms(away) / max(rows.shape[1] - 1, 1))
    # Rounding of a constant row must not be blown up to variance 1.
    size = length if mean is None else length + xp.abs(mean[:, 0])
    flat = length <= 8 * xp.finfo(rows.dtype).eps * size
    one = xp.ones_like(length)
    factor = xp.where(flat, 0.0 * one, one / xp.where(flat, one, length))
    return away * factor[:, None]


def masked(rows: Array, there: Array | None) -> Array:
    """Rows without the view (where not all have it) contribute nothing."""
    if there is None:
        return rows
    xp = namespace(rows)
    return xp.where(like(there, rows)[:, None], rows, xp.zeros_like(rows))


def hash_bits(x: Array, odd: Array) -> Array:
    """Σ_j bits_j · odd_j modulo 2⁶⁴ of every row; of what CSR rows store.

    Shifted bits are mixed in: a sign bit alone would vanish in even numbers.
    """
    values = (x.data if sp.issparse(x) else x) + 0.0  # −0 counts as 0
    double = values.dtype.itemsize == 8
    if is_torch_array(values):
        import torch

        bits = values.view(torch.int64 if double else torch.int32).long()
        return ((bits ^ _shift(bits, 31 if double else 15)) * like(odd, bits)).sum(1)
    bits = values.view(np.int64 if double else np.int32).astype(np.int64)
    bits ^= _shift(bits, 31 if double else 15)
    if sp.issparse(x):
        bits = sp.csr_array((bits, x.indices, x.indptr), shape=x.shape)
    return np.asarray(bits @ odd)


def mix64(h: Array) -> Array:
    """splitmix64's finaliser: every input bit reaches every output bit."""
    h = (h ^ _shift(h, 30)) * _signed(0xBF58476D1CE4E5B9)
    h = (h ^ _shift(h, 27)) * _signed(0x94D049BB133111EB)
    return h ^ _shift(h, 31)


def _shift(h: Array, bits: int) -> Array:
    """Logical right shift of signed 64-bit integers."""
    return (h >> bits) & ((1 << (64 - bits)) - 1)


def _signed(constant: int) -> int:
    return constant - 2**64 if constant >= 2**63 else constant


def unit_rows(x: Array) -> Array:
    """Every row to Euclidean length 1, dense or sparse; a zero row stays zero."""
    # Squares of extreme entries would vanish or overflow, but in a wider type.
    if is_torch_array(x) and x.dtype.itemsize == 4 and has_float64(x):
        xp = namespace(x)
        lengths = xp.linalg.vector_norm(x, axis=1, dtype=xp.float64)
        return _divide_rows(x, cast(lengths, x))
    with np.errstate(over="ignore"):
        squares = row_norms(x)
    xp, kind = namespace(squares), namespace(squares).finfo(squares.dtype)
    least, most = kind.smallest_normal / kind.eps, kind.max * kind.eps
    if not bool(xp.all((squares > least) & (squares < most))):
        largest = abs(x).max(axis=1).toarray().ravel() if sp.issparse(x) else None
        x = _divide_rows(x, xp.max(xp.abs(x), axis=1) if largest is None else largest)
        squares = row_norms(x)
    return _divide_rows(x, squares**0.5)


def _divide_rows(x: Array, by: Array) -> Array:
    """Every row divided by its number; by nothing where that is 0."""
    xp = namespace(by)
    safe = xp.where(by > 0, by, xp.ones_like(by))
    if sp.issparse(x):
        data = x.data / np.repeat(safe, np.diff(x.indptr)).astype(x.dtype)
        return sp.csr_array((data, x.indices, x.indptr), shape=x.shape)
    return x / safe[:, None]
