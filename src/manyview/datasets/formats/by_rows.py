"""Parquet and Zarr by rows: opened where they are unpacked, piece by piece.

A piece is what their formats unpack as a whole: a row group, or the chunks side by
side. Comes here only inside the child process.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets.data_folder import select_parts
from manyview.datasets.formats.tabular import PARQUET_INDEX, label_like
from manyview.datasets.formats.zarr_store import looks_like_zarr, read
from manyview.datasets.many_files import by_number
from manyview.datasets.raw_data import NDArray, RawData, Request, Transposed
from manyview.engine.contract import sizes
from manyview.engine.row_pieces import piece_edges
from manyview.errors import DependencyError, FileError

# Of a row group, unpacked at a time: a few columns of them fit a cache.
_BATCH_ROWS = 65_536


def parquet_files(path: Path) -> list[Path]:
    """The file, or the Parquet files of a folder; none where it is neither."""
    files = sorted(path.glob("*.parquet"), key=by_number) if path.is_dir() else [path]
    return [f for f in files if f.suffix.lower() in (".parquet", ".pq")]


def open_by_rows(path: Path, request: Request) -> RawData:
    """A Parquet file, a folder of them or a Zarr store; views know their pieces."""
    if looks_like_zarr(path):
        raw = read(path, request, ExitStack())
        return replace(raw, views=[ChunkRows(view) for view in raw.views])
    label = request.labels if isinstance(request.labels, str) else None
    rows = ParquetRows(parquet_files(path), label)
    found = RawData(
        [rows],
        [path.stem],
        feature_names=[list(rows.column_names)],
        labels=None if label is None else rows.column(label),
        row_names=rows.names(),
        notes=label_like(rows.column_names, path.name),
    )
    return select_parts(found, Request(request.views))


class ChunkRows:
    """A Zarr array, in pieces of whole chunks."""

    def __init__(self, array: Any) -> None:
        self.array, self.shape, self.dtype = array, array.shape, array.dtype
        turned = isinstance(array, Transposed)
        packed = array.array.chunks[1] if turned else array.chunks[0]
        self.edges = piece_edges(int(array.shape[0]), int(packed), sizes.block_rows)

    def batches(self, number: int) -> Iterator[NDArray]:
        """The rows of a piece, at once."""
        yield np.asarray(self.array[self.edges[number] : self.edges[number + 1]])


class ParquetRows:
    """The numeric columns of Parquet files of equal columns, in their row groups.

    The index that pandas writes beside them names the rows; a column of labels is
    left out.
    """

    def __init__(self, files: Sequence[Path], label: str | None = None) -> None:
        try:
            import pyarrow.parquet as pq
        except ImportError as error:
            raise DependencyError(
                "Reading Parquet by rows needs pyarrow. Install it: pip install "
                "pyarrow."
            ) from error
        opened = [pq.ParquetFile(file) for file in files]
        self._where = files[0].name
        kinds = {
            column.name: np.dtype(column.type.to_pandas_dtype())
            for column in opened[0].schema_arrow
            if column.name not in (PARQUET_INDEX, label)
        }
        text = [name for name, kind in kinds.items() if kind.kind not in "fiub"]
        if text:
            raise FileError(
                f"{self._where} has a column that is not numeric: {text[0]}. Drop "
                "or encode it."
            )
        self.column_names = list(kinds)
        self._groups = [(f, g) for f in opened for g in range(f.num_row_groups)]
        counts = [f.metadata.row_group(g).num_rows for f, g in self._groups]
        self.edges = [int(e) for e in np.cumsum([0, *counts])]
        self.dtype = np.result_type(*kinds.values())
        self.shape = (self.edges[-1], len(self.column_names))

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

    def batches(self, number: int) -> Iterator[NDArray]:
        """The rows of a row group, some at a time."""
        file, group = self._groups[number]
        for batch in file.iter_batches(
            _BATCH_ROWS, [group], columns=self.column_names, use_threads=False
        ):
            columns = [self._numbers(batch, name) for name in self.column_names]
            yield np.column_stack(columns)

    def _numbers(self, batch: Any, name: str) -> NDArray:
        column = batch.column(name)
        if column.null_count and self.dtype.kind != "f":
            raise FileError(
                f"{self._where} has gaps among the whole numbers of column {name}. "
                "Write the column as floating point, or fill the gaps."
            )
        return np.asarray(column.to_numpy(zero_copy_only=False))
