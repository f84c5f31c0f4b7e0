"""Opening an HDF5 file that nobody vouches for.

Links and storage that point to other files are refused, whatever they name:
a data file has no business reading its neighbours.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.datasets.formats.raw import NDArray, clean_name
from manyview.engine.resources import require_room
from manyview.errors import FileError

MAX_OBJECTS = 100_000
_CHUNK_CACHE = 64 * 2**20


def open_hdf5(path: Path, stack: ExitStack) -> Any:
    """The open file, walked once for links out of it; closed by `stack`."""
    import h5py

    file = stack.enter_context(
        h5py.File(path, "r", rdcc_nbytes=_CHUNK_CACHE, locking=False)
    )
    _refuse_links_out(file, path.name)
    return file


def _refuse_links_out(root: Any, where: str) -> None:
    """Walk every group once; hard-link cycles are cut by object address."""
    import h5py

    seen: set[int] = set()
    open_groups = [root]
    count = 0
    while open_groups:
        group = open_groups.pop()
        address = int(h5py.h5o.get_info(group.id).addr)
        if address in seen:
            continue
        seen.add(address)
        for name in group:
            count += 1
            if count > MAX_OBJECTS:
                raise FileError(
                    f"{where} holds more than {MAX_OBJECTS} objects. That is no data "
                    "set we can read; extract the views into a smaller file."
                )
            item = _inside(group, name, where)
            if isinstance(item, h5py.Group):
                open_groups.append(item)


def _inside(group: Any, name: str, where: str) -> Any:
    """The member of a group, if it lives in this file (None for a dangling link)."""
    import h5py

    link = group.get(name, getlink=True)
    if isinstance(link, h5py.ExternalLink):
        _refuse(where, name, "an external link")
    item = group.get(name)
    if isinstance(item, h5py.Dataset):
        if item.is_virtual:
            _refuse(where, name, "a virtual dataset")
        if item.external:
            _refuse(where, name, "a dataset stored in another file")
    return item


def _refuse(where: str, name: str, what: str) -> None:
    raise FileError(
        f"{where} was refused: {clean_name(name)!r} is {what}, which reads other "
        "files. Copy the data into the file itself and load it again."
    )


def is_numeric(item: Any) -> bool:
    """A dataset of plain real numbers with one or two axes."""
    shape = getattr(item, "shape", None)
    return (
        shape is not None
        and len(shape) in (1, 2)
        and item.dtype.kind in "fiub"
        and item.dtype.names is None
    )


def is_sparse(item: Any) -> bool:
    """A group that holds a compressed sparse matrix, as anndata writes it."""
    return hasattr(item, "keys") and {"data", "indices", "indptr"} <= set(item.keys())


def read_sparse(group: Any, limit: int) -> Any:
    """CSR matrix of a group with ``data``, ``indices``, ``indptr`` and a shape."""
    parts = [group[k] for k in ("data", "indices", "indptr")]
    if not all(is_numeric(p) and len(p.shape) == 1 for p in parts):
        raise FileError(
            f"The sparse matrix {clean_name(group.name)} has parts that are no vectors "
            "of numbers. The file is damaged; write it again."
        )
    shape = _sparse_shape(group)
    size = sum(int(p.shape[0]) * int(p.dtype.itemsize) for p in parts)
    require_room(2 * size, limit, f"The sparse matrix {group.name}")
    kind = group.attrs.get("encoding-type", group.attrs.get("h5sparse_format", "csr"))
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    make = sp.csc_array if kind.startswith("csc") else sp.csr_array
    matrix = make(tuple(p[:] for p in parts), shape=shape)
    matrix.check_format(full_check=True)
    return sp.csr_array(matrix)


def _sparse_shape(group: Any) -> tuple[int, int]:
    shape = group.attrs.get("shape", group.attrs.get("h5sparse_shape"))
    if shape is None and "shape" in group:
        shape = group["shape"][:]
    if shape is None or np.shape(shape) != (2,):
        raise FileError(
            f"The sparse matrix {group.name} does not say its shape. Write it with a "
            "'shape' attribute of two numbers."
        )
    return int(shape[0]), int(shape[1])


def read_strings(dataset: Any) -> NDArray:
    """A vector of text (or numbers) as an array of str."""
    import h5py

    if h5py.check_string_dtype(dataset.dtype) is not None:
        return np.asarray(dataset.asstr(errors="replace")[:], dtype=str)
    return np.asarray(dataset[:]).astype(str)
