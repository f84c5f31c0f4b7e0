"""Where the rows' state and the views lie when memory is limited.

State fields that do not fit go to scratch files, one per field, written and read
block by block. The files have no name in any folder, so they vanish with the
process, however it ends. Mapped views are read instead of mapped: mapped pages
would count as memory of this process.
"""

from __future__ import annotations

import copy
import ctypes
import errno
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manyview.arrays.ops import Array
from manyview.engine.contract import sizes
from manyview.engine.resources import n_cores, parse_size, resident_bytes
from manyview.errors import InputError, InputTypeError, ResourceError
from manyview.views.views import Views

# The driver's own matrices: Grams of features and of a few thousand anchors.
DRIVER = 400 * 10**6
# Bytes a second from a scratch file, of an ordinary solid-state disk.
READ_RATE = 8e8
# Of a limit, for blocks in progress; rows of a block below which passes get slow.
WORK_SHARE = 0.12
LEAST_ROWS = 256
COPIED_ROWS = 8192  # from one scratch file to another, at a time
# The interpreter with its libraries, and the driver's matrices of a small fit.
LEAST_LIMIT = 500 * 10**6
_turn = threading.Lock()  # of those who move the place in a file
_c_library = ctypes.CDLL(None) if os.name == "posix" else None


class Scratch:
    """One field of all rows in a file without a name, or rows in the given one."""

    def __init__(self, n_rows: int, model: Array, file: Any = None) -> None:
        self.dtype, self.shape = model.dtype, (n_rows, *model.shape[1:])
        self.row_bytes = int(np.prod(model.shape[1:], dtype=np.int64)) * (
            model.dtype.itemsize
        )
        if file is None:
            file = tempfile.TemporaryFile(prefix="manyview-", buffering=0)
        self._file = file
        weakref.finalize(self, file.close)
        self._is_lent = False

    def write(self, first: int, values: Array) -> None:
        """Store consecutive rows."""
        left = np.ascontiguousarray(values).data.cast("B")
        offset = first * self.row_bytes
        try:
            while left:
                done = _write_at(self._file, left, offset)
                left, offset = left[done:], offset + done
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            raise ResourceError(
                f"The scratch folder {tempfile.gettempdir()} is full: "
                f"{self.shape[0] * self.row_bytes / 1e9:.1f} GB are needed there. Set "
                "TMPDIR to a larger disk, or raise memory_limit."
            ) from error

    def read(self, first: int, n_rows: int) -> Array:
        """Consecutive rows in a fresh array."""
        out = np.empty((n_rows, *self.shape[1:]), dtype=self.dtype)
        read_into(self._file, out, first * self.row_bytes)
        return out

    def copy_to(self, other: Scratch, first: int) -> None:
        """Store all rows in another file, from row `first` of it on."""
        for at in range(0, self.shape[0], COPIED_ROWS):
            rows = self.read(at, min(COPIED_ROWS, self.shape[0] - at))
            other.write(first + at, rows)

    def holds(self, values: Array) -> bool:
        """May rows like these be written over those of this file?"""
        alike = self.dtype == values.dtype and self.shape[1:] == values.shape[1:]
        return alike and not self._is_lent

    def mapped(self) -> Array:
        """All rows, on disk; the file lives as long as the array."""
        self._is_lent = True
        return np.memmap(self._file, self.dtype, mode="r+", shape=self.shape)


def read_into(file: Any, out: Array, offset: int) -> None:
    """Fill an array from a file without a buffer."""
    left = memoryview(out.reshape(-1).view(np.uint8))
    while left:
        done = _read_at(file, left, offset)
        if not done:
            raise ResourceError(
                "A file ended early while its rows were read. Start again when nothing "
                "else writes to it."
            )
        left, offset = left[done:], offset + done


def _read_at(file: Any, into: memoryview, offset: int) -> int:
    if hasattr(os, "preadv"):
        return os.preadv(file.fileno(), [into], offset)
    with _turn:  # as on Windows
        file.seek(offset)
        return int(file.readinto(into))


def _write_at(file: Any, values: memoryview, offset: int) -> int:
    if hasattr(os, "pwrite"):
        return os.pwrite(file.fileno(), values, offset)
    with _turn:
        file.seek(offset)
        return int(file.write(values))


