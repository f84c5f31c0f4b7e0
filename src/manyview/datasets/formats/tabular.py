"""CSV and Parquet tables: one view per file, read with whatever is installed.

A first column of text is taken as row names, the column that was asked for as labels;
every other column is a feature and must be numeric, whatever its name. A file named
like labels with a single column of classes is taken as labels.
"""

import importlib.util
import re
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets.layout import LABEL_NAMES, holds_fractions, tidy_labels
from manyview.datasets.raw_data import (
    NDArray,
    RawData,
    Request,
    clean_name,
    distinct,
    name_list,
)
from manyview.engine.resources import require_room
from manyview.errors import DependencyError, FileError

# The first that is installed reads the table.
_ENGINES = ("pyarrow", "polars", "pandas")
_DELIMITERS = (",", "\t", ";", " ")
PARQUET_INDEX = "__index_level_0__"  # pandas' index, written as the last column
_INDEX_NAMES = ("", "Unnamed: 0", PARQUET_INDEX)
_WITH_COMMA = re.compile(r"[-+]?\d[\d.,]*,\d[\d.,]*(e[-+]?\d+)?", re.IGNORECASE)


def read_csv(path: Path, request: Request, stack: ExitStack) -> RawData:
    """One delimited text file as one view; a header line is recognised."""
    delimiter, header = find_delimiter(path)
    # Two characters are the least a number and its delimiter take.
    require_room(path.stat().st_size * 4, request.memory_limit, path.name)
    engine = _engine()
    try:
        if engine:
            columns = _columns(_native_csv(engine, path, delimiter, header))
        else:
            columns = _plain_columns(path, delimiter, header)
    except MemoryError:
        raise
    except Exception as error:  # each library has its own
        raise FileError(
            f"{path.name} could not be read as a table: {clean_name(error)}. Give "
            "every row as many columns as the first one, as text in UTF-8"
            f"{'.' if engine else '; text beside numbers needs pip install pyarrow.'}"
        ) from error
    return _split(columns, path, request, named=header)


def read_parquet(path: Path, request: Request, stack: ExitStack) -> RawData:
    """One Parquet file as one view."""
    if _engine() == "pyarrow":
        import pyarrow.parquet as pq

        size = pq.read_metadata(path)
        n_bytes = size.num_rows * size.num_columns * 8
        require_room(n_bytes, request.memory_limit, path.name)
    return _split(_columns(read_parquet_table(path)), path, request, named=True)


def read_parquet_table(path: Path) -> Any:
    """A Parquet file as a table of narwhals."""
    import narwhals as nw

    engine = _engine()
    if engine is None:
        raise DependencyError(
            f"{path.name} is a Parquet file, which needs pyarrow, polars or pandas. "
            "Install one of them: pip install pyarrow."
        )
    return nw.read_parquet(str(path), backend=engine)


def _columns(table: Any) -> dict[str, NDArray]:
    import narwhals as nw

    frame = nw.from_native(table, eager_only=True)
    return {str(n): frame[n].to_numpy() for n in frame.columns}


def _engine() -> Any:
    return next((e for e in _ENGINES if importlib.util.find_spec(e)), None)


def import_engine() -> None:
    """Load the table engine now: its pools need more room than a limit leaves."""
    engine = _engine()
    extra = ("pyarrow.csv", "pyarrow.parquet") if engine == "pyarrow" else ()
    for module in ("narwhals", engine, *extra) if engine else ():
        importlib.import_module(module)


def find_delimiter(path: Path) -> tuple[str, bool]:
    """Delimiter and whether the first line is a header."""
    with path.open("rb") as file:
        line = file.readline(2**20)
    if not line.strip() or b"\0" in line:
        raise FileError(
            f"{path.name} is empty or no text. Give a table of numbers, "
            "one row per sample."
        )
    first = line.decode("utf-8-sig", "replace")
    delimiter = max(_DELIMITERS, key=first.count)
    fields = _fields(first, delimiter)
    numeric = sum(is_number(f) for f in fields)
    # One text field before numbers is a row name, not a header.
    return delimiter, numeric < max(1, len(fields) - 1)


def _fields(line: str, delimiter: str) -> list[str]:
    return [f.strip().strip('"') for f in line.rstrip("\r\n").split(delimiter)]


def is_number(field: str) -> bool:
    """Does the text read as a number?"""
    try:
        float(field)
    except ValueError:
        return False
    return True


