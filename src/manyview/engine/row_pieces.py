"""Rows that lie packed in pieces: each is unpacked once, then read from scratch files.

A row group of Parquet and a chunk of HDF5 or Zarr are unpacked as wholes, whatever is
asked of them: block by block the same piece would be unpacked again and again. Here
it goes to a file without a name when its first row is asked for, and stays there. Where
the disk has no room for all rows, only the pieces that blocks go through are kept.
"""

import copy
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manyview.arrays.ops import Array
from manyview.engine.resources import n_cores
from manyview.engine.scratch import Scratch
from manyview.errors import ResourceError
from manyview.views.views import Views

# Of the free disk, for each view: the rest is for other views, for the state of the
# rows, and for others.
DISK_SHARE = 0.2


class RowPieces:
    """A lazy array whose pieces are unpacked when rows of them are asked for.

    Parameters
    ----------
    edges : sequence of int
        First row of every piece, and the number of rows.
    model : array (any, n_features)
        Of the rows' width and type.
    unpack : function
        From the number of a piece to its rows in a scratch file.
    files : sequence of Path
        What the rows are read from, to be watched.
    """

    chunks = None  # marks a lazy array

    def __init__(
        self,
        edges: Sequence[int],
        model: Array,
        unpack: Callable[[int], Scratch],
        files: Sequence[Path] = (),
    ) -> None:
        self.shape = (int(edges[-1]), int(model.shape[1]))
        self.dtype, self.files = model.dtype, tuple(files)
        self._edges, self._unpack = np.asarray(edges), unpack
        self._model = np.empty((0, self.shape[1]), self.dtype)
        self._fits: bool | None = None  # do all rows go into one file, and which,
        self._whole: Scratch | None = None
        self._there: set[int] = set()  # and pieces that are in it
        self._few: dict[int, Scratch] = {}  # pieces; the one used last comes last
        self._lock = threading.Lock()

    def __getitem__(self, rows: Any) -> Array:
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.shape[0])
            if step == 1:
                return self._run(start, stop)
            rows = np.arange(start, stop, step)
        wanted = np.asarray(rows)
        found = np.empty((wanted.size, self.shape[1]), self.dtype)
        pieces = self._piece_of(wanted)
        for number in np.unique(pieces):
            file, first = self._piece(int(number))
            for i in np.flatnonzero(pieces == number):
                found[i] = file.read(int(wanted[i]) - first, 1)
        return found

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self[:], dtype=dtype)

    def _piece_of(self, rows: Any) -> Any:
        return np.searchsorted(self._edges, rows, side="right") - 1

    def _run(self, start: int, stop: int) -> Array:
        """Consecutive rows."""
        found = np.empty((max(stop - start, 0), self.shape[1]), self.dtype)
        at = start
        while at < stop:
            number = int(self._piece_of(at))
            end = min(stop, int(self._edges[number + 1]))
            file, first = self._piece(number)
            found[at - start : end - start] = file.read(at - first, end - at)
            at = end
        return found

    def _piece(self, number: int) -> tuple[Scratch, int]:
        """Where a piece lies: a file, and the number of the first row in it.

        Unpacked by the first who asks; others wait for it.
        """
        with self._lock:
            if self._whole is not None and number in self._there:
                return self._whole, 0
            first = int(self._edges[number])
            piece = self._few.pop(number, None) or self._unpack(number)
            if self._has_room(piece.row_bytes) and self._whole is not None:
                try:
                    piece.copy_to(self._whole, first)
                    self._there.add(number)
                    return self._whole, 0
                except ResourceError:  # others have filled the disk
                    self._whole, self._fits = None, False
            self._few[number] = piece
            while len(self._few) > n_cores() + 2:
                del self._few[next(iter(self._few))]
            return piece, first

    def _has_room(self, row_bytes: int) -> bool:
        """May all rows lie on the disk? Asked once; then there is a file for them."""
        if self._fits is None:
            free = shutil.disk_usage(tempfile.gettempdir()).free
            self._fits = self.shape[0] * row_bytes <= DISK_SHARE * free
            if self._fits:
                self._whole = Scratch(self.shape[0], self._model)
        return self._fits


def piece_edges(n_rows: int, packed_rows: int, least: int) -> list[int]:
    """Edges of pieces of whole chunks, each of at least so many rows."""
    size = packed_rows * -(-least // packed_rows)
    return [*range(0, n_rows, size), n_rows]


def unpacked_once(views: Views, block_rows: int) -> Views:
    """The same views; chunks of HDF5 and Zarr are unpacked once, not in every block."""
    found = copy.copy(views)
    found.arrays = tuple(
        _in_pieces(a, block_rows) if getattr(a, "chunks", None) else a
        for a in views.arrays
    )
    return found


def _in_pieces(array: Any, block_rows: int) -> RowPieces:
    edges = piece_edges(int(array.shape[0]), int(array.chunks[0]), block_rows)

    def unpack(number: int) -> Scratch:
        rows = np.ascontiguousarray(array[edges[number] : edges[number + 1]])
        piece = Scratch(len(rows), rows)
        piece.write(0, rows)
        return piece

    return RowPieces(edges, np.empty((0, array.shape[1]), array.dtype), unpack)
