"""What is missing is blank, what is not finite is named by its place."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import Views
from manyview.errors import InputError
from manyview.views.finite_rows import finite_parts, floating

WIDE = [np.float64, np.int32, np.uint32, np.int64, np.uint64, np.longdouble, ">f8"]
NARROW = [np.float16, np.float32, np.int8, np.uint16, bool, ">f4"]


def block_rows(x, dtype):
    (rows,), _ = finite_parts([x], ["text"], 0, None, dtype)
    return rows


@pytest.mark.parametrize("asked", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [*WIDE, *NARROW])
def test_a_block_holds_every_digit(kind, asked):
    x = np.array([[1, 0], [0, 1]]).astype(kind)
    found = block_rows(x, asked)
    assert found.dtype == (np.float64 if kind in WIDE else np.float32)
    assert found.dtype == floating(x, asked)
    np.testing.assert_array_equal(found, x)


@pytest.mark.parametrize("kind", ["float64", "float32", "int64", "int16"])
def test_tensors_follow_the_same_rule(kind):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    x = np.array([[1, 0], [0, 1]]).astype(kind)
    found = block_rows(torch.as_tensor(x), np.float32)
    assert found.numpy().dtype == block_rows(x, np.float32).dtype
    np.testing.assert_array_equal(found.numpy(), x)


def test_whole_numbers_beyond_float32_stay_apart():
    x = np.array([[2**24], [2**24 + 1]])
    assert len(np.unique(block_rows(x, np.float32))) == 2


@pytest.mark.parametrize("asked", [np.float32, np.float64])
def test_sparse_rows_have_the_type_asked_for(asked):
    found = block_rows(sp.csr_array(np.eye(3, dtype=np.int64)), asked)
    assert found.dtype == asked


def with_value(value, row=None, column=slice(None)):
    table = np.arange(1.0, 13.0).reshape(4, 3)
    table[row, column] = value
    return table


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.csc_array])
def test_a_row_of_nan_lacks_the_view(make):
    block = Views([make(with_value(np.nan, 2)), np.ones((4, 2))]).block(slice(0, 4))
    assert block.present.tolist() == [[i != 2, True] for i in range(4)]
    found = block.views[0].toarray() if sp.issparse(block.views[0]) else block.views[0]
    np.testing.assert_array_equal(found, with_value(0.0, 2))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("value", "dtype", "words"),
    [
        (np.nan, "f8", "NaN in row 6, column 1"),
        (np.inf, "f8", "infinity in row 6, column 1"),
        (1e300, "f4", "infinity or a number too large for float32 in row 6, column 1"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_other_values_are_named_by_their_place(make, value, dtype, words):
    views = Views({"image": make(with_value(value, 2, 1))})
    with pytest.raises(InputError, match=rf"'image' holds NaN or infinity: {words}\."):
        views.block(slice(0, 4), np.dtype(dtype), start=4)


def test_a_sparse_row_with_some_nan_is_not_missing():
    holes = with_value(np.nan, 2, [0, 2])
    holes[2, 1] = 0.0  # not stored
    with pytest.raises(InputError, match="NaN in row 2, column 0"):
        Views([sp.csr_array(holes)]).block(slice(0, 4))


def test_sparse_rows_are_brought_into_order_in_a_copy():
    """As text vectorisers leave them: in no order, some stored twice."""
    data, places = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 1, 1])
    raw = sp.csr_array((data, places, np.array([0, 2, 4])), shape=(2, 3))
    places.setflags(write=False)
    (rows,), _ = finite_parts([raw], ["text"], 0, None, np.float64)
    assert rows.indices.tolist() == [0, 2, 1] and rows.data.tolist() == [2, 1, 7]
    assert raw.indices.tolist() == [2, 0, 1, 1]
