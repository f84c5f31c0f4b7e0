"""Rows that lie packed in pieces: each is unpacked once, then read from scratch files.

A row group of Parquet and a chunk of HDF5 or Zarr are unpacked as wholes, whatever is
asked of them: block by block the same piece would be unpacked again and again. Here
it goes to a file without a name when its first row is asked for, and stays there
while the disk has room.
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
from manyview.views.views import Views

# Of the free disk: the rest is for the state of the rows, and for others.
DISK_SHARE = 0.5


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
        self._kept: dict[int, Scratch] = {}  # the one used last comes last
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
            piece, first = self._piece(int(number)), self._edges[number]
            for i in np.flatnonzero(pieces == number):
                found[i] = piece.read(int(wanted[i] - first), 1)
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
            first, end = self._edges[number : number + 2]
            n_rows = int(min(stop, end)) - at
            rows = self._piece(number).read(int(at - first), n_rows)
            found[at - start : at - start + n_rows] = rows
            at += n_rows
        return found

    def _piece(self, number: int) -> Scratch:
        """The piece, unpacked by the first who asks; others wait for it."""
        with self._lock:
            piece = self._kept.pop(number, None) or self._unpack(number)
            self._kept[number] = piece
            self._make_room()
        return piece

    def _make_room(self) -> None:
        """Forget the pieces used longest ago, but for those that blocks go through."""
        sizes = {n: p.shape[0] * p.row_bytes for n, p in self._kept.items()}
        held = sum(sizes.values())
        room = DISK_SHARE * (shutil.disk_usage(tempfile.gettempdir()).free + held)
        for number in list(self._kept)[: -n_cores() - 2]:
            if held <= room:
                return
            held -= sizes[number]
            del self._kept[number]


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
