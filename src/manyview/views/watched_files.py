"""Files under views, watched while their rows are in use."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from manyview.errors import FileError


class FileStamp(NamedTuple):
    """A file as it was when its rows were opened.

    Rows mapped beyond the end of a shortened file would end the process with a bus
    error, HDF5 would read them as zeros, and rows written meanwhile would mix two
    data sets in one result. A file that is removed, or replaced by another under
    its name, does no harm: open rows stay those of the old one.
    """

    path: Path
    inode: int
    size: int
    written: int


def watch(arrays: Iterable[Any]) -> tuple[FileStamp, ...]:
    """The files that the arrays read from."""
    found = {path: look(path) for a in arrays for path in _files_of(a)}
    return tuple(w for w in found.values() if w is not None)


def require_unchanged(files: Iterable[FileStamp]) -> None:
    """Raise a `FileError` if one of the files was written to since."""
    for before in files:
        now = look(before.path)
        if now is None or now.inode != before.inode or now == before:
            continue
        raise FileError(
            f"{before.path} was changed while its rows were in use: it had "
            f"{before.size} bytes, now it has {now.size}. Start again when nothing "
            "writes to it."
        )


def look(path: Path) -> FileStamp | None:
    """The file as it is now; None where there is none."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return FileStamp(path, facts.st_ino, facts.st_size, facts.st_mtime_ns)


def _files_of(array: Any) -> Iterator[Path]:
    if sp.issparse(array):
        for name in ("data", "indices", "indptr"):
            yield from _files_of(getattr(array, name, None))
    file: Any = getattr(array, "file", None)
    if getattr(file, "mode", None) == "r":  # of HDF5, not opened for writing by us
        yield Path(str(file.filename))
    yield from getattr(array, "files", ())  # of rows that are decoded from them
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap) and array.filename is not None:
            yield Path(str(array.filename))
            return
        array = array.base
