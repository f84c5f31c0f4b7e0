"""What every reader is asked and returns: plain fields, not yet checked by `Views`."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.engine.resources import parse_size, require_room
from manyview.errors import DataWarning, InputTypeError
from manyview.views.views import Views

NDArray = np.ndarray[Any, Any]
SPARSE_PARTS = ("data", "indices", "indptr")  # of a CSR matrix, as scipy calls them
# Longer names are cut in messages; no real one is.
_MAX_NAME = 200


@dataclass(frozen=True)
class Request:
    """What the caller asked of a reader; travels to the child as JSON."""

    views: Sequence[str] | None = None
    labels: str | bool | None = None
    memory_limit: int = 2**31

    @classmethod
    def of(cls, views: Any, labels: Any, memory_limit: Any) -> Request:
        """What a caller of `load` or `convert` asked, its names checked."""
        names = [views] if isinstance(views, str) else views
        if names is not None:
            listed = isinstance(names, (list, tuple)) and len(names) > 0
            if not listed or not all(isinstance(n, str) for n in names):
                raise InputTypeError(
                    f"views={views!r} must be the name of a variable or a list of "
                    "names."
                )
            names = tuple(names)
        return cls(names, labels, parse_size(memory_limit))


@dataclass(frozen=True)
class RawData:
    """The parts of a data set as a reader found them.

    `views` may hold arrays, CSR matrices or lazy arrays (HDF5, Zarr,
    `Transposed`) that are valid only while their file is open. `notes` are sentences
    for the user on what was taken and what was not.
    """

    views: list[Any]
    names: list[str]
    feature_names: list[list[str] | None] | None = None
    present: NDArray | None = None
    labels: NDArray | None = None
    row_names: list[str] | None = None
    origin: str | None = None
    notes: tuple[str, ...] = ()

    def to_views(self) -> Views:
        """The same parts as a checked `Views`."""
        views = Views(
            self.views,
            names=self.names,
            feature_names=self.feature_names,
            present=self.present,
            labels=self.labels,
            row_names=None if self.row_names is None else np.asarray(self.row_names),
        )
        views.origin, views.names_chosen = self.origin, False
        return views

    @classmethod
    def of_views(cls, views: Views) -> RawData:
        """The parts of a `Views`, nothing copied."""
        rows = views.row_names
        return cls(
            views=list(views.arrays),
            names=list(views.names),
            feature_names=[None if f is None else list(f) for f in views.feature_names],
            present=views.present,
            labels=views.labels,
            row_names=None if rows is None else [str(r) for r in rows],
            origin=views.origin,
        )

    def require_room(self, limit: int, what: str) -> None:
        """Refuse views that are larger than the limit when read."""
        require_room(sum(map(n_bytes, self.views)), limit, what)


class Transposed:
    """A 2-D lazy array with its axes swapped, read only where it is sliced."""

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape = (int(array.shape[1]), int(array.shape[0]))
        self.dtype = array.dtype

    def __getitem__(self, rows: slice) -> NDArray:
        return np.asarray(self.array[:, rows]).T


def transpose(array: Any) -> Any:
    """Swap the axes of an array, a sparse matrix or a lazy array."""
    if isinstance(array, Transposed):
        return array.array
    if isinstance(array, np.ndarray) or sp.issparse(array):
        return array.T
    return Transposed(array)


def in_memory(array: Any) -> Any:
    """Read a lazy array; arrays and sparse matrices pass."""
    if isinstance(array, np.ndarray) or sp.issparse(array):
        return array
    return np.ascontiguousarray(array[:])


def n_bytes(array: Any) -> int:
    """Memory an array, sparse matrix or lazy array takes when read."""
    if sp.issparse(array):
        return int(array.nnz * (array.dtype.itemsize + 8) + 8 * array.shape[0])
    n_entries = np.prod([int(s) for s in array.shape], dtype=object)
    return int(n_entries * array.dtype.itemsize)


def checked_csr(parts: Sequence[Any], shape: Any, kind: str = "csr") -> Any:
    """CSR of compressed parts; wild indices would crash compiled code later."""
    make = sp.csc_array if kind.startswith("csc") else sp.csr_array
    matrix = make(tuple(parts), shape=(int(shape[0]), int(shape[1])))
    matrix.check_format(full_check=True)
    return sp.csr_array(matrix)


def clean_name(name: object) -> str:
    """A name from a file, safe to print: no control characters, not endless."""
    text = printable(str(name))
    return text if len(text) <= _MAX_NAME else text[: _MAX_NAME - 3] + "..."


def printable(text: str) -> str:
    """Text without control characters."""
    return "".join(c if c.isprintable() else "?" for c in text)


def tell(notes: Sequence[str]) -> None:
    """Say what readers had to note, to whoever called `load` or `convert`."""
    for note in dict.fromkeys(notes):
        warnings.warn(note, DataWarning, stacklevel=3)


def name_list(names: Any, most: int = 30) -> str:
    """Names from a file, safe to print, the first of them."""
    return ", ".join(map(clean_name, list(names)[:most]))


def distinct(names: Sequence[str]) -> list[str]:
    """The names, later duplicates numbered."""
    counts: dict[str, int] = {}
    result = []
    for name in names:
        counts[name] = counts.get(name, 0) + 1
        result.append(name if counts[name] == 1 else f"{name}#{counts[name]}")
    return result
