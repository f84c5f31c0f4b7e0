"""Zarr groups on disk: numeric arrays by their path, read lazily."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from manyview.datasets.formats.raw import RawData, Request
from manyview.datasets.layout import arrange
from manyview.errors import DependencyError, FileError

MAX_ARRAYS = 10_000


def looks_like_zarr(path: Path) -> bool:
    """Does the folder carry Zarr's metadata (version 2 or 3)?"""
    return any((path / n).is_file() for n in ("zarr.json", ".zgroup", ".zarray"))


def read(path: Path, request: Request, stack: ExitStack) -> RawData:
    """Numeric arrays of a Zarr group, arranged as views."""
    try:
        import zarr
    except ImportError as error:
        raise DependencyError(
            f"{path.name} is a Zarr store, which needs the zarr package. "
            "Install it: pip install 'manyview[zarr]'."
        ) from error
    node = zarr.open(str(path), mode="r")
    found: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    if hasattr(node, "shape"):
        found["X"] = node
    else:
        _collect(node, "", found, skipped)
    return arrange(found, request, skipped)


def _collect(
    group: Any, prefix: str, found: dict[str, Any], skipped: dict[str, str]
) -> None:
    for name, item in sorted(group.members()):
        path = prefix + name
        if len(found) + len(skipped) > MAX_ARRAYS:
            raise FileError(
                f"The Zarr store holds more than {MAX_ARRAYS} arrays. Extract the "
                "views into a smaller store."
            )
        if not hasattr(item, "shape"):
            _collect(item, path + "/", found, skipped)
        elif item.dtype.kind in "fiub" and len(item.shape) in (1, 2):
            found[path] = item
        else:
            skipped[path] = f"dtype {item.dtype}, shape {item.shape}"
