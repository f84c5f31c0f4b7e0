"""Views read from disk by rows: whoever gets them opens the paths again.

Converted folders, Zarr stores, npy files and Parquet (files, or folders of them).
Rows are read where they are asked for; of Parquet that means whole row groups.
Only files whose row names differ are read as a whole, to bring their rows together.
"""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets.data_folder import is_data_folder, open_data_folder
from manyview.datasets.formats.tabular import PARQUET_INDEX, label_like
from manyview.datasets.formats.zarr_store import looks_like_zarr, read
from manyview.datasets.many_files import combine
from manyview.datasets.raw_data import NDArray, RawData, Request, tell
from manyview.errors import DependencyError, FileError
from manyview.files.npy_file import map_array
from manyview.views.disk_views import DiskViews

# Data sets held open in a process: each takes a few file handles.
_MOST_OPEN = 16


def open_on_disk(*paths: str | os.PathLike[str]) -> DiskViews:
    """The views of one or more paths, opened once in each process."""
    return _open(tuple(str(Path(p).expanduser()) for p in paths))


@lru_cache(maxsize=_MOST_OPEN)
def _open(paths: tuple[str, ...]) -> DiskViews:
    raw = combine([_read_lazily(Path(p)) for p in paths])
    views = DiskViews(
        raw.views,
        opener=open_on_disk,
        paths=paths,
        names=raw.names,
        feature_names=raw.feature_names,
        present=raw.present,
        labels=raw.labels,
    )
    views.origin, views.names_chosen = raw.origin, False
    tell(raw.notes)
    return views


def _read_lazily(path: Path) -> RawData:
    if not path.exists():
        raise FileError(
            f"There is no {path}. Data read by rows needs a path that every worker "
            "can reach."
        )
    if is_data_folder(path):
        return open_data_folder(path, verify=False)
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
    rows = ParquetRows(files)
    return RawData(
        [rows],
        [path.stem],
        feature_names=[list(rows.column_names)],
        row_names=rows.names(),
        notes=label_like(rows.column_names, path.name),
    )


class ParquetRows:
    """The numeric columns of Parquet files of equal columns, read by row groups.

    The index that pandas writes beside them names the rows.
    """

    chunks = None  # marks a lazy array

    def __init__(self, files: Sequence[Path]) -> None:
        try:
            import pyarrow.parquet as pq
        except ImportError as error:
            raise DependencyError(
                "Reading Parquet by rows needs pyarrow. Install it: pip install "
                "pyarrow."
            ) from error
        opened = [pq.ParquetFile(file) for file in files]
        kinds = {
            column.name: np.dtype(column.type.to_pandas_dtype())
            for column in opened[0].schema_arrow
            if column.name != PARQUET_INDEX
        }
        text = [name for name, kind in kinds.items() if kind.kind not in "fiub"]
        if text:
            raise FileError(
                f"{files[0].name} has a column that is not numeric: {text[0]}. Drop "
                "or encode it."
            )
        self.column_names = list(kinds)
        self._groups = [(f, g) for f in opened for g in range(f.num_row_groups)]
        sizes = [f.metadata.row_group(g).num_rows for f, g in self._groups]
        self._edges = np.cumsum([0, *sizes])
        self.dtype = np.result_type(*kinds.values())
        self.shape = (int(self._edges[-1]), len(self.column_names))

    def names(self) -> list[str] | None:
        """The rows' names, where the files have an index."""
        files = list(dict.fromkeys(file for file, _ in self._groups))
        if PARQUET_INDEX not in files[0].schema_arrow.names:
            return None
        tables = [file.read(columns=[PARQUET_INDEX]) for file in files]
        return [str(n) for t in tables for n in t[PARQUET_INDEX].to_pylist()]

    def __getitem__(self, rows: Any) -> NDArray:
        if isinstance(rows, slice):
            rows = np.arange(*rows.indices(self.shape[0]))
        wanted = np.asarray(rows)
        groups = np.searchsorted(self._edges, wanted, side="right") - 1
        found = np.empty((len(wanted), self.shape[1]), self.dtype)
        for number in np.unique(groups):
            here = groups == number
            file, group = self._groups[number]
            table = file.read_row_group(
                group, columns=self.column_names, use_threads=False
            )
            columns = [table[name].to_numpy() for name in self.column_names]
            found[here] = np.column_stack(columns)[wanted[here] - self._edges[number]]
        return found
