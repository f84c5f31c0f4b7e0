"""MATLAB files: up to v7 through `scipy.io`, v7.3 as the HDF5 it is.

The parser below `scipy.io.loadmat` can crash on a damaged file, so strangers' files
come here only inside the child process. In v7.3 axes are reversed, cells are arrays
of references, and sparse matrices are groups in compressed-column form.
"""

import struct
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.io
import scipy.sparse as sp

from manyview.datasets.formats.hdf5_file import is_numeric
from manyview.datasets.layout import arrange
from manyview.datasets.raw_data import (
    RawData,
    Request,
    checked_csr,
    clean_name,
    transpose,
)
from manyview.engine.resources import require_room
from manyview.errors import FileError

_NUMERIC = {
    "double", "single", "logical",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
}  # fmt: skip
_COMPRESSED = 15  # miCOMPRESSED, the type of an element packed by zlib
_CHUNK = 2**20  # bytes unpacked at a time: small beside any limit
_MAX_CELL = 10_000  # a view per member: no data set has nearly as many


def read_v5(path: Path, request: Request, stack: ExitStack) -> RawData:
    """Numeric matrices and cells of a file up to v7, arranged as views."""
    limit = request.memory_limit
    require_room(_unpacked_size(path, limit), limit, path.name)
    kinds = {name: kind for name, _, kind in scipy.io.whosmat(path, appendmat=False)}
    wanted = [n for n, k in kinds.items() if k in _NUMERIC | {"sparse", "cell"}]
    content = scipy.io.loadmat(path, variable_names=wanted, appendmat=False)
    values = {name: _plain_value(content.get(name)) for name in wanted}
    found = {name: value for name, value in values.items() if value is not None}
    skipped = {
        name: f"{kind} without plain matrices" if name in wanted else kind
        for name, kind in kinds.items()
        if name not in found
    }
    return arrange(found, request, skipped)


def _plain_value(value: Any) -> Any:
    """A numeric array, a sparse matrix or a list of them; None for the rest."""
    if sp.issparse(value):
        value.check_format(full_check=True)
        return value if value.dtype.kind in "fiub" else None
    if type(value) is not np.ndarray:
        return None  # scipy marks objects, opaque values and functions by subclass
    if value.dtype == object:
        members = [_plain_value(item) for item in value.ravel(order="F")]
        plain = members and not any(m is None or isinstance(m, list) for m in members)
        return members if plain else None
    return value if value.dtype.kind in "fiub" and value.ndim == 2 else None


def _unpacked_size(path: Path, limit: int) -> int:
    """Bytes of all elements after decompression, without keeping any of them."""
    total = 0
    with path.open("rb") as file:
        order = "<" if file.read(128)[126:128] == b"IM" else ">"
        while total <= limit and len(tag := file.read(8)) == 8:
            kind, size = struct.unpack(order + "II", tag)
            if kind == _COMPRESSED:
                total += _inflated_size(file, size, limit - total)
            else:
                total += size
                file.seek(size, 1)
    return total


def _inflated_size(file: BinaryIO, size: int, limit: int) -> int:
    """Decompressed bytes of one element, counted up to just beyond the limit."""
    inflate = zlib.decompressobj()
    total = 0
    while total <= limit and (packed := file.read(min(size, _CHUNK))):
        size -= len(packed)
        while packed and total <= limit:
            total += len(inflate.decompress(packed, _CHUNK))
            packed = inflate.unconsumed_tail
    return total


def looks_like_v73(file: Any) -> bool:
    """Does a top-level object of an HDF5 file say which MATLAB class it has?"""
    return any(
        "MATLAB_class" in item.attrs for item in file.values() if item is not None
    )


def read_v73(file: Any, request: Request) -> RawData:
    """Numeric matrices and cells of an open v7.3 file, arranged as views."""
    found: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    for name, item in file.items():
        if name.startswith("#") or item is None:
            continue
        value = _stored_value(file, item, request.memory_limit)
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


def _stored_value(file: Any, item: Any, limit: int) -> Any:
    """A lazy matrix, a sparse matrix or a list of them; None for the rest."""
    kind = _matlab_class(item)
    if kind == "cell" and hasattr(item, "shape"):
        return _stored_cell(file, item, limit)
    if kind not in _NUMERIC or "MATLAB_empty" in item.attrs:
        return None
    if "MATLAB_sparse" in item.attrs:
        return _stored_sparse(item, limit)
    return transpose(item) if is_numeric(item, 2) else None


def _stored_cell(file: Any, cell: Any, limit: int) -> Any:
    import h5py

    if h5py.check_ref_dtype(cell.dtype) is not h5py.Reference or cell.size > _MAX_CELL:
        return None
    members = []
    for reference in cell[()].ravel():
        item = file[reference] if reference else None
        # One level only: a cell of cells is no list of matrices.
        nested = item is None or _matlab_class(item) == "cell"
        members.append(None if nested else _stored_value(file, item, limit))
    return members if members and all(m is not None for m in members) else None


def _stored_sparse(group: Any, limit: int) -> Any:
    if "jc" not in group:
        raise FileError(
            f"The sparse matrix {clean_name(group.name)} has no column pointers (jc). "
            "The file is damaged; write it again."
        )
    parts = [group[k] for k in ("data", "ir", "jc") if k in group]
    size = sum(int(p.shape[0]) * 16 for p in parts)
    require_room(size, limit, f"The sparse matrix {group.name}")
    shape = (int(group.attrs["MATLAB_sparse"]), int(parts[-1].shape[0]) - 1)
    if len(parts) < 3:
        return sp.csr_array(shape)  # all zero
    return checked_csr([p[:] for p in parts], shape, "csc")
