"""Rows of pieces below each other, in memory and on disk."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.views.stacking import StackedRows, stack, stack_below

ABOVE = np.arange(12.0).reshape(4, 3)
BELOW = np.arange(100.0, 118.0).reshape(6, 3)
BOTH = np.concatenate([ABOVE, BELOW])


def test_stacked_rows_are_their_own():
    given = ABOVE.copy()
    found = stack([given])
    given[:] = -1
    np.testing.assert_array_equal(found, ABOVE)
    assert stack([ABOVE.astype(np.float32), BELOW]).dtype == np.float64


def test_one_sparse_part_makes_the_whole_sparse():
    for parts in ([sp.csr_array(ABOVE), BELOW], [ABOVE, sp.csr_array(BELOW)]):
        found = stack(parts)
        assert sp.issparse(found) and found.format == "csr"
        np.testing.assert_array_equal(found.toarray(), BOTH)


def test_tensors_stay_tensors():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    found = stack([torch.asarray(ABOVE), BELOW])
    assert isinstance(found, torch.Tensor)
    np.testing.assert_array_equal(found.numpy(), BOTH)


@pytest.mark.parametrize(
    "rows",
    [
        slice(0, 3), slice(2, 7), slice(5, 10), slice(None), slice(9, 99), slice(4, 4),
        np.array([0, 3, 4, 9]), np.array([1]), np.array([8]),
    ],
)  # fmt: skip
def test_rows_on_disk_are_read_when_asked_for(tmp_path, rows):
    np.save(tmp_path / "below.npy", BELOW)
    found = stack_below(ABOVE, np.load(tmp_path / "below.npy", mmap_mode="r"))
    assert isinstance(found, StackedRows) and found.shape == (10, 3)
    np.testing.assert_array_equal(found[rows], BOTH[rows])


def test_rows_on_workers_stay_there():
    da = pytest.importorskip("dask.array", reason="no dask")
    found = stack_below(ABOVE, da.from_array(BELOW, chunks=(2, 3)))
    np.testing.assert_array_equal(found.compute(), BOTH)
    np.testing.assert_array_equal(stack_below(found, ABOVE)[10:].compute(), ABOVE)
