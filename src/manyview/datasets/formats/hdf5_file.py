"""Opening an HDF5 file that nobody vouches for, and the matrices in it.

Links and storage that point to other files are refused, whatever they name:
a data file has no business reading its neighbours.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets.raw_data import SPARSE_PARTS, checked_csr, clean_name
from manyview.engine.resources import require_room
from manyview.errors import FileError

# Far beyond any data set; walking as many takes a few seconds.
MAX_OBJECTS = 100_000
# A row of chunks of a wide view fits, so that each chunk is unpacked once.
_CHUNK_CACHE = 64 * 2**20


def open_hdf5(path: Path, stack: ExitStack) -> Any:
    """The open file, walked once for links out of it; closed by `stack`."""
    import h5py

    file = h5py.File(path, "r", rdcc_nbytes=_CHUNK_CACHE, locking=False)
    stack.enter_context(file)
    for count, _ in enumerate(walk(file, path.name), start=1):
        if count > MAX_OBJECTS:
            raise FileError(
                f"{path.name} holds more than {MAX_OBJECTS} objects. That is no data "
                "set we can read; extract the views into a smaller file."
            )
    return file


def walk(root: Any, where: str) -> Iterator[tuple[str, Any]]:
    """Every object below a group with its path, None for a dangling link.

    Groups are entered once, so hard links that form a cycle do no harm.
    """
    import h5py

    entered: set[int] = set()
    stack = [("", root, iter(root))]
    while stack:
        prefix, group, names = stack[-1]
        for name in names:
            item = _inside(group, name, where)
            yield prefix + name, item
            if isinstance(item, h5py.Group):
                address = int(h5py.h5o.get_info(item.id).addr)
                if address not in entered:
                    entered.add(address)
                    stack.append((f"{prefix}{name}/", item, iter(item)))
                    break
        else:
            stack.pop()


def _inside(group: Any, name: str, where: str) -> Any:
    """The member of a group, if it lives in this file (None for a dangling link)."""
    import h5py

    link = group.get(name, getlink=True)
    if isinstance(link, h5py.ExternalLink):
        raise _refused(where, name, "an external link")
    item = group.get(name)
    if isinstance(item, h5py.Dataset):
        if item.is_virtual:
            raise _refused(where, name, "a virtual dataset")
        if item.external:
            raise _refused(where, name, "a dataset stored in another file")
    return item


def _refused(where: str, name: str, what: str) -> FileError:
    return FileError(
        f"{where} was refused: {clean_name(name)!r} is {what}, which reads other "
        "files. Copy the data into the file itself and load it again."
    )


def is_numeric(item: Any, *n_axes: int) -> bool:
    """A dataset of plain real numbers with so many axes (default one or two)."""
    shape = getattr(item, "shape", None)
    return (
        shape is not None
        and len(shape) in (n_axes or (1, 2))
        and item.dtype.kind in "fiub"
        and item.dtype.names is None
    )


def is_sparse(item: Any) -> bool:
    """A group that holds a compressed sparse matrix, as anndata writes it."""
    return hasattr(item, "keys") and set(SPARSE_PARTS) <= set(item.keys())


def read_sparse(group: Any, limit: int) -> Any:
    """CSR matrix of a group with ``data``, ``indices``, ``indptr`` and a shape."""
    parts = [group[k] for k in SPARSE_PARTS]
    if not all(is_numeric(p, 1) for p in parts):
        raise FileError(
            f"The sparse matrix {clean_name(group.name)} has parts that are no vectors "
            "of numbers. The file is damaged; write it again."
        )
    shape = group.attrs.get("shape", group.attrs.get("h5sparse_shape"))
    if shape is None and "shape" in group:
        shape = group["shape"][:]
    if shape is None or np.shape(shape) != (2,):
        raise FileError(
            f"The sparse matrix {clean_name(group.name)} does not say its shape. Write "
            "it with a 'shape' attribute of two numbers."
        )
    size = sum(int(p.shape[0]) * int(p.dtype.itemsize) for p in parts)
    require_room(2 * size, limit, f"The sparse matrix {group.name}")
    kind = group.attrs.get("encoding-type", group.attrs.get("h5sparse_format", "csr"))
    kind = kind.decode() if isinstance(kind, bytes) else str(kind)
    return checked_csr([p[:] for p in parts], shape, kind)