def _native_csv(engine: str, path: Path, delimiter: str, header: bool) -> Any:
    """The table as its library reads it; each spells these options differently."""
    if engine == "pyarrow":
        from pyarrow import csv

        table = csv.read_csv(
            path,
            csv.ReadOptions(autogenerate_column_names=not header, use_threads=False),
            csv.ParseOptions(delimiter=delimiter),
        )
        return table.rename_columns(distinct(table.column_names))
    if engine == "polars":
        import polars

        return polars.read_csv(path, separator=delimiter, has_header=header)
    import pandas

    table = pandas.read_csv(path, sep=delimiter, header=0 if header else None)
    return table.rename(columns=str)


def _plain_columns(path: Path, delimiter: str, header: bool) -> dict[str, NDArray]:
    """Numbers only, by NumPy, where no table library is installed."""
    with path.open(encoding="utf-8-sig") as file:
        names = _fields(file.readline(), delimiter)
    values = np.loadtxt(
        path, delimiter=delimiter, skiprows=int(header), ndmin=2, comments=None
    )
    if not header:
        names = [f"column{i}" for i in range(values.shape[1])]
    return dict(zip(distinct(names), values.T, strict=True))


def _split(
    columns: dict[str, NDArray], path: Path, request: Request, *, named: bool
) -> RawData:
    """Row names, labels and the matrix of the remaining columns."""
    _check_rows(columns, path)
    row_names = take_row_names(columns)
    if path.stem.lower() in LABEL_NAMES and len(columns) == 1:
        alone = _as_labels(*columns.values())
        if not holds_fractions(alone):
            return RawData(views=[], names=[], labels=alone, row_names=row_names)
    wanted = request.labels
    asked = columns.pop(wanted, None) if isinstance(wanted, str) else None
    text = [n for n, c in columns.items() if c.dtype.kind not in "fiub"]
    if text or not columns:
        none = isinstance(wanted, str) and asked is None
        raise FileError(
            f"{path.name} has columns that are not numeric: "
            f"{name_list(text, 8) or 'no numeric column is left'}"
            f"{f', and none named {wanted!r}' if none else ''}. "
            "Drop or encode them, or name the label column with labels= (--labels)."
        )
    return RawData(
        views=[np.column_stack(list(columns.values()))],
        names=[path.stem],
        feature_names=[[clean_name(n) for n in columns]] if named else None,
        labels=None if asked is None else _as_labels(asked),
        row_names=row_names,
        notes=label_like(columns, path.name) if request.labels is None else (),
    )


def _check_rows(columns: dict[str, NDArray], path: Path) -> None:
    """There are rows, and no numbers that read as text for a comma in them."""
    if not len(next(iter(columns.values()), ())):
        raise FileError(
            f"{path.name} has a header but no rows. Write one row per sample below it."
        )
    for name, column in columns.items():
        first = next((v for v in column if isinstance(v, str) and v.strip()), "")
        if _WITH_COMMA.fullmatch(first.strip()):
            raise FileError(
                f"{path.name} has numbers with commas, such as {first.strip()!r} in "
                f"the column {clean_name(name)}. Write points, or give a DataFrame of "
                "pandas.read_csv(..., decimal=',')."
            )


def label_like(columns: Iterable[str], file: str) -> tuple[str, ...]:
    """A note where features are named as labels often are."""
    usual = [clean_name(n) for n in columns if n.lower() in LABEL_NAMES]
    if not usual:
        return ()
    return (
        f"{file} has a column named {usual[0]}, which was taken as a feature. If it "
        f"holds the known classes, say so with labels={usual[0]!r} (--labels "
        f"{usual[0]}); labels=False (--labels none) says that it does not.",
    )


def _as_labels(column: NDArray) -> NDArray:
    return tidy_labels(column if column.dtype.kind in "fiub" else column.astype(str))


def take_row_names(columns: dict[str, NDArray]) -> list[str] | None:
    """Remove and return a leading column of names (text, or an unnamed index)."""
    if len(columns) < 2:
        return None
    first = PARQUET_INDEX if PARQUET_INDEX in columns else next(iter(columns))
    index = first in _INDEX_NAMES
    text = columns[first].dtype.kind in "OUST" and first.lower() not in LABEL_NAMES
    names = [clean_name(v) for v in columns[first]] if index or text else []
    if not index and (not text or len(set(names)) < len(names)):
        return None
    del columns[first]
    return names
