"""CSV and Parquet tables: one view per file, read with whatever is installed.

A first column of text is taken as row names, a column with a usual label name
(or the one named) as labels; every other column must be numeric.
"""

from __future__ import annotations

import importlib.util
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets.formats.raw import (
    NDArray,
    RawData,
    Request,
    clean_name,
    distinct,
)
from manyview.datasets.layout import LABEL_NAMES, tidy_labels
from manyview.engine.resources import require_room
from manyview.errors import DependencyError, FileError

_ENGINES = ("pyarrow", "polars", "pandas")
_DELIMITERS = (",", "\t", ";", " ")


def read_csv(path: Path, request: Request, stack: ExitStack) -> RawData:
    """One delimited text file as one view; a header line is recognised."""
    delimiter, header = _sniff(path)
    # Two characters are the least a number and its delimiter take.
    require_room(path.stat().st_size * 4, request.memory_limit, path.name)
    engine = _engine()
    if engine is None:
        return _read_plain(path, delimiter, header, request)
    table = _native_csv(engine, path, delimiter, header)
    return _split(_columns(table), path, request, named=header)


def read_parquet(path: Path, request: Request, stack: ExitStack) -> RawData:
    """One Parquet file as one view."""
    engine = _engine()
    if engine is None:
        raise DependencyError(
            f"{path.name} is a Parquet file, which needs pyarrow, polars or pandas. "
            "Install one of them: pip install pyarrow."
        )
    if engine == "pyarrow":
        import pyarrow.parquet as pq

        size = pq.read_metadata(path)
        require_room(
            size.num_rows * size.num_columns * 8, request.memory_limit, path.name
        )
    import narwhals as nw

    table = nw.read_parquet(str(path), backend=engine).to_native()
    return _split(_columns(table), path, request, named=True)


def _columns(table: Any) -> dict[str, NDArray]:
    import narwhals as nw

    frame = nw.from_native(table, eager_only=True)
    return {str(n): frame[n].to_numpy() for n in frame.columns}


def _engine() -> Any:
    return next((e for e in _ENGINES if importlib.util.find_spec(e)), None)


def warm_up() -> None:
    """Load the table engine now: its pools need more room than a limit leaves."""
    engine = _engine()
    if engine is not None:
        import narwhals  # noqa: F401

        importlib.import_module(engine)
    if engine == "pyarrow":
        importlib.import_module("pyarrow.csv")
        importlib.import_module("pyarrow.parquet")


def _sniff(path: Path) -> tuple[str, bool]:
    """Delimiter and whether the first line is a header."""
    with path.open("rb") as file:
        lines = [file.readline(2**20) for _ in range(2)]
    if not lines[0].strip() or b"\0" in lines[0]:
        raise FileError(
            f"{path.name} is empty or no text. Give a table of numbers, "
            "one row per sample."
        )
    first = lines[0].decode("utf-8-sig", "replace").rstrip("\r\n")
    delimiter = max(_DELIMITERS, key=first.count)
    fields = [f.strip().strip('"') for f in first.split(delimiter)]
    numeric = sum(_is_number(f) for f in fields)
    # One text field before numbers is a row name, not a header.
    return delimiter, numeric < max(1, len(fields) - 1)


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _native_csv(engine: str, path: Path, delimiter: str, header: bool) -> Any:
    """The table as its library reads it; each spells these options differently."""
    if engine == "pyarrow":
        from pyarrow import csv

        return csv.read_csv(
            path,
            csv.ReadOptions(autogenerate_column_names=not header, use_threads=False),
            csv.ParseOptions(delimiter=delimiter),
        )
    if engine == "polars":
        import polars

        return polars.read_csv(path, separator=delimiter, has_header=header)
    import pandas

    table = pandas.read_csv(path, sep=delimiter, header=0 if header else None)
    return table.rename(columns=str)


def _read_plain(path: Path, delimiter: str, header: bool, request: Request) -> RawData:
    """Numbers only, by NumPy, where no table library is installed."""
    values = np.loadtxt(
        path, delimiter=delimiter, skiprows=int(header), ndmin=2, comments=None
    )
    names = [f"column{i}" for i in range(values.shape[1])]
    if header:
        with path.open(encoding="utf-8-sig") as file:
            first = file.readline().rstrip("\r\n")
        names = distinct([f.strip().strip('"') for f in first.split(delimiter)])
    columns = dict(zip(names, values.T, strict=True))
    return _split(columns, path, request, named=header)


def _split(
    columns: dict[str, NDArray], path: Path, request: Request, *, named: bool
) -> RawData:
    """Row names, labels and the matrix of the remaining columns."""
    row_names = _take_row_names(columns, named)
    if path.stem.lower() in LABEL_NAMES and len(columns) == 1:
        return _labels_alone(next(iter(columns.values())), row_names)
    labels = _take_labels(columns, request)
    text = [n for n, c in columns.items() if c.dtype.kind not in "fiub"]
    if text or not columns:
        raise FileError(
            f"{path.name} has columns that are not numeric: "
            f"{', '.join(map(clean_name, text[:8])) or 'no numeric column is left'}. "
            "Drop or encode them, or name the label column with labels= (--labels)."
        )
    matrix = np.column_stack(list(columns.values()))
    return RawData(
        views=[matrix],
        names=[path.stem],
        feature_names=[[clean_name(n) for n in columns]] if named else None,
        labels=labels,
        row_names=row_names,
    )


def _labels_alone(column: NDArray, row_names: list[str] | None) -> RawData:
    """A file that holds nothing but labels, to go with the views beside it."""
    return RawData(views=[], names=[], labels=_tidy(column), row_names=row_names)


def _tidy(column: NDArray) -> NDArray:
    return tidy_labels(column if column.dtype.kind in "fiub" else column.astype(str))


def _take_row_names(columns: dict[str, NDArray], named: bool) -> list[str] | None:
    """Remove and return a leading column of names (text, or an unnamed index)."""
    if len(columns) < 2:
        return None
    first = next(iter(columns))
    index = first in ("", "Unnamed: 0", "__index_level_0__")
    text = columns[first].dtype.kind in "OUST" and first.lower() not in LABEL_NAMES
    if "__index_level_0__" in columns:  # pandas writes its index last in Parquet
        first, index = "__index_level_0__", True
    if not (index or text):
        return None
    names = [clean_name(v) for v in columns[first]]
    if not index and len(set(names)) < len(names):
        return None
    del columns[first]
    return names


def _take_labels(columns: dict[str, NDArray], request: Request) -> NDArray | None:
    if request.labels is False:
        return None
    name = request.labels
    if name is None:
        usual = [n for n in columns if n.lower() in LABEL_NAMES]
        name = usual[0] if len(usual) == 1 and len(columns) > 1 else None
    if name is None or name is True:
        return None
    if name not in columns:
        raise FileError(
            f"There is no column {name!r}. Found: "
            f"{', '.join(map(clean_name, list(columns)[:30]))}. "
            "Name one with labels= (--labels)."
        )
    return _tidy(columns.pop(name))
