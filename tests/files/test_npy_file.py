import numpy as np
import pytest

from manyview.datasets.raw_data import Transposed
from manyview.errors import FileError
from manyview.files import npy_file
from manyview.files.npy_file import map_array, write_array


@pytest.mark.parametrize("dtype", ["<f8", ">f8", "<f2", "|u1", "|b1", ">i4", "<U5"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_blocks_write_what_was_given(tmp_path, monkeypatch, dtype, order):
    monkeypatch.setattr(npy_file, "BLOCK_BYTES", 64)
    array = np.arange(35).reshape(7, 5).astype(dtype, order=order)
    path = tmp_path / "a.npy"
    write_array(path, array, checksum=False)
    back = np.load(path)
    np.testing.assert_array_equal(back, array)
    assert back.flags.c_contiguous and back.dtype.isnative
    np.testing.assert_array_equal(map_array(path), array)


def test_a_transposed_lazy_array_is_written_right(tmp_path, monkeypatch):
    monkeypatch.setattr(npy_file, "BLOCK_BYTES", 64)
    array = np.arange(35.0).reshape(5, 7)
    write_array(tmp_path / "a.npy", Transposed(array), checksum=False)
    np.testing.assert_array_equal(np.load(tmp_path / "a.npy"), array.T)


def test_mapped_arrays_cannot_be_written_to(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.ones((3, 2)))
    with pytest.raises(ValueError, match="read-only"):
        map_array(path)[0, 0] = 5


def test_private_arrays_outlive_their_file_and_do_not_touch_it(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.ones((3, 2)))
    array = map_array(path, private=True)
    array[0, 0] = 5
    assert np.load(path)[0, 0] == 1
    path.unlink()
    assert array.sum() == 10
    assert not isinstance(array, np.memmap)


def test_empty_arrays_need_no_pages(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.empty((0, 3)))
    assert map_array(path).shape == map_array(path, private=True).shape == (0, 3)


def test_objects_are_refused(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.array([object()], dtype=object), allow_pickle=True)
    with pytest.raises(FileError, match=r"refused.*pickled"):
        map_array(path)


@pytest.mark.parametrize("change", [b"", b"x"])
def test_sizes_must_fit_the_header(tmp_path, change):
    path = tmp_path / "a.npy"
    np.save(path, np.ones((3, 2)))
    content = path.read_bytes()
    path.write_bytes(content + change if change else content[:-1])
    with pytest.raises(FileError, match=r"damaged.*48 bytes"):
        map_array(path)


def test_a_broken_header(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.ones((3, 2)))
    path.write_bytes(path.read_bytes().replace(b"'descr'", b"'desc!'"))
    with pytest.raises(FileError, match="no valid npy"):
        map_array(path)


def test_an_unknown_version_is_refused(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.ones((3, 2)))
    content = bytearray(path.read_bytes())
    content[6] = 3
    path.write_bytes(content)
    with pytest.raises(FileError, match=r"no valid npy.*\(3, 0\)"):
        map_array(path)


def test_extended_precision_becomes_float64():
    assert npy_file.native(np.dtype(np.longdouble)) == np.float64
    assert npy_file.native(np.dtype(">f8")) == np.dtype("=f8")
