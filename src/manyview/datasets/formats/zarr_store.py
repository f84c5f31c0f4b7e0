"""Zarr groups on disk: numeric arrays by their path, read lazily."""

from contextlib import ExitStack
from pathlib import Path
from typing import Any

from manyview.datasets.layout import arrange
from manyview.datasets.raw_data import RawData, Request
from manyview.errors import FileError, required

# Each is a folder of files: opening as many takes seconds.
MAX_ARRAYS = 10_000


def looks_like_zarr(path: Path) -> bool:
    """Does the folder carry Zarr's metadata (version 2 or 3)?"""
    return any((path / n).is_file() for n in ("zarr.json", ".zgroup", ".zarray"))


def read(path: Path, request: Request, stack: ExitStack) -> RawData:
    """Numeric arrays of a Zarr group, arranged as views."""
    with required(f"The Zarr store {path.name} needs zarr", "zarr"):
        import zarr
    node = zarr.open(str(path), mode="r")
    arrays = {"X": node} if hasattr(node, "shape") else _arrays(node)
    found, skipped = {}, {}
    for name, array in arrays.items():
        if array.dtype.kind in "fiub" and len(array.shape) in (1, 2):
            found[name] = array
        else:
            skipped[name] = f"dtype {array.dtype}, shape {array.shape}"
    return arrange(found, request, skipped)


def _arrays(root: Any) -> dict[str, Any]:
    """Every array by its path, in the order of their names."""
    members = dict(root.members(max_depth=None))
    if len(members) > MAX_ARRAYS:
        raise FileError(
            f"The Zarr store holds more than {MAX_ARRAYS} arrays. Extract the views "
            "into a smaller store."
        )
    paths = sorted(members, key=lambda path: path.split("/"))
    return {path: members[path] for path in paths if hasattr(members[path], "shape")}
