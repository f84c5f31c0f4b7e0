import numpy as np
import pytest

from manyview.datasets import load
from manyview.datasets.formats import zarr_store
from manyview.errors import DependencyError, FileError
from tests.datasets.conftest import assert_parts

zarr = pytest.importorskip("zarr")


@pytest.fixture
def store(tmp_path, parts):
    a, b, y = parts
    group = zarr.open_group(str(tmp_path / "d.zarr"), mode="w")
    for name, array in (("views/image", a), ("views/text", b), ("labels", y)):
        group.create_array(name, data=array)
    return tmp_path / "d.zarr"


def test_groups_and_arrays(store, parts, read):
    raw = read(store)
    assert raw.names == ["views/image", "views/text"]
    assert_parts(raw, parts)


def test_through_the_child(store, parts):
    data = load(store, labels=False)
    assert data.labels is None
    np.testing.assert_array_equal(data.arrays[1], parts[1])


def test_a_single_array(tmp_path, parts, read):
    zarr.save_array(str(tmp_path / "one.zarr"), parts[0])
    np.testing.assert_array_equal(read(tmp_path / "one.zarr").views[0], parts[0])


def test_without_the_package(store, read, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "zarr", None)
    with pytest.raises(DependencyError, match='pip install "zarr'):
        read(store)


def test_a_plain_folder_is_no_store(tmp_path, read):
    with pytest.raises(FileError, match="holds no data set"):
        read(tmp_path)


def test_text_and_cubes_are_skipped(tmp_path, parts, read, monkeypatch):
    group = zarr.open_group(str(tmp_path / "d.zarr"), mode="w")
    group.create_array("X", data=parts[0])
    group.create_array("cube", data=np.ones((2, 2, 2)))
    np.testing.assert_array_equal(read(tmp_path / "d.zarr").views[0], parts[0])
    monkeypatch.setattr(zarr_store, "MAX_ARRAYS", 0)
    with pytest.raises(FileError, match="more than 0 arrays"):
        read(tmp_path / "d.zarr")
