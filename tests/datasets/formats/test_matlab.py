import struct
import zlib

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from manyview.errors import FileError, ResourceError
from tests.datasets.conftest import assert_parts


def cell(*items):
    box = np.empty((1, len(items)), dtype=object)
    for i, item in enumerate(items):
        box[0, i] = item
    return box


@pytest.mark.parametrize("compressed", [True, False])
def test_a_cell_of_views(tmp_path, parts, read, compressed):
    a, b, y = parts
    path = tmp_path / "d.mat"
    content = {"X": cell(a, b), "Y": y[:, None].astype(float), "note": "words"}
    scipy.io.savemat(path, content, do_compression=compressed)
    assert_parts(read(path), parts)


def test_sparse_views_on_columns(tmp_path, parts, read):
    a, b, y = parts
    path = tmp_path / "d.mat"
    content = {"data": cell(sp.csc_array(a.T), sp.csc_array(b.T)), "gt": y}
    scipy.io.savemat(path, content)
    raw = read(path)
    np.testing.assert_array_equal(raw.views[0].toarray(), a)
    np.testing.assert_array_equal(raw.labels, y)


def test_structs_and_text_are_not_read(tmp_path, read):
    path = tmp_path / "d.mat"
    scipy.io.savemat(path, {"X": {"field": np.eye(3)}, "s": "text"})
    with pytest.raises(FileError, match=r"Not read: X \(struct\), s \(char\)"):
        read(path)


def test_a_cell_with_text_inside_is_not_read(tmp_path, read):
    path = tmp_path / "d.mat"
    scipy.io.savemat(path, {"X": cell(np.eye(3), "text")})
    with pytest.raises(FileError, match="cell without plain matrices"):
        read(path)


def compressed_file(n_bytes: int) -> bytes:
    """A v5 file whose one element inflates to `n_bytes` zeros."""
    packed = zlib.compress(bytes(n_bytes), 9)
    header = b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM"
    return header + struct.pack("<II", 15, len(packed)) + packed


def test_a_decompression_bomb_is_stopped(tmp_path, read):
    path = tmp_path / "bomb.mat"
    path.write_bytes(compressed_file(200 * 2**20))
    assert path.stat().st_size < 2**20
    with pytest.raises(ResourceError, match="limit of 10 MB"):
        read(path, memory_limit=10 * 10**6)


def test_a_file_cut_short(tmp_path, parts, read):
    a, b, y = parts
    path = tmp_path / "d.mat"
    scipy.io.savemat(path, {"X": cell(a, b), "Y": y})
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FileError, match="could not be read as mat5"):
        read(path)


def test_an_all_zero_file_is_refused(tmp_path, read):
    path = tmp_path / "zero.mat"
    path.write_bytes(bytes(4096))
    with pytest.raises(FileError, match="no format we can read"):
        read(path)


def test_three_axes_and_nested_cells_are_not_read(tmp_path, read):
    path = tmp_path / "d.mat"
    scipy.io.savemat(path, {"T": np.ones((2, 2, 2)), "C": cell(cell(np.eye(2)))})
    with pytest.raises(FileError, match=r"Not read: T \(double without.*C \(cell"):
        read(path)


def test_uncompressed_files_are_measured_too(tmp_path, read):
    path = tmp_path / "d.mat"
    scipy.io.savemat(path, {"X": np.ones((200, 100))})
    with pytest.raises(ResourceError, match="limit of 100 kB"):
        read(path, memory_limit=100_000)
