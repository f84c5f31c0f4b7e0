"""The gaps in the array API, the same in every namespace."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from manyview.arrays.ops import (
    at_least_zero,
    exp_of,
    index_count,
    index_sum,
    like,
    matmul,
    namespace,
    row_norms,
    smallest,
    tall_product,
    to_host,
    wide,
    wide_sum,
)
from manyview.arrays.linear import (
    eigh,
    inverse_by_cholesky,
    plus_diagonal,
    sparse_gram,
    weighted_rows,
)


@pytest.fixture
def table():
    return np.random.default_rng(0).normal(size=(12, 5))


def test_namespace_of_sparse_and_dense(xp, table):
    dense = xp.asarray(table)
    assert namespace(sp.csr_array(table), dense) is namespace(dense)
    assert namespace(sp.csr_array(table)) is namespace(table)


def test_to_host_gives_numpy(xp, table):
    found = to_host(xp.asarray(table))
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, table)


def test_to_host_does_not_copy_numpy(table):
    assert to_host(table) is table


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
def test_like_keeps_the_dtype_and_takes_the_namespace(xp, table, dtype):
    model = xp.asarray(table)
    found = like(np.ones(3, dtype=dtype), model)
    assert namespace(found) is namespace(model)
    assert to_host(found).dtype == dtype
    np.testing.assert_array_equal(to_host(like(found, table)), np.ones(3))


def test_like_a_sparse_matrix_is_numpy(table):
    assert type(like(table, sp.csr_array(table))) is np.ndarray


def test_like_takes_a_read_only_array_without_a_warning(xp, table, recwarn):
    table.flags.writeable = False
    np.testing.assert_array_equal(to_host(like(table, xp.asarray(np.ones(1)))), table)
    assert not recwarn.list


def test_row_norms(xp, table):
    expected = (table**2).sum(axis=1)
    np.testing.assert_allclose(to_host(row_norms(xp.asarray(table))), expected)
    np.testing.assert_allclose(row_norms(sp.csr_array(table)), expected)
    np.testing.assert_allclose(row_norms(sp.csr_matrix(table)), expected)


def test_matmul_of_sparse_is_dense(table):
    found = matmul(sp.csr_array(table), table.T)
    assert type(found) is np.ndarray
    np.testing.assert_allclose(found, table @ table.T)


def test_index_count_has_every_number_also_the_ones_that_do_not_occur(xp):
    found = index_count(xp.asarray(np.array([1, 3, 1, 0])), 5)
    assert found.dtype == xp.float64
    np.testing.assert_array_equal(np.asarray(found), [1, 2, 0, 1, 0])


def test_index_sum(xp, table):
    index = np.array([0, 3, 3, 1, 0, 0, 3, 1, 1, 0, 3, 3])
    expected = np.zeros((5, 5))
    np.add.at(expected, index, table)
    found = index_sum(xp.asarray(table), xp.asarray(index), 5)
    assert namespace(found) is namespace(xp.asarray(table))
    np.testing.assert_allclose(to_host(found), expected)


def test_smallest_against_a_full_sort(xp, table):
    for k in (1, 3, 5):
        values, columns = smallest(xp.asarray(table), k)
        order = np.argsort(table, axis=1)[:, :k]
        np.testing.assert_array_equal(to_host(columns), order)
        expected = np.take_along_axis(table, order, axis=1)
        np.testing.assert_array_equal(to_host(values), expected)


@given(st.integers(1, 8), st.integers(1, 8), st.integers(0, 99))
def test_smallest_with_ties_gives_the_smallest_values(n, k, seed):
    d = np.random.default_rng(seed).integers(0, 3, size=(n, 8)).astype(float)
    values, columns = smallest(d, k)
    np.testing.assert_array_equal(values, np.sort(d, axis=1)[:, :k])
    np.testing.assert_array_equal(np.take_along_axis(d, columns, axis=1), values)
    assert all(len(set(row)) == k for row in columns)


def test_tall_products_sum_chunks_in_float64(xp, monkeypatch):
    monkeypatch.setattr("manyview.arrays.ops.TALL_ROWS", 5)
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    found = tall_product(xp.asarray(a), xp.asarray(b))
    np.testing.assert_allclose(to_host(found), a.T @ b)


def test_exponential_and_clipping(xp, table):
    found = to_host(exp_of(xp.asarray(table), -0.5))
    np.testing.assert_allclose(found, np.exp(-0.5 * table))
    own = xp.asarray(table.copy())
    reused = exp_of(own, -0.5, reuse=True)
    np.testing.assert_allclose(to_host(reused), np.exp(-0.5 * table))
    clipped = to_host(at_least_zero(xp.asarray(table.copy())))
    np.testing.assert_array_equal(clipped, np.maximum(table, 0.0))


def test_wide_sums(xp):
    rows = xp.asarray(np.full((3, 2), 0.1, dtype=np.float32))
    assert to_host(wide(rows)).dtype == np.float64
    assert to_host(wide_sum(rows)).dtype == np.float64
    np.testing.assert_allclose(to_host(wide_sum(rows, axis=0)), np.float32(0.1) * 3.0)


def test_ties_as_a_sparse_matrix(xp, table):
    columns = np.array([[0, 2], [1, 1], [4, 3]], dtype=np.int32)
    weights = np.array([[0.25, 0.75], [0.5, 0.5], [1.0, 0.0]])
    dense = np.zeros((3, 5))
    np.add.at(dense, (np.arange(3)[:, None], columns), weights)
    near = xp.asarray(columns), xp.asarray(weights)
    found = to_host(weighted_rows(*near, xp.asarray(table[:5])))
    np.testing.assert_allclose(found, dense @ table[:5])
    np.testing.assert_allclose(to_host(sparse_gram(*near, 5)), dense.T @ dense)


def test_inverse_of_a_matrix_that_has_none_is_none(xp, table):
    if xp.__name__ == "array_api_strict":
        pytest.skip("matrices of a fit are NumPy arrays or tensors")
    gram = table.T @ table
    found = to_host(inverse_by_cholesky(xp.asarray(gram)))
    np.testing.assert_allclose(found @ gram, np.eye(5), atol=1e-8)
    assert inverse_by_cholesky(xp.asarray(-gram)) is None


def test_a_matrix_of_one_entry_has_its_eigenvector():
    values, vectors = eigh(np.array([[3.0]]))
    assert values.tolist() == [3.0] and abs(vectors[0, 0]) == 1.0


@pytest.mark.parametrize("value", [2.0, np.inf])
def test_only_the_diagonal_grows_and_of_a_new_matrix(value):
    for matrix in matrices_of_a_fit(np.ones((3, 3))):
        found = np.asarray(plus_diagonal(matrix, value))
        assert (np.diag(found) == 1.0 + value).all()
        assert (found[~np.eye(3, dtype=bool)] == 1.0).all()
        assert (np.asarray(matrix) == 1.0).all()


def matrices_of_a_fit(matrix):
    """As NumPy array and, where torch is installed, as tensor."""
    yield matrix.copy()
    try:
        import torch
    except ImportError:
        return
    yield torch.as_tensor(matrix.copy())
