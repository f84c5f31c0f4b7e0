"""MATLAB v7.3 files: HDF5 with MATLAB's own conventions.

Arrays are stored with their axes reversed, cells are arrays of references,
sparse matrices are groups in compressed-column form.
"""

from __future__ import annotations

from typing import Any

import scipy.sparse as sp

from manyview.datasets.formats.hdf5_file import is_numeric
from manyview.datasets.formats.raw import (
    RawData,
    Request,
    checked_csr,
    clean_name,
    transpose,
)
from manyview.datasets.layout import arrange
from manyview.engine.resources import require_room
from manyview.errors import FileError

NUMERIC = {
    "double", "single", "logical",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
}  # fmt: skip
# A view per member: no data set has nearly as many.
MAX_CELL = 10_000


def looks_like_matlab(file: Any) -> bool:
    """Does a top-level object say which MATLAB class it has?"""
    return any(
        "MATLAB_class" in item.attrs for item in file.values() if item is not None
    )


def read(file: Any, request: Request) -> RawData:
    """Numeric matrices and cells of an open v7.3 file, arranged as views."""
    found: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    for name, item in file.items():
        if name.startswith("#") or item is None:
            continue
        value = _value(file, item, request.memory_limit)
        if value is None:
            skipped[name] = _matlab_class(item) or "no MATLAB class"
        else:
            found[name] = value
    return arrange(found, request, skipped)


def _matlab_class(item: Any) -> str:
    if "MATLAB_object_decode" in item.attrs:
        return "opaque object"
    name = item.attrs.get("MATLAB_class", b"")
    return name.decode("ascii", "replace") if isinstance(name, bytes) else str(name)


def _value(file: Any, item: Any, limit: int) -> Any:
    """A lazy matrix, a sparse matrix or a list of them; None for the rest."""
    kind = _matlab_class(item)
    if kind == "cell" and hasattr(item, "shape"):
        return _cell(file, item, limit)
    if kind not in NUMERIC or "MATLAB_empty" in item.attrs:
        return None
    if "MATLAB_sparse" in item.attrs:
        return _sparse(item, limit)
    return transpose(item) if is_numeric(item, 2) else None


def _cell(file: Any, cell: Any, limit: int) -> Any:
    import h5py

    if h5py.check_ref_dtype(cell.dtype) is not h5py.Reference or cell.size > MAX_CELL:
        return None
    members = []
    for reference in cell[()].ravel():
        item = file[reference] if reference else None
        # One level only: a cell of cells is no list of matrices.
        nested = item is None or _matlab_class(item) == "cell"
        members.append(None if nested else _value(file, item, limit))
    return members if members and all(m is not None for m in members) else None


def _sparse(group: Any, limit: int) -> Any:
    if "jc" not in group:
        raise FileError(
            f"The sparse matrix {clean_name(group.name)} has no column pointers (jc). "
            "The file is damaged; write it again."
        )
    indptr = group["jc"]
    parts = [group[k] for k in ("data", "ir") if k in group]  # none: all zero
    size = sum(int(p.shape[0]) * 16 for p in (*parts, indptr))
    require_room(size, limit, f"The sparse matrix {group.name}")
    shape = (int(group.attrs["MATLAB_sparse"]), int(indptr.shape[0]) - 1)
    if len(parts) < 2:
        return sp.csr_array(shape)
    return checked_csr([p[:] for p in (*parts, indptr)], shape, "csc")
