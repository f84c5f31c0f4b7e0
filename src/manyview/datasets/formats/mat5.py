"""MATLAB files up to v7 (``MATLAB 5.0 MAT-file``), through `scipy.io`.

The parser below `scipy.io.loadmat` can crash on a damaged file, so strangers'
files come here only inside the child process.
"""

from __future__ import annotations

import struct
import zlib
from contextlib import ExitStack
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import scipy.io
import scipy.sparse as sp

from manyview.datasets.formats.mat73 import NUMERIC
from manyview.datasets.formats.raw import RawData, Request
from manyview.datasets.layout import arrange
from manyview.engine.resources import require_room

_READ = NUMERIC | {"sparse", "cell"}
_COMPRESSED = 15  # miCOMPRESSED, the type of an element packed by zlib
_CHUNK = 2**20  # bytes unpacked at a time: small beside any limit


def read(path: Path, request: Request, stack: ExitStack) -> RawData:
    """Numeric matrices and cells of a MATLAB v5 file, arranged as views."""
    limit = request.memory_limit
    require_room(_unpacked_size(path, limit), limit, path.name)
    kinds = {name: kind for name, _, kind in scipy.io.whosmat(path, appendmat=False)}
    wanted = [n for n, kind in kinds.items() if kind in _READ]
    skipped = {n: kind for n, kind in kinds.items() if n not in wanted}
    content = scipy.io.loadmat(path, variable_names=wanted, appendmat=False)
    found: dict[str, Any] = {}
    for name in wanted:
        value = _numeric(content.get(name))
        if value is None:
            skipped[name] = f"{kinds[name]} without plain matrices"
        else:
            found[name] = value
    return arrange(found, request, skipped)


def _numeric(value: Any) -> Any:
    """A numeric array, a sparse matrix or a list of them; None for the rest."""
    if sp.issparse(value):
        value.check_format(full_check=True)
        return value if value.dtype.kind in "fiub" else None
    if type(value) is not np.ndarray:
        return None  # scipy marks objects, opaque values and functions by subclass
    if value.dtype == object:
        members = [_numeric(item) for item in value.ravel(order="F")]
        plain = members and all(m is not None for m in members)
        nested = any(isinstance(m, list) for m in members)
        return members if plain and not nested else None
    return value if value.dtype.kind in "fiub" and value.ndim == 2 else None


def _unpacked_size(path: Path, limit: int) -> int:
    """Bytes of all elements after decompression, without keeping any of them."""
    total = 0
    with path.open("rb") as file:
        order = "<" if file.read(128)[126:128] == b"IM" else ">"
        while len(tag := file.read(8)) == 8:
            kind, size = struct.unpack(order + "II", tag)
            if kind == _COMPRESSED:
                total += _inflated_size(file, size, limit - total)
            else:
                total += size
                file.seek(size, 1)
            if total > limit:
                break
    return total


def _inflated_size(file: BinaryIO, size: int, limit: int) -> int:
    """Decompressed bytes of one element, counted up to just beyond the limit."""
    inflate = zlib.decompressobj()
    total = 0
    while size > 0 and total <= limit:
        packed = file.read(min(size, _CHUNK))
        if not packed:
            break
        size -= len(packed)
        while packed and total <= limit:
            total += len(inflate.decompress(packed, _CHUNK))
            packed = inflate.unconsumed_tail
    return total
