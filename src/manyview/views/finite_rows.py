"""Rows as floating point that keeps their digits: missing ones are blank, what is not
finite is refused."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import device, is_torch_array

from manyview.arrays.from_torch import in_one_place
from manyview.arrays.ops import Array, dtype_of, has_float64, like, namespace
from manyview.errors import InputError


def finite_parts(
    raw: Sequence[Array],
    names: Sequence[str],
    start: int,
    given: Array | None,
    dtype: Any,
) -> tuple[list[Array], Array]:
    """Floating-point rows, blank where a view is missing, and the mask of views."""
    parts = [_as_float(a, dtype) for a in raw]
    beside_tensors = any(map(is_torch_array, parts))
    if beside_tensors:
        parts = in_one_place(parts)
    if given is not None:  # whatever a missing row holds, nobody looks at it
        parts = [_blank_rows(a, like(given[:, v], a)) for v, a in enumerate(parts)]
    pairs = zip(parts, names, strict=True)
    finite = [_find_rows(a, n, start, dtype) for a, n in pairs]
    if beside_tensors:
        finite = in_one_place(finite)
    xp = namespace(*parts)
    present = xp.stack(finite, axis=1)
    for v, rows in enumerate(finite):
        if not bool(xp.all(rows)):
            parts[v] = _blank_rows(parts[v], like(rows, parts[v]))
    if given is not None:
        present = present & like(given, present)
    return parts, present


def floating(array: Any, dtype: Any) -> np.dtype[Any]:
    """The type of an array's rows in a block: one that keeps their digits.

    Sparse rows, which are never centred, lose none to a large mean: they have `dtype`.
    """
    asked: np.dtype[Any] = np.dtype(dtype)
    if sp.issparse(array):
        return asked
    kind = dtype_of(array)
    wide = kind.itemsize > (4 if kind.kind == "f" else 2) and has_float64(array)
    return np.dtype(np.float64 if wide else np.float32)


def _as_float(array: Array, dtype: Any) -> Array:
    """Floating-point rows, row by row in memory: products round another way where
    columns lie together."""
    kind = floating(array, dtype)
    if is_torch_array(array):
        import torch

        return array.to(getattr(torch, kind.name)).contiguous()
    if not sp.issparse(array):
        return np.asarray(array, dtype=kind, order="C")
    with np.errstate(over="ignore"):  # a value beyond float32 is reported as inf
        rows = array.tocsr().astype(kind, copy=False)
    if not rows.has_canonical_format:  # or steps would sort the caller's own
        rows = rows.copy()
        rows.sum_duplicates()
    return _narrow(rows)


def _narrow(rows: Any) -> Any:
    """CSR with 32-bit indices, which scikit-learn asks for, where they suffice."""
    if rows.indices.dtype == np.int32 or max(rows.nnz, *rows.shape) >= 2**31:
        return rows
    parts = (rows.data, rows.indices.astype(np.int32), rows.indptr.astype(np.int32))
    return sp.csr_array(parts, shape=rows.shape)


def _find_rows(array: Array, name: str, start: int, dtype: Any) -> Array:
    """Mask of the rows that are not NaN throughout; other NaN or inf is an error.

    So is a value that the `dtype` does not hold.
    """
    if sp.issparse(array):
        return _find_stored_rows(array, name, start)
    xp = namespace(array)
    # A finite sum proves a finite row (a product with ones: much the fastest way to
    # sum); only the others are looked at closely.
    narrow = xp.float32 if np.dtype(dtype) == np.float32 else array.dtype
    with np.errstate(over="ignore", invalid="ignore"):
        ones = xp.ones(array.shape[1], dtype=array.dtype, device=device(array))
        ok = xp.isfinite(xp.astype(array @ ones, narrow))
        if bool(xp.all(ok)):
            return ok
        array = xp.astype(array, narrow)
    missing = xp.all(xp.isnan(array), axis=1)
    bad = ~xp.isfinite(array) & ~missing[:, None]
    if bool(xp.any(bad)):
        row, column = divmod(int(xp.argmax(xp.astype(bad, xp.int8))), array.shape[1])
        raise _bad_value(name, array[row, column], start + row, column)
    return ~missing


def _find_stored_rows(array: Any, name: str, start: int) -> Array:
    """The same of a CSR matrix: a row is missing where every entry is stored NaN."""
    bad = ~np.isfinite(array.data)
    if not bad.any():
        return np.ones(array.shape[0], dtype=bool)
    rows = np.repeat(np.arange(array.shape[0]), np.diff(array.indptr))
    n_gaps = np.bincount(rows[np.isnan(array.data)], minlength=array.shape[0])
    missing = n_gaps == array.shape[1]
    single = np.flatnonzero(bad & ~missing[rows])
    if single.size:
        at = single[0]
        row, column = start + int(rows[at]), int(array.indices[at])
        raise _bad_value(name, array.data[at], row, column)
    return ~missing


def _bad_value(name: str, value: Any, row: int, column: int) -> InputError:
    kind = "NaN" if value != value else "infinity"
    if kind == "infinity" and "float32" in str(value.dtype):
        kind += " or a number too large for float32"
    return InputError(
        f"View {name!r} holds NaN or infinity: {kind} in row {row}, column {column}. "
        "Fill in or remove such values: a whole row of NaN marks a missing view, and "
        "single ones can be filled with the mean of their feature by "
        "Views(...).filled(), on the command line by --fill mean."
    )


def _blank_rows(array: Array, keep: Array) -> Array:
    """A copy with the rows that are not kept set to zero."""
    if sp.issparse(array):
        kept = array.copy()
        kept.data[np.repeat(~keep, np.diff(array.indptr))] = 0
        return kept
    xp = namespace(array)
    return xp.where(keep[:, None], array, xp.zeros_like(array))
