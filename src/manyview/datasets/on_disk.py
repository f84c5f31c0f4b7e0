"""Views that stay on disk and travel as their paths: every process opens its own.

Converted folders, Zarr stores, npy files and Parquet (files, or folders of them)
are read by rows, never as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets.formats.raw import NDArray, RawData, Request
from manyview.datasets.formats.zarr_store import looks_like_zarr, read
from manyview.datasets.layout import LABEL_NAMES
from manyview.datasets.many_files import combine
from manyview.datasets.store import is_store, open_store
from manyview.errors import DependencyError, FileError
from manyview.files.npy_file import map_array
from manyview.views.views import Views

_MOST_OPEN = 16


class DiskViews(Views):
    """Views of a path; pickled as that path."""

    paths: tuple[str, ...]

    def __reduce__(self) -> Any:
        return open_on_disk, self.paths


def open_on_disk(*paths: str | os.PathLike[str]) -> DiskViews:
    """The views of one or more paths, opened once in each process."""
    return _open(tuple(str(Path(p).expanduser()) for p in paths))


@lru_cache(maxsize=_MOST_OPEN)
def _open(paths: tuple[str, ...]) -> DiskViews:
    raw = combine([_read_lazily(Path(p)) for p in paths])
    views = DiskViews(
        raw.views,
        names=raw.names,
        feature_names=raw.feature_names,
        present=raw.present,
        labels=raw.labels,
    )
    views.origin, views.paths = raw.origin, paths
    return views


def _read_lazily(path: Path) -> RawData:
    if not path.exists():
        raise FileError(
            f"There is no {path}. Data read by rows needs a path that every worker "
            "can reach."
        )
    if is_store(path):
        return open_store(path, verify=False)
    if looks_like_zarr(path):
        return read(path, Request(), ExitStack())
    if path.suffix.lower() == ".npy":
        return RawData([map_array(path)], [path.stem])
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files or files[0].suffix.lower() not in (".parquet", ".pq"):
        raise FileError(
            f"{path} is neither a folder of 'manyview convert', nor Zarr, Parquet or "
            "npy. Convert it first: manyview convert FILE FOLDER."
        )
    return RawData([ParquetRows(files)], [path.stem])


class ParquetRows:
    """The numeric columns of Parquet files of equal columns, sliced by rows.

    A column with a usual label name is left out.
    """

    def __init__(self, files: Sequence[Path]) -> None:
        try:
            import pyarrow.parquet as pq
        except ImportError as error:
            raise DependencyError(
                "Reading Parquet by rows needs pyarrow. Install it: pip install "
                "pyarrow."
            ) from error
        self._files = [pq.ParquetFile(file) for file in files]
        schema = self._files[0].schema_arrow
        self._columns = [n for n in schema.names if n.lower() not in LABEL_NAMES]
        kinds = [
            np.dtype(schema.field(n).type.to_pandas_dtype()) for n in self._columns
        ]
        for name, kind in zip(self._columns, kinds, strict=True):
            if kind.kind not in "fiub":
                raise FileError(
                    f"{files[0].name} has a column that is not numeric: {name}. Drop "
                    "or encode it."
                )
        groups = [
            (file, group, file.metadata.row_group(group).num_rows)
            for file in self._files
            for group in range(file.num_row_groups)
        ]
        self._groups = [(file, group) for file, group, _ in groups]
        self._edges = np.cumsum([0, *(rows for _, _, rows in groups)])
        self.dtype = np.result_type(*kinds)
        self.shape = (int(self._edges[-1]), len(self._columns))
        self.chunks = None

    def __getitem__(self, rows: Any) -> NDArray:
        if not isinstance(rows, slice):
            first, last = int(np.min(rows)), int(np.max(rows)) + 1
            return np.asarray(self[first:last][np.asarray(rows) - first])
        start, stop, _ = rows.indices(self.shape[0])
        touched = np.flatnonzero((self._edges[:-1] < stop) & (self._edges[1:] > start))
        if stop <= start or not touched.size:
            return np.empty((0, self.shape[1]), self.dtype)
        parts = [self._read_group(int(g)) for g in touched]
        offset = int(self._edges[touched[0]])
        return np.asarray(np.concatenate(parts)[start - offset : stop - offset])

    def _read_group(self, number: int) -> NDArray:
        file, group = self._groups[number]
        table = file.read_row_group(group, columns=self._columns, use_threads=False)
        columns = [table[name].to_numpy() for name in self._columns]
        return np.column_stack(columns).astype(self.dtype, copy=False)
