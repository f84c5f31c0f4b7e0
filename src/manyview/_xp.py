"""The few gaps in the array API that the passes meet.

Everything else in the numerical files is array-API code on the namespace of
its own arguments, so NumPy and torch share it. Sparse (scipy CSR) views only
ever meet `matmul`, `row_norms` and `take_rows`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import array_namespace, is_numpy_array, is_torch_array

Array = Any


def namespace(*arrays: Array) -> Any:
    """Array namespace of the dense arguments; NumPy where all are sparse."""
    dense = [a for a in arrays if not sp.issparse(a)]
    return array_namespace(*dense) if dense else array_namespace(np.empty(0))


def to_host(array: Array) -> np.ndarray[Any, Any]:
    """NumPy copy or view of an array that may live on a device."""
    if is_torch_array(array):
        return np.asarray(array.detach().cpu())
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


def matmul(a: Array, b: Array) -> Array:
    """`a @ b` where `a` may be sparse; the result is dense."""
    return a @ b


def row_norms(a: Array) -> Array:
    """Squared length of every row, dense or sparse."""
    if sp.issparse(a):
        return np.asarray(a.multiply(a).sum(axis=1)).ravel()
    return namespace(a).vecdot(a, a)


def index_sum(values: Array, index: Array, size: int) -> Array:
    """Sum the rows of `values` by `index`: out[j] = Σ_{i: index_i = j} values_i."""
    if is_torch_array(values):
        out = values.new_zeros((size, *values.shape[1:]))
        return out.index_add_(0, index, values)
    rows, host = to_host(index), to_host(values)
    hot = sp.csr_array(
        (np.ones(rows.size, host.dtype), (rows, np.arange(rows.size))),
        shape=(size, rows.size),
    )
    return like(hot @ host, values)


def smallest(distances: Array, k: int) -> tuple[Array, Array]:
    """Values and columns of the k smallest entries of every row, ascending."""
    if is_torch_array(distances):
        import torch

        values, columns = torch.topk(distances, k, dim=1, largest=False, sorted=True)
        return values, columns
    host = to_host(distances)
    columns = (
        np.argpartition(host, k - 1, axis=1)[:, :k]
        if k < host.shape[1]
        else np.broadcast_to(np.arange(k), (host.shape[0], k))
    )
    values = np.take_along_axis(host, columns, axis=1)
    order = np.argsort(values, axis=1, kind="stable")
    return (
        like(np.take_along_axis(values, order, axis=1), distances),
        like(np.take_along_axis(columns, order, axis=1), distances),
    )
