import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.datasets import load
from manyview.errors import FileError, ResourceError
from tests.datasets.conftest import assert_parts


def test_our_own_names(tmp_path, parts, read):
    a, b, y = parts
    path = tmp_path / "d.npz"
    np.savez(path, view0=a, view1=b, labels=y.astype(np.int32))
    raw = read(path)
    assert raw.names == ["view0", "view1"]
    assert_parts(raw, parts)


def test_a_sparse_view_in_four_arrays_keeps_its_place(tmp_path, parts, read):
    a, b, y = parts
    s = sp.csr_array(a)
    path = tmp_path / "d.npz"
    np.savez_compressed(
        path,
        view0_data=s.data,
        view0_indices=s.indices,
        view0_indptr=s.indptr,
        view0_shape=s.shape,
        view1=b,
        labels=y,
    )
    raw = read(path)
    assert raw.names == ["view0", "view1"]
    np.testing.assert_array_equal(raw.views[0].toarray(), a)
    np.testing.assert_array_equal(raw.views[1], b)


@pytest.mark.parametrize("make", [sp.csr_array, sp.csc_array])
def test_files_of_scipy_sparse(tmp_path, parts, read, make):
    path = tmp_path / "d.npz"
    sp.save_npz(path, make(parts[1]))
    np.testing.assert_array_equal(read(path).views[0].toarray(), parts[1])


def test_generic_names_text_labels_and_fortran_order(tmp_path, parts, read):
    a, b, _ = parts
    words = np.array(["cat", "dog", "cow"] * 4)
    path = tmp_path / "d.npz"
    np.savez(path, image=np.asfortranarray(a), text=b, target=words)
    raw = read(path)
    np.testing.assert_array_equal(raw.views[0], a)
    assert raw.labels.tolist() == words.tolist()


def test_pickled_objects_are_refused(tmp_path, read):
    path = tmp_path / "d.npz"
    np.savez(path, view0=np.array([{"a": 1}], dtype=object))
    with pytest.raises(FileError, match=r"refused.*pickled"):
        read(path)


def test_a_zip_bomb_is_stopped(tmp_path, read):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, view0=np.zeros((2**12, 2**12)))
    assert path.stat().st_size < 2**20
    with pytest.raises(ResourceError, match="limit of 10 MB"):
        read(path, memory_limit=10 * 10**6)


def test_a_header_that_promises_more_than_follows(tmp_path, read):
    source, path = tmp_path / "a.npy", tmp_path / "d.npz"
    np.save(source, np.zeros((4, 3)))
    with zipfile.ZipFile(path, "w") as archive:
        lie = source.read_bytes().replace(b"(4, 3)", b"(4000000000, 3)"[:15])
        archive.writestr("view0.npy", lie)
    with pytest.raises(FileError, match=r"view0.*(damaged|no valid npy)"):
        read(path)


def test_sparse_indices_outside_the_matrix(tmp_path, read):
    path = tmp_path / "d.npz"
    np.savez(
        path,
        view0_data=np.ones(1),
        view0_indices=[10**6],
        view0_indptr=[0, 1],
        view0_shape=[1, 4],
    )
    with pytest.raises(FileError, match="could not be read"):
        read(path)


def test_members_with_paths_are_only_names(tmp_path, parts, read):
    source, path = tmp_path / "a.npy", tmp_path / "d.npz"
    np.save(source, parts[0])
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../../evil.npy", source.read_bytes())
        archive.writestr("readme.txt", "not an array")
    raw = read(path)
    np.testing.assert_array_equal(raw.views[0], parts[0])
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.npy", "d.npz"]
    assert not (tmp_path.parent.parent / "evil.npy").exists()


def test_complex_numbers_cubes_and_strange_shapes(tmp_path, read):
    path = tmp_path / "d.npz"
    np.savez(path, X=np.eye(3) * 1j, T=np.ones((2, 2, 2)))
    with pytest.raises(FileError, match=r"X \(dtype complex128\), T \(shape"):
        read(path)
    np.savez(path, a_data=[1.0], a_indices=[0], a_indptr=[0, 1], a_shape=[1.5, 2])
    with pytest.raises(FileError, match="not two whole numbers"):
        read(path)


def test_one_file_is_one_mapped_view(tmp_path):
    np.save(tmp_path / "image.npy", np.ones((4, 3)))
    data = load(tmp_path / "image.npy")
    assert data.names == ("image",)
    assert isinstance(data.arrays[0], np.memmap)


def test_only_matrices_of_numbers(tmp_path):
    np.save(tmp_path / "cube.npy", np.ones((2, 2, 2)))
    np.save(tmp_path / "words.npy", np.array([["a", "b"]]))
    for name in ("cube.npy", "words.npy"):
        with pytest.raises(FileError, match=f"{name} is no view"):
            load(tmp_path / name)
