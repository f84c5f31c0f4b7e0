"""One file in, one `RawData` out; its content tells the format.

The name of a file is believed only for text, which has no signature. Every
failure is a sentence.
"""

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from manyview.datasets.data_folder import META, is_data_folder
from manyview.datasets.formats import (
    hdf5_file,
    matlab,
    numpy_files,
    scverse,
    tabular,
    zarr_store,
)
from manyview.datasets.layout import arrange
from manyview.datasets.raw_data import RawData, Request, clean_name
from manyview.engine.resources import show_size
from manyview.errors import FileError, ManyviewError, ResourceError


def _read_hdf5(path: Path, request: Request, stack: ExitStack) -> RawData:
    """Open the file once and let the convention it follows decide the reader."""
    file = hdf5_file.open_hdf5(path, stack)
    if scverse.looks_like_scverse(file):
        return scverse.read(file, request)
    if matlab.looks_like_v73(file):
        return matlab.read_v73(file, request)
    found: dict[str, Any] = {}
    skipped: dict[str, str] = {}
    sparse: tuple[str, ...] = ()
    for name, item in hdf5_file.walk(file, path.name):
        if name.startswith(sparse):
            continue  # a part of what has been read
        if item is None:
            skipped[name] = "dangling link"
        elif hdf5_file.is_sparse(item):
            found[name] = hdf5_file.read_sparse(item, request.memory_limit)
            sparse = (*sparse, f"{name}/")
        elif hdf5_file.is_numeric(item):
            found[name] = item
        elif not hasattr(item, "keys"):
            skipped[name] = "not numeric"
    return arrange(found, request, skipped)


_READERS: dict[str, Callable[[Path, Request, ExitStack], RawData]] = {
    "mat5": matlab.read_v5,
    "hdf5": _read_hdf5,
    "npz": numpy_files.read_npz,
    "npy": numpy_files.read_npy,
    "csv": tabular.read_csv,
    "parquet": tabular.read_parquet,
    "zarr": zarr_store.read,
}
IN_PROCESS = ("npy", "folder")  # parsed by a few checked lines of Python, then mapped
READABLE = "MATLAB (.mat), .npz, .npy, .csv, .parquet, HDF5, Zarr, .h5ad, .h5mu"
_TEXT = (".csv", ".tsv", ".txt", ".data", ".tab")
_PICKLES = (".pkl", ".pickle", ".p", ".joblib", ".pt", ".pth")
_OFFICE = bytes.fromhex("D0CF11E0A1B11AE1")  # files of older Office programs
_COMPRESSED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"7z\xbc\xaf", b"\x28\xb5\x2f\xfd")


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
    _refuse_wrapped(path, head)
    if head.startswith(b"PK") and path.suffix.lower() not in _PICKLES:
        return "npz"
    if head.startswith(b"PAR1"):
        return "parquet"
    if head[126:128] in (b"IM", b"MI") and head[124:126] in (b"\0\1", b"\1\0"):
        return "mat5"
    return _format_by_name(path, head)


def _refuse_wrapped(path: Path, head: bytes) -> None:
    """Workbooks and compressed files: they hold tables, but are none."""
    books = (".xlsx", ".xlsm", ".xls", ".ods")
    zipped = head.startswith(b"PK") and b"[Content_Types].xml" in head
    if zipped or head.startswith(_OFFICE) or path.suffix.lower() in books:
        raise FileError(
            f"{path.name} is a spreadsheet, which is not read. Save its sheets as "
            "CSV, one per view, or give the DataFrame of pandas.read_excel."
        )
    if head.startswith(_COMPRESSED):
        raise FileError(
            f"{path.name} is compressed (its first bytes are {head[:4]!r}). Unpack it "
            "first, then give the file inside."
        )


def _format_by_name(path: Path, head: bytes) -> str:
    suffix = path.suffix.lower()
    if suffix in _PICKLES or head[:1] == b"\x80":
        raise FileError(
            f"{path.name} was refused: it looks like a Python pickle, which can run "
            "code when read. Save the arrays with numpy.savez instead."
        )
    if suffix in _TEXT and b"\0" not in head:
        return "csv"
    text = " A table of text must be named .csv or .txt." if head.isascii() else ""
    raise FileError(
        f"{path.name} is in no format we can read: its first bytes are {head[:8]!r}. "
        f"Readable are {READABLE}; the content decides, not the ending.{text}"
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
    signature, starts = b"\x89HDF\r\n\x1a\n", (0, *(2**k for k in range(9, 20)))
    with path.open("rb") as file:
        return any(file.seek(p) == p and file.read(8) == signature for p in starts)