class FileRows:
    """A mapped array whose rows are read, with the next ones announced."""

    def __init__(self, array: np.memmap[Any, Any]) -> None:
        root: Any = array
        while isinstance(root.base, np.memmap):
            root = root.base
        self.shape, self.dtype = array.shape, array.dtype
        self._row_bytes = array.shape[1] * array.dtype.itemsize
        self._column_bytes = 0 if array.flags.c_contiguous else array.strides[1]
        self._first = root.offset + array.ctypes.data - root.ctypes.data
        self._file = Path(str(array.filename)).open("rb", buffering=0)
        weakref.finalize(self, self._file.close)

    def __getitem__(self, rows: Any) -> Array:
        if self._column_bytes and isinstance(rows, slice):
            rows = np.arange(*rows.indices(self.shape[0]))
        if not isinstance(rows, slice):
            return self._gather(np.asarray(rows))
        start, stop, _ = rows.indices(self.shape[0])
        out = np.empty((stop - start, self.shape[1]), dtype=self.dtype)
        offset = self._first + start * self._row_bytes
        if hasattr(os, "posix_fadvise"):
            ahead = 4 * out.nbytes
            flag = os.POSIX_FADV_WILLNEED
            os.posix_fadvise(self._file.fileno(), offset + out.nbytes, ahead, flag)
        read_into(self._file, out, offset)
        return out

    def _gather(self, rows: Array) -> Array:
        out = np.empty((rows.size, self.shape[1]), dtype=self.dtype)
        if self._column_bytes and rows.size:
            # In Fortran order: the stretch of every column that has these rows.
            first = int(rows.min())
            part = np.empty(int(rows.max()) + 1 - first, dtype=self.dtype)
            for j in range(self.shape[1]):
                at = self._first + j * self._column_bytes + first * part.itemsize
                read_into(self._file, part, at)
                out[:, j] = part[rows - first]
            return out
        for i, row in enumerate(rows):
            read_into(self._file, out[i], self._first + int(row) * self._row_bytes)
        return out


def unmapped(views: Views) -> Views:
    """The same views; mapped arrays are read row by row instead.

    But for those whose file has another one in its place.
    """
    found = copy.copy(views)
    found.arrays = tuple(
        FileRows(a)
        if isinstance(a, np.memmap)
        and (a.flags.c_contiguous or a.flags.f_contiguous)
        and a.filename
        and views.still_there(Path(str(a.filename)))
        else a
        for a in views.arrays
    )
    return found


def parse_memory(limit: Any) -> int:
    """Bytes from a number or a text such as "2GB" or "512MiB"."""
    if isinstance(limit, bool) or not isinstance(limit, (int, np.integer, str)):
        raise InputTypeError(
            f"memory_limit must be a text such as '2GB', a number of bytes or None; "
            f"got {limit!r}."
        )
    value = parse_size(limit if isinstance(limit, str) else int(limit))
    if value < LEAST_LIMIT:
        raise InputError(
            f"memory_limit={limit!r} is too little: the program and its small matrices "
            f"alone need about {LEAST_LIMIT / 1e6:.0f} MB. Give more."
        )
    return value


def work_bytes(n_rows: int, n_features: Sequence[int], dtype: np.dtype[Any]) -> int:
    """Memory of the blocks in progress: views, distances, features, float64 copies."""
    widest = max(*n_features, 1024)
    per_row = (sum(n_features) + 3 * widest) * dtype.itemsize + 8 * widest
    return n_rows * per_row * (n_cores() + 1)


def rows_within(
    limit: int, n_rows: int, n_features: Sequence[int], dtype: np.dtype[Any]
) -> int:
    """Rows per block, fewer where the blocks in progress would fill the limit."""
    while n_rows > LEAST_ROWS and (
        work_bytes(n_rows, n_features, dtype) > WORK_SHARE * limit
    ):
        n_rows //= 2
    return n_rows


class Budget:
    """How much of the rows' state may stay in memory.

    Parameters
    ----------
    limit : int
        Bytes the process may hold in all.
    work : int
        Bytes that blocks in progress need.
    """

    def __init__(self, limit: int, work: int) -> None:
        self.limit = limit
        self.fixed = resident_bytes() + DRIVER + work
        self.used = 0

    @property
    def room(self) -> int:
        """Bytes of the state that may stay in memory."""
        asked = sizes.state_room
        return self.limit - self.fixed if asked is None else asked

    def give_back(self) -> None:
        """Return freed memory to the system; what C's allocator keeps counts."""
        trim = getattr(_c_library, "malloc_trim", None)
        if trim is not None:
            trim(0)

    def takes(self, n_bytes: int) -> bool:
        """Take this much of the room, if it is there."""
        if n_bytes > 0 and self.used + n_bytes > self.room:
            return False
        self.used += n_bytes
        return True

    def place(self, n_bytes: int, remake_seconds: float | None) -> str:
        """Where a field would go: "memory", "disk", or made "again" in every pass."""
        if self.used + n_bytes <= self.room:
            return "memory"
        if remake_seconds is not None and remake_seconds < n_bytes / READ_RATE:
            return "again"
        free = shutil.disk_usage(tempfile.gettempdir()).free
        # Half as much again for the field that it may take the place of.
        if 1.5 * n_bytes < free:
            return "disk"
        if remake_seconds is not None:
            return "again"
        raise ResourceError(
            f"The state of the fit needs {n_bytes / 1e9:.1f} GB, which neither "
            f"memory_limit ({self.limit / 1e9:.1f} GB) nor the scratch folder "
            f"{tempfile.gettempdir()} ({free / 1e9:.1f} GB free) holds. Set TMPDIR to "
            "a larger disk, or raise memory_limit."
        )
