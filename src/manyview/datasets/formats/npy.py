"""``.npy`` files, one per view, mapped from disk rather than read."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from manyview.datasets.formats.raw import RawData, Request
from manyview.datasets.layout import LABEL_NAMES, tidy_labels
from manyview.errors import FileError
from manyview.files.npy_file import map_array


def read(path: Path, request: Request, stack: ExitStack) -> RawData:
    """One array as one view, or as labels when the file is named so."""
    array = map_array(path)
    if path.stem.lower() in LABEL_NAMES and array.size == array.shape[0]:
        return RawData(views=[], names=[], labels=tidy_labels(array.ravel()))
    if array.ndim != 2 or array.dtype.kind not in "fiub":
        raise FileError(
            f"{path.name} is no view: it holds {array.dtype} of shape {array.shape}. "
            "Give a 2-D array of numbers with samples on rows."
        )
    return RawData(views=[array], names=[path.stem])
