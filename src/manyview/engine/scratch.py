"""Where the rows' state and the views lie when memory is limited.

State fields that do not fit go to scratch files, one per field, written and read
block by block. The files have no name in any folder, so they vanish with the
process, however it ends. Mapped views are read instead of mapped: mapped pages
would count as memory of this process.
"""

from __future__ import annotations

import copy
import errno
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manyview.arrays.ops import Array, namespace
from manyview.engine.plan import Budget
from manyview.errors import ResourceError
from manyview.views.views import Views


class Scratch:
    """One field of all rows in a file without a name."""

    def __init__(self, n_rows: int, model: Array) -> None:
        self.dtype, self.shape = model.dtype, (n_rows, *model.shape[1:])
        self.row_bytes = int(np.prod(model.shape[1:], dtype=np.int64)) * (
            model.dtype.itemsize
        )
        self._file = tempfile.TemporaryFile(prefix="manyview-")

    def write(self, first: int, values: Array) -> None:
        """Store consecutive rows."""
        left = np.ascontiguousarray(values).data.cast("B")
        offset = first * self.row_bytes
        try:
            while left:
                done = os.pwrite(self._file.fileno(), left, offset)
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
        read_into(self._file.fileno(), out, first * self.row_bytes)
        return out

    def mapped(self) -> Array:
        """All rows, on disk; the file lives as long as the array."""
        return np.memmap(self._file, self.dtype, mode="r+", shape=self.shape)


def read_into(descriptor: int, out: Array, offset: int) -> None:
    """Fill an array from a file."""
    left = memoryview(out.reshape(-1).view(np.uint8))
    while left:
        done = os.preadv(descriptor, [left], offset)
        if not done:
            raise ResourceError(
                "A file ended early while its rows were read. Start again when nothing "
                "else writes to it."
            )
        left, offset = left[done:], offset + done


class Store:
    """The state of all blocks: fields in memory, or in scratch files."""

    def __init__(self, slices: Sequence[slice], budget: Budget) -> None:
        self._slices, self._budget = slices, budget
        self._kept: list[dict[str, Array]] = [{} for _ in slices]
        self._files: dict[str, Scratch] = {}
        self._sizes: dict[str, int] = {}
        self._lock = threading.Lock()

    def block(self, number: int) -> Mapping[str, Array]:
        """The state of one block; what lies on disk is read when asked for."""
        if not self._files:
            return self._kept[number]
        return BlockState(self._kept[number], self._files, self._slices[number])

    def update(self, number: int, fields: Mapping[str, Array]) -> None:
        """Replace or add fields of one block."""
        kept = self._kept[number]
        for name, values in fields.items():
            if self._in_file(name, values):
                kept.pop(name, None)
                self._files[name].write(self._slices[number].start, values)
            else:
                self._release(name, values)
                kept[name] = values

    def _in_file(self, name: str, values: Array) -> bool:
        """Does this field go to disk? Settled when its first block arrives."""
        if self._budget.limit is None or not values.size:
            return False
        with self._lock:
            if name not in self._sizes:
                n_rows = self._slices[-1].stop
                self._sizes[name] = n_rows * (values.nbytes // len(values))
                if not self._budget.takes(self._sizes[name]):
                    self._sizes[name] = 0
                    self._files[name] = Scratch(n_rows, values)
        return name in self._files

    def _release(self, name: str, values: Array) -> None:
        """An emptied field gives its room back, once."""
        if not values.size and self._sizes.get(name):
            with self._lock:
                self._budget.gives(self._sizes[name])
                self._sizes[name] = 0

    def put(self, name: str, values: Array) -> None:
        """Split an array with one entry per row over the blocks."""
        for number, rows in enumerate(self._slices):
            self.update(number, {name: values[rows]})

    def read(self, name: str) -> Array:
        """A field of all rows, in row order; on disk if it lies there."""
        if name in self._files:
            return self._files[name].mapped()
        parts = [kept[name] for kept in self._kept]
        return namespace(parts[0]).concat(parts) if len(parts) > 1 else parts[0]

    def drop(self, name: str) -> None:
        """Forget a field."""
        for kept in self._kept:
            kept.pop(name, None)
        self._files.pop(name, None)
        self._budget.gives(self._sizes.pop(name, 0))


class BlockState(Mapping[str, Array]):
    """One block's state, during one pass; a field on disk is read once."""

    def __init__(
        self, kept: dict[str, Array], files: dict[str, Scratch], rows: slice
    ) -> None:
        self._kept, self._files, self._rows = kept, files, rows
        self._read: dict[str, Array] = {}

    def __getitem__(self, name: str) -> Array:
        if name in self._kept:
            return self._kept[name]
        if name not in self._read:
            first, stop = self._rows.start, self._rows.stop
            self._read[name] = self._files[name].read(first, stop - first)
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._kept, **self._files})

    def __len__(self) -> int:
        return len({**self._kept, **self._files})


class FileRows:
    """A mapped array whose rows are read, with the next ones announced."""

    def __init__(self, array: np.memmap[Any, Any]) -> None:
        root: Any = array
        while isinstance(root.base, np.memmap):
            root = root.base
        self.shape, self.dtype = array.shape, array.dtype
        self._row_bytes = array.shape[1] * array.dtype.itemsize
        self._first = root.offset + array.ctypes.data - root.ctypes.data
        self._file = Path(str(array.filename)).open("rb", buffering=0)

    def __getitem__(self, rows: Any) -> Array:
        if not isinstance(rows, slice):
            return self._gather(np.asarray(rows))
        start, stop, _ = rows.indices(self.shape[0])
        out = np.empty((stop - start, self.shape[1]), dtype=self.dtype)
        offset = self._first + start * self._row_bytes
        if hasattr(os, "posix_fadvise"):
            ahead = 4 * out.nbytes
            flag = os.POSIX_FADV_WILLNEED
            os.posix_fadvise(self._file.fileno(), offset + out.nbytes, ahead, flag)
        read_into(self._file.fileno(), out, offset)
        return out

    def _gather(self, rows: Array) -> Array:
        out = np.empty((rows.size, self.shape[1]), dtype=self.dtype)
        for i, row in enumerate(rows):
            read_into(
                self._file.fileno(), out[i], self._first + int(row) * self._row_bytes
            )
        return out


def unmapped(views: Views) -> Views:
    """The same views; mapped arrays are read row by row instead."""
    found = copy.copy(views)
    found.arrays = tuple(
        FileRows(a)
        if isinstance(a, np.memmap) and a.flags.c_contiguous and a.filename
        else a
        for a in views.arrays
    )
    return found
