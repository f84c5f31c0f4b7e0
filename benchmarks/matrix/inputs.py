"""The rows of the cells: made once per kind and number, kept in files.

Five groups in ten long runs, so that smoothing along the rows has something to keep;
they overlap a little, so that a wrong step shows in the labels.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from .cells import INPUTS

N_CLUSTERS = 5
N_RUNS = 10
MANY = 400_000
SEED = 20261116
# Columns of the views by kind; from MANY rows on fewer, or an hour would not do.
WIDTHS = {
    "narrow dense": (12, 16),
    "wide dense": (600, 700),
    "sparse": (300, 400),
    "float64": (10, 12),
    "missing views": (12, 16),
    "empty rows": (30, 40),
}
MANY_WIDTHS = WIDTHS | {"wide dense": (200, 250), "sparse": (80, 100)}
IN_FILES = ("mapped .npy", "HDF5", "Zarr", "Parquet")
# Distance between two centres of sixteen columns, in units of the noise; it grows with
# the fourth root of their number, as what tells two of them from noise does.
SEPARATION = 5.0
# Of the rows: those that lack a view, or hold nothing in it; for each of two views.
SHARE = 0.1
# Seconds of the year 2026: a column whose mean is far larger than its spread.
LARGE_MEAN = 1.77e9


def groups_of(n_rows: int) -> np.ndarray[Any, Any]:
    """The group of every row, in runs of equal length."""
    runs = np.tile(np.arange(N_CLUSTERS), N_RUNS // N_CLUSTERS)
    order = np.random.default_rng(SEED).permutation(runs)
    return order[np.arange(n_rows) * N_RUNS // n_rows]


def widths_of(kind: str, n_rows: int) -> tuple[int, ...]:
    """Columns of each view."""
    return (MANY_WIDTHS if n_rows >= MANY else WIDTHS)[kind]


def make_values(
    kind: str, n_rows: int, widths: tuple[int, ...] | None = None
) -> list[Any]:
    """The views in memory; the same call gives the same numbers."""
    groups = groups_of(n_rows)
    rng = np.random.default_rng([SEED, n_rows, list(WIDTHS).index(kind)])
    counts = kind in ("sparse", "empty rows")
    make = _counts if counts else _normal
    views = [make(rng, groups, n) for n in widths or widths_of(kind, n_rows)]
    if kind == "sparse":
        return [sp.csr_array(x) for x in views]
    if kind == "float64":
        views = [x.astype(np.float64) for x in views]
        views[0][:, 0] = LARGE_MEAN + 60.0 * views[0][:, 0]
    if kind in ("missing views", "empty rows"):
        blank = np.nan if kind == "missing views" else 0
        lot = rng.permutation(n_rows)
        some = int(SHARE * n_rows)
        for v, x in enumerate(views):
            x[lot[v * some : (v + 1) * some]] = blank
    return views


def _normal(rng: np.random.Generator, groups: Any, n_features: int) -> Any:
    scale = SEPARATION * (n_features / 16) ** 0.25 / np.sqrt(2 * n_features)
    centres = scale * rng.standard_normal((N_CLUSTERS, n_features), dtype=np.float32)
    noise = rng.standard_normal((len(groups), n_features), dtype=np.float32)
    noise += centres[groups]
    return noise


def _counts(rng: np.random.Generator, groups: Any, n_features: int) -> Any:
    """Words of texts: some twenty of them a row, others in every group."""
    rates = rng.gamma(0.5, size=(N_CLUSTERS, n_features))
    rates *= 20.0 / rates.sum(axis=1, keepdims=True)
    parts = np.array_split(groups, max(1, len(groups) // 20_000))
    return np.concatenate([rng.poisson(rates[g]).astype(np.float32) for g in parts])


def prepare(folder: Path, kind: str, n_rows: int) -> Path:
    """Write an input's files, unless they are there; where they are."""
    target = folder / f"{kind}-{n_rows}".replace(" ", "-")
    if target.exists():
        return target
    part = target.with_name(f"{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    write(part, kind, make_values(INPUTS[kind], n_rows))
    part.rename(target)
    return target


def write(folder: Path, kind: str, views: list[Any]) -> None:
    """The views in files of the input's kind, or of NumPy's."""
    for v, x in enumerate(views):
        if sp.issparse(x):
            sp.save_npz(folder / f"view{v}.npz", x, compressed=False)
        elif kind in ("HDF5", "Zarr", "Parquet"):
            {"HDF5": _to_hdf5, "Zarr": _to_zarr, "Parquet": _to_parquet}[kind](
                folder, v, x
            )
        else:
            np.save(folder / f"view{v}.npy", x)


def _to_hdf5(folder: Path, v: int, x: Any) -> None:
    import h5py

    with h5py.File(folder / "views.h5", "a") as file:
        file.create_dataset(f"view{v}", data=x, chunks=True)


def _to_zarr(folder: Path, v: int, x: Any) -> None:
    import zarr

    chunks = (min(len(x), 8192), x.shape[1])
    store = str(folder / f"view{v}.zarr")
    zarr.create_array(store, shape=x.shape, chunks=chunks, dtype=x.dtype)[:] = x


def _to_parquet(folder: Path, v: int, x: Any) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({f"column{i}": x[:, i] for i in range(x.shape[1])})
    pq.write_table(table, folder / f"view{v}.parquet", row_group_size=50_000)


def open_input(folder: Path, kind: str) -> list[Any]:
    """What a user hands to ``fit``: arrays in memory, datasets, or paths."""
    if kind == "HDF5":
        import h5py

        file = h5py.File(folder / "views.h5", "r")
        return [file[name] for name in sorted(file)]
    paths = sorted(folder.glob("view*"))
    if kind in IN_FILES:
        return [str(path) for path in paths]
    if paths[0].suffix == ".npz":
        return [sp.load_npz(path) for path in paths]
    return [np.load(path) for path in paths]


def bytes_in_memory(views: list[Any]) -> int:
    """What the arrays that a user holds take of this process."""
    size = 0
    for x in views:
        if sp.issparse(x):
            size += x.data.nbytes + x.indices.nbytes + x.indptr.nbytes
        elif isinstance(x, np.ndarray):
            size += x.nbytes
    return size
