import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from manyview.datasets import convert, load
from manyview.errors import FileError
from manyview.views.views import Views
from tests.datasets.test_loading import FORMATS

pytestmark = pytest.mark.filterwarnings("error")


def same(old: Views, new: Views) -> bool:
    arrays = all(
        (a != b).nnz == 0
        if sp.issparse(a)
        else np.array_equal(a, b, equal_nan=a.dtype.kind == "f")
        for a, b in zip(old.arrays, new.arrays, strict=True)
    )
    masks = np.array_equal(old.present, new.present)
    names = old.names == new.names and old.feature_names == new.feature_names
    rows = np.array_equal(old.row_names, new.row_names)
    return (
        arrays and masks and names and rows and np.array_equal(old.labels, new.labels)
    )


@pytest.fixture
def views(parts):
    a, b, y = parts
    return Views(
        {"a": a, "b": sp.csr_array(b)}, labels=y, row_names=list("abcdefghijkl")
    )


def test_round_trip(tmp_path, views):
    folder = convert(views, tmp_path / "d")
    assert folder == tmp_path / "d.manyview-data"
    assert same(views, load(folder))


@pytest.mark.data
@pytest.mark.parametrize("name", FORMATS)
def test_real_files_round_trip(tmp_path, data_folder, name):
    path = data_folder / "formats" / name
    assert same(load(path), load(convert(path, tmp_path / "d")))


def test_hdf5_is_copied_within_a_small_limit(tmp_path):
    """The data is larger than the limit; it streams to disk all the same."""
    big = np.arange(40_000 * 50, dtype=np.float64).reshape(40_000, 50)
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file["X"], file["y"] = big, np.arange(40_000) % 4
    folder = convert(tmp_path / "d.h5", tmp_path / "out", memory_limit="1MB")
    back = load(folder)
    np.testing.assert_array_equal(back.arrays[0], big)
    assert len(set(back.labels)) == 4


def test_views_can_be_chosen(tmp_path, views):
    folder = convert(views, tmp_path / "d")
    assert load(folder, views="b").names == ("b",)
    assert load(folder, views=["b", "a"], labels=False).names == ("b", "a")
    with pytest.raises(FileError, match=r"no view 'c'.*Found: a, b"):
        load(folder, views="c")
    with pytest.raises(FileError, match="one set of labels"):
        load(folder, labels="kind")


def test_nothing_is_overwritten_unasked(tmp_path, views):
    folder = convert(views, tmp_path / "d")
    with pytest.raises(FileError, match=r"exists already.*overwrite=True"):
        convert(views, tmp_path / "d")
    convert(views[:5], tmp_path / "d", overwrite=True)
    assert len(load(folder)) == 5
    (tmp_path / "e.manyview-data").mkdir()
    with pytest.raises(FileError, match=r"exists already\. Remove it"):
        convert(views, tmp_path / "e", overwrite=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        "d.manyview-data",
        "e.manyview-data",
    ]


def test_a_failure_leaves_nothing_behind(tmp_path, views):
    class Broken:
        shape, dtype, chunks = (12, 2), np.dtype(float), None

        def __getitem__(self, rows):
            raise OSError(28, "No space left on device")

    with pytest.raises(FileError, match="No space left"):
        convert(Views([views.arrays[0], Broken()]), tmp_path / "d")
    with pytest.raises(FileError):
        convert(tmp_path / "missing.h5", tmp_path / "d")
    assert list(tmp_path.iterdir()) == []


def test_there_must_be_a_folder_to_write_into(tmp_path, views):
    with pytest.raises(FileError, match=r"no folder .*nowhere"):
        convert(views, tmp_path / "nowhere" / "d")


def test_labels_and_files_that_do_not_stream(tmp_path, parts, monkeypatch):
    np.save(tmp_path / "d.npy", parts[0])
    folder = convert(tmp_path / "d.npy", tmp_path / "d", labels=parts[2])
    np.testing.assert_array_equal(load(folder).labels, parts[2])
    (tmp_path / "plain").mkdir()
    np.save(tmp_path / "plain" / "a.npy", parts[1])
    assert load(convert(tmp_path / "plain", tmp_path / "e")).names == ("a",)
