"""HDF5 files of every kind: MATLAB v7.3, single-cell containers, plain datasets."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from manyview.datasets.formats import mat73, scverse
from manyview.datasets.formats.hdf5_file import (
    is_numeric,
    is_sparse,
    open_hdf5,
    read_sparse,
)
from manyview.datasets.formats.raw import RawData, Request
from manyview.datasets.layout import arrange


def read(path: Path, request: Request, stack: ExitStack) -> RawData:
    """Open the file once and let the convention it follows decide the reader."""
    file = open_hdf5(path, stack)
    if scverse.looks_like_mudata(file):
        return scverse.read_mudata(file, request)
    if scverse.looks_like_anndata(file):
        return scverse.read_anndata(file, request)
    if mat73.looks_like_matlab(file):
        return mat73.read_open(file, request)
    found: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    _collect(file, "", found, skipped, request.memory_limit, set())
    return arrange(found, request, skipped)


def _collect(
    group: Any,
    prefix: str,
    found: dict[str, Any],
    skipped: dict[str, str],
    limit: int,
    seen: set[int],
) -> None:
    """Numeric datasets and sparse groups by their path, each group once."""
    import h5py

    address = int(h5py.h5o.get_info(group.id).addr)
    if address in seen:
        return
    seen.add(address)
    for name, item in group.items():
        path = prefix + name
        if item is None:
            skipped[path] = "dangling link"
        elif is_sparse(item):
            found[path] = read_sparse(item, limit)
        elif hasattr(item, "keys"):
            _collect(item, path + "/", found, skipped, limit, seen)
        elif is_numeric(item):
            found[path] = item
        else:
            skipped[path] = "not numeric"
