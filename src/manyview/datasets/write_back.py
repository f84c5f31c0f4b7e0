"""Clusters back where the data came from: a copy of the file with one more column.

AnnData and MuData get the column in ``obs``, certainty beside it and the embedding
in ``obsm``; CSV and Parquet tables get it as their last column. Rows are found by
name where both sides have names, else they stand in the same order.
"""

import csv
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from manyview.datasets.formats.tabular import (
    find_delimiter,
    read_parquet_table,
    take_row_names,
)
from manyview.datasets.raw_data import NDArray, clean_name
from manyview.errors import FileError, InputError, required

CELLS, TABLES = (".h5ad", ".h5mu"), (".csv", ".tsv", ".txt")
PARQUET = (".parquet", ".pq")
KINDS = (*CELLS, *TABLES, *PARQUET)


class Clusters(NamedTuple):
    """What was found, by row; names and the rest where they are known."""

    labels: NDArray
    row_names: Sequence[Any] | None = None
    certainty: NDArray | None = None
    embedding: NDArray | None = None


def check_write_back(files: Sequence[str], key: str) -> list[Path]:
    """The files, each able to take a column of that name; refused before any work."""
    if not key or "/" in key or not key.isprintable():
        raise InputError(
            f"{key!r} cannot name a column. Give a plain name, such as clusters."
        )
    paths = [Path(file).expanduser() for file in files]
    for path in paths:
        if not path.is_file() or path.suffix.lower() not in KINDS:
            raise FileError(
                f"Clusters cannot be written back to {path}: copies are made of files "
                f"that end in {', '.join(KINDS)}. Leave --write-back away; the "
                "clusters are in labels.csv of the run."
            )
        if key in _columns(path):
            raise FileError(
                f"{path} has a column {key!r} already. Choose another name for the "
                "clusters."
            )
    names = [copy_name(path, key) for path in paths]
    if len(set(names)) < len(names):
        raise FileError(
            "Two of the files have the same name, and so would their copies. Rename "
            "one of them."
        )
    return paths


def copy_name(path: Path, key: str) -> str:
    """The name of the copy: ``cells-clusters.h5mu``."""
    return f"{path.stem}-{key}{path.suffix}"


def write_back(source: Path, target: Path, key: str, found: Clusters) -> None:
    """Write a copy of the source with the clusters in a column named `key`."""
    kind = source.suffix.lower()
    if kind in CELLS:
        _into_cells(source, target, key, found)
    elif kind in PARQUET:
        _into_parquet(source, target, key, found)
    else:
        _into_text(source, target, key, found)


def _columns(path: Path) -> list[str]:
    """Names of the columns that the file has already."""
    if path.suffix.lower() in CELLS:
        with _hdf5(path, "r") as file:
            return list(file["obs"]) if "obs" in file else []
    if path.suffix.lower() in PARQUET:
        return [str(name) for name in read_parquet_table(path).columns]
    delimiter, header = find_delimiter(path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        return next(csv.reader(file, delimiter=delimiter), []) if header else []


def place(names: Sequence[str] | None, n_rows: int, found: Clusters) -> NDArray:
    """For every row of a file its place among the clusters, -1 where it has none."""
    if found.row_names is not None and names is not None:
        known = {clean_name(name): i for i, name in enumerate(found.row_names)}
        places = np.array([known.get(clean_name(name), -1) for name in names])
        if len(set(names)) == len(names) and (places >= 0).any():
            return places
    if n_rows != len(found.labels):
        raise FileError(
            f"{len(found.labels)} rows were clustered and the file has {n_rows}, and "
            "their names do not tell which is which. Leave --write-back away."
        )
    return np.arange(n_rows)


def _hdf5(path: Path, mode: str) -> Any:
    import h5py

    return h5py.File(path, mode)


def _into_cells(source: Path, target: Path, key: str, found: Clusters) -> None:
    """Add to a copy in place: whatever else the file holds stays as it is."""
    with required("Writing to AnnData and MuData files needs anndata", "singlecell"):
        import pandas
        from anndata.io import read_elem, write_elem
    shutil.copyfile(source, target)
    with _hdf5(target, "r+") as file:
        obs = file["obs"]
        names = [str(name) for name in read_elem(obs).index]
        rows = place(names, len(names), found)
        there = rows >= 0
        codes = np.where(there, found.labels[rows], -1)
        categories = [str(j) for j in range(int(found.labels.max()) + 1)]
        added = {key: pandas.Categorical.from_codes(codes, categories=categories)}
        if found.certainty is not None:
            sure = np.asarray(found.certainty, dtype=np.float64)[rows]
            added[f"{key}_certainty"] = np.where(there, sure, np.nan)
        for name, values in added.items():
            write_elem(obs, name, values)
        order = [*obs.attrs["column-order"], *added]
        obs.attrs["column-order"] = np.array(order, dtype=object)
        if found.embedding is not None and "obsm" in file:
            points = np.where(there[:, None], found.embedding[rows], np.nan)
            write_elem(file["obsm"], f"X_{key}", points)


def _into_parquet(source: Path, target: Path, key: str, found: Clusters) -> None:
    import narwhals as nw

    table = read_parquet_table(source)
    columns = {str(n): table[n].to_numpy() for n in table.columns}
    rows = place(take_row_names(columns), len(table), found)
    values = [int(found.labels[i]) if i >= 0 else None for i in rows]
    backend = nw.get_native_namespace(table)
    column = nw.new_series(key, values, nw.Int64, backend=backend)
    table.with_columns(column).write_parquet(target)


def _into_text(source: Path, target: Path, key: str, found: Clusters) -> None:
    delimiter, header = find_delimiter(source)
    with source.open(encoding="utf-8-sig", newline="") as file:
        lines = [row for row in csv.reader(file, delimiter=delimiter) if row]
    body = lines[1:] if header else lines
    rows = place([line[0] for line in body], len(body), found)
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n")
        if header:
            writer.writerow([*lines[0], key])
        for line, i in zip(body, rows, strict=True):
            writer.writerow([*line, str(found.labels[i]) if i >= 0 else ""])
