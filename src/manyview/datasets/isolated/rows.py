"""Views whose rows a child unpacks, piece by piece, when they are asked for.

A piece comes back as plain bytes in a file, which is read where rows are needed.
"""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets.data_folder import open_data_folder
from manyview.datasets.isolated.sandbox import Sandbox
from manyview.datasets.raw_data import NDArray, RawData, Request
from manyview.engine.row_pieces import RowPieces
from manyview.engine.scratch import Scratch
from manyview.errors import FileError
from manyview.views.watched_files import look

Stamp = tuple[tuple[str, int, int, int], ...]


def stamp_of(path: Path) -> Stamp:
    """Name, inode, size and time of writing of a file, or of all in a folder."""
    found = map(look, sorted(path.iterdir()) if path.is_dir() else [path])
    return tuple((f.path.name, f.inode, f.size, f.written) for f in found if f)


def open_rows(
    path: Path, stamp: Stamp, request: Request, sandbox: Sandbox, files: Sequence[Path]
) -> RawData:
    """The views of a Parquet file, a folder of them or a Zarr store.

    A path that is no longer what the stamp says is refused, also later, when a new
    child opens it again. `files` are watched while rows are in use.
    """
    source = _Source(path, stamp, request, sandbox)
    with _folder() as folder:
        reply = source.ask("open", folder)
        rest = open_data_folder(folder, verify=False, private=True)
    pieces = [_checked(about, path) for about in reply["rows"]]
    views = [
        RowPieces(edges, model, _Unpacker(source, v, edges, model), files)
        for v, (edges, model) in enumerate(pieces)
    ]
    names = [str(about["name"]) for about in reply["rows"]]
    features = [about["feature_names"] for about in reply["rows"]]
    known = None if all(f is None for f in features) else features
    notes = tuple(reply["notes"])
    return replace(rest, views=views, names=names, feature_names=known, notes=notes)


@dataclass(frozen=True)
class _Source:
    """A path as it was when it was opened, and the child that reads it."""

    path: Path
    stamp: Stamp
    request: Request
    sandbox: Sandbox

    def ask(self, task: str, out: Path, **more: int) -> Any:
        """Have the child do something with the path; its reply."""
        job = {"task": task, "stamp": self.stamp, "out": str(out), **more}
        return self.sandbox.ask(self.path, self.request, **job)


@dataclass(frozen=True)
class _Unpacker:
    """From the number of a piece to its rows, by way of the child."""

    source: _Source
    view: int
    edges: Sequence[int]
    model: NDArray

    def __call__(self, number: int) -> Scratch:
        with _folder() as folder:
            self.source.ask("unpack", folder, view=self.view, number=number)
            found = folder / "rows"
            n_rows = self.edges[number + 1] - self.edges[number]
            piece = Scratch(n_rows, self.model, found.open("rb", buffering=0))
            if found.stat().st_size != n_rows * piece.row_bytes:
                raise _strange(self.source.path)
        return piece


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder for the child to write into; what is open outlives it."""
    folder = Path(tempfile.mkdtemp(prefix="manyview-read-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _checked(about: Any, path: Path) -> tuple[list[int], NDArray]:
    """Edges of the pieces, and an array of the rows' width and type."""
    (n_rows, n_features), edges = about["shape"], about["edges"]
    dtype, features = np.dtype(str(about["dtype"])), about["feature_names"]
    whole = all(type(n) is int for n in (n_features, *edges))
    rises = whole and all(a <= b for a, b in pairwise(edges))
    fits = rises and edges[0] == 0 and edges[-1] == n_rows and n_features >= 0
    named = features is None or len(features) == n_features
    if dtype.kind not in "fiub" or not fits or not named:
        raise _strange(path)
    return edges, np.empty((0, n_features), dtype)


def _strange(path: Path) -> FileError:
    return FileError(
        f"{path.name} could not be read: its parser gave an answer that makes no "
        "sense. The file is damaged or hostile; fetch it again."
    )
