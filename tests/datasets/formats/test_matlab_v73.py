import h5py
import numpy as np
import pytest

from manyview.errors import FileError
from tests.datasets.conftest import assert_parts


def put(file, name, array, kind="double"):
    """Write as MATLAB does: axes reversed, class in an attribute."""
    data = file.create_dataset(name, data=np.asarray(array).T)
    data.attrs["MATLAB_class"] = np.bytes_(kind)
    return data


def put_cell(file, name, items):
    references = [put(file, f"#refs#/{name}{i}", a).ref for i, a in enumerate(items)]
    data = file.create_dataset(name, (len(items), 1), dtype=h5py.ref_dtype)
    data[:, 0] = references
    data.attrs["MATLAB_class"] = np.bytes_("cell")


def test_a_cell_of_views(tmp_path, parts, read):
    a, b, y = parts
    path = tmp_path / "d.mat"
    with h5py.File(path, "w", userblock_size=512) as file:
        put_cell(file, "X", [a, b])
        put(file, "labels", y[:, None].astype(float))
        put(file, "name", np.array([[65, 66]], np.uint16), "char")
    assert_parts(read(path), parts)


def test_numbered_views_on_columns(tmp_path, parts, read):
    a, b, y = parts
    path = tmp_path / "d.mat"
    with h5py.File(path, "w") as file:
        put(file, "X1", a.T)
        put(file, "X2", b.T)
        put(file, "gt", y[None].astype(float))
    assert_parts(read(path), parts)


def test_sparse_matrices(tmp_path, parts, read):
    import scipy.sparse as sp

    a, _, y = parts
    path = tmp_path / "d.mat"
    columns = sp.csc_array(a)
    with h5py.File(path, "w") as file:
        group = file.create_group("X1")
        group.attrs["MATLAB_class"] = np.bytes_("double")
        group.attrs["MATLAB_sparse"] = np.uint64(a.shape[0])
        group["data"], group["ir"] = columns.data, columns.indices.astype(np.uint64)
        group["jc"] = columns.indptr.astype(np.uint64)
        put(file, "y", y[:, None].astype(float))
    raw = read(path)
    assert raw.views[0].format == "csr"
    np.testing.assert_array_equal(raw.views[0].toarray(), a)


def test_objects_are_not_read(tmp_path, read):
    path = tmp_path / "d.mat"
    with h5py.File(path, "w") as file:
        opaque = put(file, "X", np.ones((6, 1), np.uint32), "string")
        opaque.attrs["MATLAB_object_decode"] = np.int32(3)
        put(file, "f", np.ones((2, 2)), "function_handle")
    with pytest.raises(FileError, match=r"X \(opaque object\), f \(function_handle\)"):
        read(path)


def test_sparse_indices_outside_the_matrix(tmp_path, read):
    path = tmp_path / "d.mat"
    with h5py.File(path, "w") as file:
        group = file.create_group("X")
        group.attrs["MATLAB_class"] = np.bytes_("double")
        group.attrs["MATLAB_sparse"] = np.uint64(3)
        group["data"], group["ir"] = np.ones(2), np.array([0, 99], np.uint64)
        group["jc"] = np.array([0, 1, 2], np.uint64)
    with pytest.raises(FileError, match="could not be read"):
        read(path)


def test_what_is_no_plain_matrix_is_skipped(tmp_path, parts, read):
    a, b, y = parts
    with h5py.File(tmp_path / "d.mat", "w") as file:
        put(file, "X1", a)
        put(file, "X2", b)
        put(file, "y", y[:, None].astype(float))
        put(file, "X3", np.ones((2, 3, 4)))
        put(file, "X4", np.zeros(2, np.uint64)).attrs["MATLAB_empty"] = np.uint8(1)
        put(file, "C", a, "cell")
        file["nobody"] = np.eye(3)
    assert_parts(read(tmp_path / "d.mat"), parts)


def test_sparse_matrices_without_entries_or_pointers(tmp_path, read):
    with h5py.File(tmp_path / "d.mat", "w") as file:
        group = file.create_group("X")
        group.attrs["MATLAB_class"] = np.bytes_("double")
        group.attrs["MATLAB_sparse"] = np.uint64(5)
        group["jc"] = np.zeros(4, np.uint64)
    empty = read(tmp_path / "d.mat").views[0]
    assert empty.shape == (5, 3) and empty.nnz == 0
    with h5py.File(tmp_path / "d.mat", "r+") as file:
        del file["X/jc"]
    with pytest.raises(FileError, match="no column pointers"):
        read(tmp_path / "d.mat")
