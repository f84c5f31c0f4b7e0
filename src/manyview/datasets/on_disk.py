"""Views read from disk by rows: whoever gets them opens the paths again.

Converted folders, Zarr stores, npy files and Parquet (files, or folders of them).
Rows are read where they are asked for; of Parquet that means whole row groups.
Only files whose row names differ are read as a whole, to bring their rows together.
"""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets.data_folder import is_data_folder, open_data_folder, select_parts
from manyview.datasets.formats.tabular import PARQUET_INDEX, label_like
from manyview.datasets.formats.zarr_store import looks_like_zarr, read
from manyview.datasets.many_files import combine
from manyview.datasets.raw_data import NDArray, RawData, Request, tell
from manyview.errors import DependencyError, FileError
from manyview.files.npy_file import map_array
from manyview.views.disk_views import DiskViews

# Data sets held open in a process: each takes a few file handles.
_MOST_OPEN = 16


def open_on_disk(
    *paths: str | os.PathLike[str],
    views: Sequence[str] | None = None,
    labels: str | bool | None = None,
) -> DiskViews:
    """The views of one or more paths, opened once in each process.

    `views` and `labels` choose as in `load`.
    """
    names = None if views is None else tuple(views)
    return _open(tuple(str(Path(p).expanduser()) for p in paths), names, labels)


@lru_cache(maxsize=_MOST_OPEN)
def _open(
    paths: tuple[str, ...], names: tuple[str, ...] | None, labels: str | bool | None
) -> DiskViews:
    # Of several files each brings its own views; those asked for are chosen of all.
    own = names if len(paths) == 1 else None
    raw = combine([_read_lazily(Path(p), Request(own, labels)) for p in paths])
    if own is None and names is not None:
        raw = select_parts(raw, Request(names))
    views = DiskViews(
        raw.views,
        opener=partial(open_on_disk, views=names, labels=labels),
        paths=paths,
        names=raw.names,
        feature_names=raw.feature_names,
        present=raw.present,
        labels=raw.labels,
    )
    views.origin, views.names_chosen = raw.origin, False
    tell(raw.notes)
    return views


def _read_lazily(path: Path, request: Request) -> RawData:
    if not path.exists():
        raise FileError(
            f"There is no {path}. Data read by rows needs a path that every worker "
            "can reach."
        )
    if is_data_folder(path):
        return select_parts(open_data_folder(path, verify=False), request)
    if looks_like_zarr(path):
        return read(path, request, ExitStack())
    if path.suffix.lower() == ".npy":
        return select_parts(
            RawData([map_array(path)], [path.stem]), Request(request.views)
        )
    files = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if not files or files[0].suffix.lower() not in (".parquet", ".pq"):
        raise FileError(
            f"{path} is neither a folder of 'manyview convert', nor Zarr, Parquet or "
            "npy. Convert it first: manyview convert FILE FOLDER."
        )
    label = request.labels if isinstance(request.labels, str) else None
    rows = ParquetRows(files, label)
    found = RawData(
        [rows],
        [path.stem],
        feature_names=[list(rows.column_names)],
        labels=None if label is None else rows.column(label),
        row_names=rows.names(),
        notes=label_like(rows.column_names, path.name),
    )
    return select_parts(found, Request(request.views))


class ParquetRows:
    """The numeric columns of Parquet files of equal columns, read by row groups.

    The index that pandas writes beside them names the rows; a column of labels is
    left out.
    """

    chunks = None  # marks a lazy array

    def __init__(self, files: Sequence[Path], label: str | None = None) -> None:
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
            if column.name not in (PARQUET_INDEX, label)
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
        found = self.column(PARQUET_INDEX)
        return None if found is None else [str(name) for name in found]

    def column(self, name: str) -> NDArray | None:
        """All rows of a column beside the features, if the files have it."""
        files = list(dict.fromkeys(file for file, _ in self._groups))
        if name not in files[0].schema_arrow.names:
            return None
        return np.concatenate(
            [f.read(columns=[name])[name].to_numpy(zero_copy_only=False) for f in files]
        )

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
