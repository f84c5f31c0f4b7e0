"""One small file of every format that can be read, and how to tell sound data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import scipy.io
import scipy.sparse as sp

import manyview
from manyview import Views
from manyview.datasets import convert, load
from manyview.datasets.isolated.sandbox import Sandbox
from manyview.datasets.raw_data import Request

N = 12
LIMIT = 2**26  # bytes a file of this size has no need of


@dataclass(frozen=True)
class Target:
    """Files to damage, how to read them, and whether what was read is sound."""

    files: list[Path]
    read: Callable[[], Any]
    is_sound: Callable[[Any], bool]


def parts() -> tuple[Any, Any, Any]:
    """Two views of a dozen rows and their labels."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 3)), rng.normal(size=(N, 5)), np.arange(N) % 3


def _mat5(path: Path, packed: bool = False) -> None:
    a, b, y = parts()
    content = {"X1": a, "X2": sp.csc_array(b), "y": y.astype(float)}
    scipy.io.savemat(path, content, do_compression=packed)


def _mat5_packed(path: Path) -> None:
    _mat5(path, packed=True)


def _npz(path: Path) -> None:
    a, b, y = parts()
    np.savez_compressed(path, view0=a, view1=b, labels=y)


def _npy(path: Path) -> None:
    np.save(path, parts()[0])


def _hdf5(path: Path) -> None:
    a, b, y = parts()
    with h5py.File(path, "w") as file:
        file["a"], file["y"] = a, y
        file.create_dataset("b", data=b, chunks=(4, 5), compression="gzip")


def _mat73(path: Path) -> None:
    a, b, y = parts()
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in (("X1", a), ("X2", b), ("y", y[:, None].astype(float))):
            file[name] = array.T
            file[name].attrs["MATLAB_class"] = np.bytes_("double")


def _csv(path: Path) -> None:
    rows = [",".join(map(str, row)) for row in parts()[1]]
    path.write_text("\n".join(["a,b,c,d,e", *rows]))


def _parquet(path: Path) -> None:
    import pandas as pd

    pd.DataFrame(parts()[1], columns=list("abcde")).to_parquet(path)


def _h5mu(path: Path) -> None:
    import pandas as pd
    from anndata.io import write_elem

    a, b, _ = parts()
    rows = pd.Index([f"r{i}" for i in range(N)])
    with h5py.File(path, "w") as file:
        write_elem(file, "obs", pd.DataFrame(index=rows))
        for name, array, own in (("x", a[:9], rows[:9]), ("y", b[3:], rows[3:])):
            file[f"mod/{name}/X"] = array
            write_elem(file[f"mod/{name}"], "obs", pd.DataFrame(index=own))
            file[f"obsmap/{name}"] = own.get_indexer(rows) + 1


WRITERS: dict[str, Callable[[Path], None]] = {
    "mat": _mat5,
    "packed.mat": _mat5_packed,
    "v73.mat": _mat73,
    "npz": _npz,
    "npy": _npy,
    "h5": _hdf5,
    "h5mu": _h5mu,
    "csv": _csv,
    "parquet": _parquet,
}
FORMATS = (*WRITERS, "zarr", "manyview-data", "model")


def make(name: str, folder: Path, sandbox: Sandbox) -> Target:
    """A good file of the format, in the folder."""
    special = {"zarr": _zarr, "manyview-data": _data_folder, "model": _model}
    if name in special:
        return special[name](folder, sandbox)
    path = folder / f"d.{name}"
    WRITERS[name](path)
    if name == "npy":  # mapped in this process: nothing is parsed but its header
        return Target([path], lambda: load(path), is_sound)
    return Target([path], _reader(path, sandbox), is_sound)


def _reader(path: Path, sandbox: Sandbox) -> Callable[[], Views]:
    request = Request(memory_limit=LIMIT)
    return lambda: sandbox.read(path, request).to_views()


def _zarr(folder: Path, sandbox: Sandbox) -> Target:
    import zarr

    path = folder / "d.zarr"
    group = zarr.open_group(str(path), mode="w")
    group.create_array("X1", data=parts()[0])
    group.create_array("X2", data=parts()[1])
    files = sorted(p for p in path.rglob("*") if p.is_file())
    return Target(files, _reader(path, sandbox), is_sound)


def _data_folder(folder: Path, sandbox: Sandbox) -> Target:
    a, b, y = parts()
    names = [f"row {i}" for i in range(N)]
    whole = Views([a, sp.csr_array(b)], labels=y, row_names=names)
    path = convert(whole, folder / "d")

    def is_same(found: Views) -> bool:
        dense = found.arrays[1].toarray()
        same = np.array_equal(found.arrays[0], a) and np.array_equal(dense, b)
        return same and list(found.row_names) == names and found.labels is not None

    return Target(sorted(path.iterdir()), lambda: load(path), is_same)


def _model(folder: Path, sandbox: Sandbox) -> Target:
    a, b, _ = parts()
    model = manyview.AnchorSpectral(3, random_state=0).fit([a, b])
    path = model.save(folder / "d.manyview")

    def is_same(found: Any) -> bool:
        return np.array_equal(found.predict([a, b]), model.predict([a, b]))

    return Target([path], lambda: manyview.load_model(path), is_same)


def is_sound(data: Views) -> bool:
    """Whatever loads has to be usable to the last byte."""
    shapes = {a.shape[0] for a in data.arrays}
    for array in data.arrays:
        array.sum()
        if sp.issparse(array):
            array.check_format(full_check=True)
    return shapes == {len(data)} and all(a.dtype.kind in "fiub" for a in data.arrays)
