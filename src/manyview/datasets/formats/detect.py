"""Telling formats apart by their content, and the reader for each.

The name of a file is believed only for text, which has no signature.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

from manyview.datasets.formats.raw import RawData, Request
from manyview.datasets.formats.zarr_store import looks_like_zarr
from manyview.datasets.store import META, is_store
from manyview.errors import FileError

Reader = Callable[[Path, Request, ExitStack], RawData]

# Imported on use: HDF5 or scipy.io must not load before they are needed.
_READERS = {
    "mat5": ("mat5", "read"),
    "hdf5": ("hdf5", "read"),
    "npz": ("npz", "read"),
    "npy": ("npy", "read"),
    "csv": ("table", "read_csv"),
    "parquet": ("table", "read_parquet"),
    "zarr": ("zarr_store", "read"),
}
IN_PROCESS = ("npy", "store")  # parsed by a few checked lines of Python, then mapped
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_TEXT = (".csv", ".tsv", ".txt", ".data", ".tab")
_PICKLES = (".pkl", ".pickle", ".p", ".joblib", ".pt", ".pth")
READABLE = "MATLAB (.mat), .npz, .npy, .csv, .parquet, HDF5, Zarr, .h5ad, .h5mu"


def sniff(path: Path) -> str:
    """Format of a file or folder by its first bytes."""
    if path.is_dir():
        return _sniff_folder(path)
    with path.open("rb") as file:
        head = file.read(128)
    if not head:
        raise FileError(f"{path.name} is empty (0 bytes). Fetch or write it again.")
    if _has_hdf5_signature(path):
        return "hdf5"
    if head.startswith(b"\x93NUMPY"):
        return "npy"
    if head.startswith(b"PK") and path.suffix.lower() not in _PICKLES:
        return "npz"
    if head.startswith(b"PAR1"):
        return "parquet"
    if head[126:128] in (b"IM", b"MI") and head[124:126] in (b"\0\1", b"\1\0"):
        return "mat5"
    return _sniff_by_name(path, head)


def _sniff_by_name(path: Path, head: bytes) -> str:
    suffix = path.suffix.lower()
    if suffix in _PICKLES or head[:1] == b"\x80":
        raise FileError(
            f"{path.name} was refused: it looks like a Python pickle, which can run "
            "code when read. Save the arrays with numpy.savez instead."
        )
    if suffix in _TEXT and b"\0" not in head:
        return "csv"
    raise FileError(
        f"{path.name} is in no format we can read: its first bytes are {head[:8]!r}. "
        f"Readable are {READABLE}; the content decides, not the ending."
    )


def _sniff_folder(path: Path) -> str:
    if is_store(path):
        return "store"
    if looks_like_zarr(path):
        return "zarr"
    raise FileError(
        f"The folder {path.name} holds no data set: neither {META} nor Zarr metadata "
        "nor one .npy, .csv or .parquet file per view. Give a file, a list of files, "
        "or a folder written by manyview convert."
    )


def _has_hdf5_signature(path: Path) -> bool:
    """HDF5 may begin after a user block of 512, 1024, 2048, … bytes."""
    size = path.stat().st_size
    offset = 0
    with path.open("rb") as file:
        while offset < min(size, 2**20):
            file.seek(offset)
            if file.read(8) == _HDF5_SIGNATURE:
                return True
            offset = max(512, offset * 2)
    return False


def reader(kind: str) -> Reader:
    """The function that reads a format."""
    module, function = _READERS[kind]
    found: Reader = getattr(import_module(f".{module}", __package__), function)
    return found
