"""Mutated files: a sentence or sound data, never a crash of this process.

The full run sets MANYVIEW_FUZZ to the number of files per format.
"""

import os

import h5py
import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from manyview.datasets.converting import write_whole
from manyview.datasets.loading import load
from manyview.datasets.raw import RawData, Request
from manyview.errors import ManyviewError
from manyview.views import Views

N_FILES = int(os.environ.get("MANYVIEW_FUZZ", "200"))


def write_mat5(path, parts, compressed=False):
    a, b, y = parts
    content = {"X1": a, "X2": sp.csc_array(b), "y": y.astype(float)}
    scipy.io.savemat(path, content, do_compression=compressed)


def write_mat5_packed(path, parts):
    write_mat5(path, parts, compressed=True)


def write_npz(path, parts):
    a, b, y = parts
    np.savez_compressed(path, view0=a, view1=b, labels=y)


def write_hdf5(path, parts):
    a, b, y = parts
    with h5py.File(path, "w") as file:
        file["a"], file["y"] = a, y
        file.create_dataset("b", data=b, chunks=(4, 5), compression="gzip")


def write_mat73(path, parts):
    a, b, y = parts
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in (("X1", a), ("X2", b), ("y", y[:, None].astype(float))):
            file[name] = array.T
            file[name].attrs["MATLAB_class"] = np.bytes_("double")


def write_csv(path, parts):
    rows = [",".join(map(str, row)) for row in parts[1]]
    path.write_text("\n".join(["a,b,c,d,e", *rows]))


def write_parquet(path, parts):
    pd = pytest.importorskip("pandas")
    pd.DataFrame(parts[1], columns=list("abcde")).to_parquet(path)


def write_h5mu(path, parts):
    with h5py.File(path, "w") as file:
        file["obs/_index"] = [f"r{i}" for i in range(12)]
        for name, array in (("x", parts[0][:9]), ("y", parts[1][3:])):
            file[f"mod/{name}/X"] = array
            file[f"mod/{name}/obs/_index"] = file["obs/_index"][: len(array)]
            first = 0 if name == "x" else 3
            rows = np.arange(12) - first + 1
            file[f"obsmap/{name}"] = np.where((rows > 0) & (rows <= 9), rows, 0)


FORMATS = {
    "mat": write_mat5,
    "packed.mat": write_mat5_packed,
    "npz": write_npz,
    "h5": write_hdf5,
    "v73.mat": write_mat73,
    "csv": write_csv,
    "parquet": write_parquet,
    "h5mu": write_h5mu,
}


def mutate(content: bytes, rng: np.random.Generator) -> bytes:
    """Flip a few bytes; now and then cut the file or repeat a piece of it."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        # Structure sits at the front in most formats.
        span = len(data) if rng.random() < 0.5 else min(len(data), 600)
        data[rng.integers(span)] = rng.integers(256)
    if rng.random() < 0.1:
        del data[rng.integers(len(data)) :]
    if rng.random() < 0.1:
        at = rng.integers(len(data) + 1)
        data[at:at] = data[:at][-64:]
    return bytes(data)


def is_sound(data: Views) -> bool:
    """Whatever loads has to be usable to the last byte."""
    shapes = {a.shape[0] for a in data.arrays}
    for array in data.arrays:
        array.sum()
        if sp.issparse(array):
            array.check_format(full_check=True)
    return shapes == {len(data)} and all(a.dtype.kind in "fiub" for a in data.arrays)


@pytest.mark.slow
@pytest.mark.parametrize("ending", FORMATS)
def test_mutated_files(tmp_path, parts, sandbox, ending):
    path = tmp_path / f"d.{ending}"
    FORMATS[ending](path, parts)
    original = path.read_bytes()
    rng = np.random.default_rng(sum(map(ord, ending)))
    request = Request(memory_limit=2**26)
    n_refused = 0
    assert is_sound(sandbox.read(path, request).to_views())
    for _ in range(N_FILES):
        path.write_bytes(mutate(original, rng))
        try:
            assert is_sound(sandbox.read(path, request).to_views())
        except ManyviewError as error:
            assert len(str(error)) > 20
            assert "stopped after" not in str(error)  # a hang
            n_refused += 1
    assert n_refused > 0


@pytest.mark.slow
def test_mutated_data_folders_never_load_wrong_data(tmp_path, parts):
    a, b, y = parts
    raw = RawData(
        [a, sp.csr_array(b)], ["a", "b"], labels=y, row_names=list("abcdefghijkl")
    )
    folder = write_whole(raw, tmp_path / "d")
    files = sorted(folder.iterdir())
    rng = np.random.default_rng(0)
    for _ in range(N_FILES):
        path = files[rng.integers(len(files))]
        original = path.read_bytes()
        changed = mutate(original, rng)
        path.write_bytes(changed)
        if changed != original:
            try:
                data = load(folder)
            except ManyviewError:
                pass
            else:  # only white space of the JSON may differ
                assert path.suffix == ".json"
                np.testing.assert_array_equal(data.arrays[0], a)
                assert list(data.row_names) == raw.row_names
        path.write_bytes(original)


@pytest.mark.slow
def test_mutated_zarr_stores(tmp_path, parts, sandbox):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path / "d.zarr"), mode="w")
    group.create_array("X1", data=parts[0])
    group.create_array("X2", data=parts[1])
    files = sorted(p for p in (tmp_path / "d.zarr").rglob("*") if p.is_file())
    rng = np.random.default_rng(1)
    for _ in range(N_FILES):
        path = files[rng.integers(len(files))]
        original = path.read_bytes()
        path.write_bytes(mutate(original, rng))
        try:
            raw = sandbox.read(tmp_path / "d.zarr", Request(memory_limit=2**26))
            assert is_sound(raw.to_views())
        except ManyviewError as error:
            assert "stopped after" not in str(error)
        path.write_bytes(original)


def test_mutated_npy_files(tmp_path, parts):
    path = tmp_path / "d.npy"
    np.save(path, parts[0])
    original = path.read_bytes()
    rng = np.random.default_rng(2)
    n_refused = 0
    for _ in range(N_FILES):
        path.write_bytes(mutate(original, rng))
        try:
            assert is_sound(load(path))
        except ManyviewError:
            n_refused += 1
    assert n_refused > 0
