import numpy as np
import pytest

from manyview.datasets.one_file import detect_format
from manyview.errors import FileError


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.mat", b"MATLAB 5.0".ljust(124) + b"\x00\x01IM", "mat5"),
        ("a.mat", b"MATLAB 5.0".ljust(124) + b"\x01\x00MI", "mat5"),
        ("a.mat", b"MATLAB 7.3".ljust(512) + b"\x89HDF\r\n\x1a\n", "hdf5"),
        ("a.h5mu", b"\x89HDF\r\n\x1a\n", "hdf5"),
        ("wrong.csv", b"PK\x03\x04rest", "npz"),
        ("wrong.mat", b"\x93NUMPY\x01\x00", "npy"),
        ("a.bin", b"PAR1....", "parquet"),
        ("a.csv", b"1,2\n", "csv"),
        ("a.TSV", b"1\t2\n", "csv"),
    ],
)
def test_content_decides(tmp_path, name, content, kind):
    (tmp_path / name).write_bytes(content)
    assert detect_format(tmp_path / name) == kind


@pytest.mark.parametrize("name", ["a.pkl", "a.joblib", "a.npz"])
def test_pickles_are_refused(tmp_path, name):
    np.array([1, "a"], dtype=object).dump(tmp_path / name)
    with pytest.raises(FileError, match="refused: it looks like a Python pickle"):
        detect_format(tmp_path / name)


def test_torch_files_are_pickles_in_a_zip(tmp_path):
    (tmp_path / "a.pt").write_bytes(b"PK\x03\x04rest")
    with pytest.raises(FileError, match="pickle"):
        detect_format(tmp_path / "a.pt")


def test_empty_and_unknown_files(tmp_path):
    (tmp_path / "a.mat").write_bytes(b"")
    (tmp_path / "b.mat").write_bytes(b"no such thing")
    with pytest.raises(FileError, match=r"a.mat is empty \(0 bytes\)"):
        detect_format(tmp_path / "a.mat")
    with pytest.raises(FileError, match=r"first bytes are b'no such '.*Readable are"):
        detect_format(tmp_path / "b.mat")
