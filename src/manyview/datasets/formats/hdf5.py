"""HDF5 files of every kind: MATLAB v7.3, single-cell containers, plain datasets."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from manyview.datasets.formats import matlab, scverse
from manyview.datasets.formats.hdf5_file import (
    is_numeric,
    is_sparse,
    open_hdf5,
    read_sparse,
    walk,
)
from manyview.datasets.layout import arrange
from manyview.datasets.raw_data import RawData, Request


def read(path: Path, request: Request, stack: ExitStack) -> RawData:
    """Open the file once and let the convention it follows decide the reader."""
    file = open_hdf5(path, stack)
    if scverse.looks_like_scverse(file):
        return scverse.read(file, request)
    if matlab.looks_like_v73(file):
        return matlab.read_v73(file, request)
    found: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    sparse: tuple[str, ...] = ()
    for name, item in walk(file, path.name):
        if name.startswith(sparse):
            continue  # a part of what has been read
        if item is None:
            skipped[name] = "dangling link"
        elif is_sparse(item):
            found[name] = read_sparse(item, request.memory_limit)
            sparse = (*sparse, f"{name}/")
        elif is_numeric(item):
            found[name] = item
        elif not hasattr(item, "keys"):
            skipped[name] = "not numeric"
    return arrange(found, request, skipped)
