"""One file in, one `RawData` out; its content tells the format.

The name of a file is believed only for text, which has no signature. Every
failure is a sentence.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from manyview.datasets.data_folder import META, is_data_folder
from manyview.datasets.formats import hdf5, matlab, numpy_files, tabular, zarr_store
from manyview.datasets.raw_data import RawData, Request, clean_name
from manyview.engine.resources import show_size
from manyview.errors import FileError, ManyviewError, ResourceError

_READERS: dict[str, Callable[[Path, Request, ExitStack], RawData]] = {
    "mat5": matlab.read_v5,
    "hdf5": hdf5.read,
    "npz": numpy_files.read_npz,
    "npy": numpy_files.read_npy,
    "csv": tabular.read_csv,
    "parquet": tabular.read_parquet,
    "zarr": zarr_store.read,
}
IN_PROCESS = ("npy", "folder")  # parsed by a few checked lines of Python, then mapped
READABLE = "MATLAB (.mat), .npz, .npy, .csv, .parquet, HDF5, Zarr, .h5ad, .h5mu"
_HDF5_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_TEXT = (".csv", ".tsv", ".txt", ".data", ".tab")
_PICKLES = (".pkl", ".pickle", ".p", ".joblib", ".pt", ".pth")


def read_file(path: Path, request: Request, stack: ExitStack) -> RawData:
    """Read one file with the reader its content asks for.

    Views may be lazy; they are valid until `stack` is closed.
    """
    kind = detect_format(path)
    try:
        return _READERS[kind](path, request, stack)
    except ManyviewError:
        raise
    except MemoryError as error:
        raise out_of_memory(path, request) from error
    except Exception as error:  # parsers fail in many ways on damaged files
        raise FileError(
            f"{path.name} could not be read as {kind}: {type(error).__name__}: "
            f"{clean_name(error)}. The file is damaged or not what its signature "
            "says; fetch or write it again."
        ) from error


def out_of_memory(path: Path, request: Request) -> ResourceError:
    """What to say when a parser ran into its limit."""
    return ResourceError(
        f"Reading {path.name} ran out of the {show_size(request.memory_limit)} it may "
        "use. Raise memory_limit if the file is yours; otherwise it is damaged or "
        "hostile."
    )


def detect_format(path: Path) -> str:
    """Format of a file or folder by its first bytes."""
    if path.is_dir():
        return _folder_format(path)
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
    return _format_by_name(path, head)


def _format_by_name(path: Path, head: bytes) -> str:
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


def _folder_format(path: Path) -> str:
    if is_data_folder(path):
        return "folder"
    if zarr_store.looks_like_zarr(path):
        return "zarr"
    raise FileError(
        f"The folder {path.name} holds no data set: neither {META} nor Zarr metadata "
        "nor one .npy, .csv or .parquet file per view. Give a file, a list of files, "
        "or a folder written by manyview convert."
    )


def _has_hdf5_signature(path: Path) -> bool:
    """HDF5 may begin after a user block of 512, 1024, 2048, … bytes."""
    offset = 0
    with path.open("rb") as file:
        while offset < 2**20:
            file.seek(offset)
            if file.read(8) == _HDF5_SIGNATURE:
                return True
            offset = max(512, offset * 2)
    return False
