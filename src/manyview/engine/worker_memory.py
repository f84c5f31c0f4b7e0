"""The memory of a worker's process: pages kept for the next block, fields in a file.

A worker that holds more than its share of a limit puts the fields of further blocks
into one file without a name, which vanishes with the process, however it ends.
"""

import ctypes
import os
import threading
import weakref
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np

from manyview.arrays.ops import Array
from manyview.engine.resources import resident_bytes
from manyview.engine.scratch import Scratch

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
USUAL_MMAP = 128 * 2**10  # glibc's own value of the second
# Arrays of a block up to this size leave their pages to the next block; glibc takes
# no more.
MOST_KEPT = 32 * 2**20
TRIM = "MALLOC_TRIM_THRESHOLD_"


@contextmanager
def freed_pages_kept() -> Iterator[None]:
    """Blocks reuse the pages that blocks before have left; the last gives them back.

    Dask starts its workers so that C's allocator returns every larger array to the
    system at once. Fresh pages for every block take about as long as the work on it.
    """
    libc = ctypes.CDLL(None) if TRIM in os.environ and os.name == "posix" else None
    if libc is None or not hasattr(libc, "mallopt"):
        yield
        return
    libc.mallopt(M_MMAP_THRESHOLD, MOST_KEPT)
    libc.mallopt(M_TRIM_THRESHOLD, 2 * MOST_KEPT)
    try:
        yield
    finally:
        libc.mallopt(M_MMAP_THRESHOLD, USUAL_MMAP)
        libc.mallopt(M_TRIM_THRESHOLD, int(os.environ[TRIM]))
        libc.malloc_trim(0)


def kept_fields(fields: Mapping[str, Array], room: int | None) -> Mapping[str, Array]:
    """The fields of a block, in a file where the process holds more than `room`."""
    if room is None or resident_bytes() <= room:
        return dict(fields)
    return FiledFields({name: the_file().keep(x) for name, x in fields.items()})


class FiledFields(Mapping[str, Array]):
    """A block's fields on disk, read whenever they are asked for."""

    def __init__(self, places: Mapping[str, Any]) -> None:
        self._places = places

    def __getitem__(self, name: str) -> Array:
        return self._places[name].read()

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __reduce__(self) -> Any:
        return dict, (dict(self),)


class SharedFile:
    """One file for many arrays; places that are left are used again."""

    def __init__(self) -> None:
        self._bytes = Scratch(0, np.empty(0, np.uint8))
        self._free: dict[int, list[int]] = defaultdict(list)
        self._lock = threading.Lock()

    @property
    def n_bytes(self) -> int:
        """How long the file is."""
        return int(self._bytes.shape[0])

    def keep(self, values: Array) -> "_Place":
        """The array in a place of its own, which is free when nobody holds it."""
        size = values.nbytes
        with self._lock:
            first = self._free[size].pop() if self._free[size] else self.n_bytes
            self._bytes.shape = (max(self.n_bytes, first + size),)
        self._bytes.write(first, values)
        place = _Place(self._bytes, first, values)
        weakref.finalize(place, self._free[size].append, first)
        return place


class _Place:
    """Where an array lies in a file."""

    def __init__(self, file: Scratch, first: int, values: Array) -> None:
        self._file, self._first = file, first
        self._size, self._shape, self._dtype = values.nbytes, values.shape, values.dtype

    def read(self) -> Array:
        found = self._file.read(self._first, self._size)
        return found.view(self._dtype).reshape(self._shape)


@cache
def the_file() -> SharedFile:
    """The file of this process."""
    return SharedFile()
