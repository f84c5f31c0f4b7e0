"""What is missing is blank, what is not finite is named by its place."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import Views
from manyview.errors import InputError
from manyview.views.finite_rows import finite_parts


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
