"""What every reader returns: plain fields, not yet checked by `Views`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.views.views import Views

NDArray = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Request:
    """What the caller asked of a reader; travels to the child as JSON."""

    views: tuple[str, ...] | None = None
    labels: str | bool | None = None
    memory_limit: int = 2**31


@dataclass(frozen=True)
class RawData:
    """The parts of a data set as a reader found them.

    `views` may hold arrays, CSR matrices or lazy arrays (HDF5, Zarr,
    `Transposed`) that are valid only while their file is open.
    """

    views: list[Any]
    names: list[str]
    feature_names: list[list[str] | None] | None = None
    present: NDArray | None = None
    labels: NDArray | None = None
    row_names: list[str] | None = None
    origin: str | None = None

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
        views.origin = self.origin
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
    return int(np.prod([int(s) for s in array.shape], dtype=object)) * int(
        array.dtype.itemsize
    )


def clean_name(name: object) -> str:
    """A name from a file, safe to print: no control characters, not endless."""
    text = "".join(c if c.isprintable() else "?" for c in str(name))
    return text if len(text) <= 200 else text[:197] + "..."


def distinct(names: Sequence[str]) -> list[str]:
    """The names, later duplicates numbered."""
    seen: dict[str, int] = {}
    result = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        result.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return result
