import numpy as np
import pytest

from manyview.datasets import load
from manyview.errors import FileError


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
