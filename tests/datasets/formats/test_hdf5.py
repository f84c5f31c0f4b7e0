import h5py
import numpy as np
import pytest
import scipy.sparse as sp

from manyview.datasets.formats import hdf5_file
from manyview.errors import FileError
from tests.datasets.conftest import assert_parts


def test_groups_and_datasets(tmp_path, parts, read):
    a, b, y = parts
    path = tmp_path / "d.h5"
    with h5py.File(path, "w") as file:
        file["views/image"], file["views/text"], file["labels"] = a, b, y
        file["words"] = ["not", "numbers"]
    raw = read(path)
    assert raw.names == ["views/image", "views/text"]
    assert_parts(raw, parts)


def test_sparse_groups(tmp_path, parts, read):
    a, b, y = parts
    s = sp.csr_array(a)
    path = tmp_path / "d.h5"
    with h5py.File(path, "w") as file:
        group = file.create_group("image")
        for part in ("data", "indices", "indptr"):
            group[part] = getattr(s, part)
        group.attrs["shape"] = s.shape
        file["text"], file["y"] = b, y
    raw = read(path)
    np.testing.assert_array_equal(raw.views[0].toarray(), a)


def test_links_to_other_files_are_refused(tmp_path, parts, read):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["X"] = parts[0]
    path = tmp_path / "d.h5"
    with h5py.File(path, "w") as file:
        file["safe"] = parts[1]
        file["deep/X"] = h5py.ExternalLink("other.h5", "/X")
    with pytest.raises(FileError, match="refused: 'X' is an external link"):
        read(path)


def test_storage_in_other_files_is_refused(tmp_path, read):
    path = tmp_path / "d.h5"
    raw = tmp_path / "secret.bin"
    raw.write_bytes(bytes(96))
    with h5py.File(path, "w") as file:
        file.create_dataset("X", (4, 3), "f8", external=[(str(raw), 0, 96)])
    with pytest.raises(FileError, match="refused: 'X' is a dataset stored in another"):
        read(path)


def test_virtual_datasets_are_refused(tmp_path, parts, read):
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["X"] = parts[0]
    layout = h5py.VirtualLayout((12, 3), "f8")
    layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "X", (12, 3))
    with h5py.File(tmp_path / "d.h5", "w") as file:
        file.create_virtual_dataset("X", layout)
    with pytest.raises(FileError, match="refused: 'X' is a virtual dataset"):
        read(tmp_path / "d.h5")


def test_cycles_and_dangling_links_do_no_harm(tmp_path, parts, read):
    a, b, y = parts
    path = tmp_path / "d.h5"
    with h5py.File(path, "w") as file:
        file["in/a"], file["in/b"], file["y"] = a, b, y
        file["in/loop"] = file["/"]
        file["nowhere"] = h5py.SoftLink("/gone")
    assert_parts(read(path), parts)


def test_endless_groups_are_refused(tmp_path, read, monkeypatch):
    monkeypatch.setattr(hdf5_file, "MAX_OBJECTS", 20)
    with h5py.File(tmp_path / "d.h5", "w") as file:
        for i in range(21):
            file[f"x{i}"] = i
    with pytest.raises(FileError, match="more than 20 objects"):
        read(tmp_path / "d.h5")


def test_a_sparse_group_without_a_shape(tmp_path, read):
    with h5py.File(tmp_path / "d.h5", "w") as file:
        for part in ("data", "indices", "indptr"):
            file[f"X/{part}"] = np.zeros(2, int)
    with pytest.raises(FileError, match="does not say its shape"):
        read(tmp_path / "d.h5")


def test_a_sparse_group_of_other_things(tmp_path, read):
    with h5py.File(tmp_path / "d.h5", "w") as file:
        for part in ("data", "indices", "indptr"):
            file[f"X/{part}"] = np.zeros((2, 2))
    with pytest.raises(FileError, match="no vectors of numbers"):
        read(tmp_path / "d.h5")


def test_a_sparse_group_with_its_shape_as_a_dataset(tmp_path, parts, read):
    s = sp.csr_array(parts[0])
    with h5py.File(tmp_path / "d.h5", "w") as file:
        for part in ("data", "indices", "indptr", "shape"):
            file[f"X/{part}"] = getattr(s, part)
    np.testing.assert_array_equal(read(tmp_path / "d.h5").views[0].toarray(), parts[0])
