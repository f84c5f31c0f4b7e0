"""The gaps in the array API, the same in every namespace."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from manyview.arrays.ops import (
    at_least_zero,
    cast,
    exp_of,
    expanded_distances,
    group_sums,
    hash_bits,
    in_float64,
    index_count,
    index_sum,
    like,
    masked,
    mix64,
    namespace,
    nearest_points,
    row_norms,
    smallest,
    squared_distances,
    sum_in_float64,
    tall_product,
    tall_sum,
    to_host,
    unit_rows,
    z_score,
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


@pytest.mark.parametrize("n_rows", [0, 1, 300])
def test_nearest_points_are_those_of_all_distances(xp, n_rows):
    rng = np.random.default_rng(7)
    x, points = rng.normal(size=(n_rows, 3)), rng.normal(size=(40, 3))
    found = nearest_points(xp.asarray(x), xp.asarray(points), 4)
    expected = smallest(squared_distances(x, points), 4)
    np.testing.assert_array_equal(to_host(found[1]), expected[1])
    np.testing.assert_allclose(to_host(found[0]), expected[0], rtol=1e-9)
    values, columns = nearest_points(sp.csr_array(x), points, 4)
    np.testing.assert_array_equal(columns, expected[1])
    np.testing.assert_allclose(values, expected[0], rtol=1e-9)


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
    assert to_host(in_float64(rows)).dtype == np.float64
    assert to_host(sum_in_float64(rows)).dtype == np.float64
    np.testing.assert_allclose(
        to_host(sum_in_float64(rows, axis=0)), np.float32(0.1) * 3.0
    )


def brute(x, a):
    return ((x[:, None, :] - a[None, :, :]) ** 2).sum(axis=2)


def test_squared_distances_equal_brute_force(xp):
    rng = np.random.default_rng(0)
    x, a = rng.normal(size=(9, 4)), rng.normal(size=(5, 4))
    found = np.asarray(squared_distances(xp.asarray(x), a))
    np.testing.assert_allclose(found, brute(x, a), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squared_distances_of_sparse_rows_keep_the_dtype(dtype):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(9, 4)) * (rng.random((9, 4)) < 0.5)
    found = squared_distances(sp.csr_array(x.astype(dtype)), x[:3])
    assert found.dtype == dtype
    np.testing.assert_allclose(found, brute(x, x[:3]), atol=1e-5)


@pytest.mark.parametrize("width", [1, 6, 7, 14])
def test_lengths_enter_the_product_of_views_of_any_width(xp, width):
    rng = np.random.default_rng(width)
    x, a = rng.normal(size=(5, width)), rng.normal(size=(4, width))
    found = np.asarray(expanded_distances(xp.asarray(x), xp.asarray(a)))
    np.testing.assert_allclose(found, brute(x, a), atol=1e-12)


def test_squared_distances_are_never_negative():
    x = np.full((3, 5), 1e8) + np.random.default_rng(2).random((3, 5))
    assert squared_distances(x, x).min() >= 0


def test_masked_rows_are_zero_and_others_untouched(xp):
    rows = xp.asarray(np.ones((3, 2)))
    assert masked(rows, None) is rows
    found = masked(rows, xp.asarray([True, False, True]))
    np.testing.assert_array_equal(np.asarray(found), [[1, 1], [0, 0], [1, 1]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_z_score_rows(xp, dtype):
    rows = np.random.default_rng(1).normal(5, 3, size=(20, 7)).astype(dtype)
    found = np.asarray(z_score(xp.asarray(rows)))
    assert found.dtype == dtype
    np.testing.assert_allclose(found.mean(axis=1), 0.0, atol=1e-5)
    np.testing.assert_allclose(found.std(axis=1, ddof=1), 1.0, rtol=1e-5)


@pytest.mark.parametrize("value", [0.0, 0.1, 1e20, -1 / 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_without_variance_become_zero(value, dtype):
    assert not z_score(np.full((3, 64), value, dtype=dtype)).any()


def test_z_score_of_one_component_is_zero():
    assert not z_score(np.array([[3.0], [-1.0]])).any()


def test_z_score_does_not_depend_on_units():
    rows = np.random.default_rng(2).normal(size=(5, 4))
    for factor in (1e-100, 1e100):
        np.testing.assert_allclose(z_score(rows * factor), z_score(rows), rtol=1e-12)


def test_cast_takes_the_dtype_of_its_model(xp):
    model = xp.asarray(np.ones(2, dtype=np.float32))
    found = cast(np.array([0.1, 2.0]), model)
    assert found.dtype == model.dtype and namespace(found) is namespace(model)
    np.testing.assert_array_equal(to_host(found), np.float32([0.1, 2.0]))


@pytest.mark.parametrize("shared", [True, False])
def test_sums_by_several_sets_of_labels(xp, shared):
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(12, 4) if shared else (2, 12, 4))
    labels = rng.integers(0, 3, size=(2, 12))
    sums, counts = group_sums(xp.asarray(rows), xp.asarray(labels), 5)
    for s in range(2):
        own = rows if shared else rows[s]
        expected = [own[labels[s] == j].sum(axis=0) for j in range(5)]
        np.testing.assert_allclose(to_host(sums)[s], expected, atol=1e-12)
        expected = np.bincount(labels[s], minlength=5)
        np.testing.assert_array_equal(to_host(counts)[s], expected)


def test_tall_sums_are_float64(xp, monkeypatch):
    monkeypatch.setattr("manyview.arrays.ops.TALL_ROWS", 5)
    rows = np.random.default_rng(4).normal(size=(12, 3)).astype(np.float32)
    found = to_host(tall_sum(xp.asarray(rows)))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, rows.astype(np.float64).sum(axis=0), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_unit_rows_have_length_one_at_any_size(xp, dtype, size):
    rows = np.random.default_rng(5).normal(size=(6, 4)) * size
    rows[2] = 0.0
    expected = np.where(np.arange(6) == 2, 0.0, 1.0)
    found = to_host(unit_rows(xp.asarray(rows.astype(dtype))))
    assert found.dtype == dtype
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), expected, rtol=1e-6)
    sparse = unit_rows(sp.csr_array(rows.astype(dtype)))
    np.testing.assert_allclose(sparse.toarray(), found, rtol=1e-6)


FLOATS = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def odd_multipliers(n_features):
    rng = np.random.default_rng(6)
    return rng.integers(-(2**62), 2**62, n_features) * 2 + 1


def kinds_of(x):
    """The rows as an array, in CSR form and, where there is torch, as a tensor."""
    yield x
    yield sp.csr_array(x)
    try:
        import torch
    except ImportError:
        return
    yield torch.as_tensor(x)


@FLOATS
def test_hashes_of_rows_are_the_same_in_every_kind_of_array(dtype):
    rng = np.random.default_rng(7)
    x = (rng.normal(size=(40, 9)) * (rng.random((40, 9)) < 0.5)).astype(dtype)
    odd = odd_multipliers(9)
    found = [to_host(hash_bits(kind, odd)) for kind in kinds_of(x)]
    assert len(found) > 1 and len(np.unique(found[0])) == 40
    for other in found[1:]:
        assert other.dtype == np.int64
        np.testing.assert_array_equal(other, found[0])


@FLOATS
def test_a_zero_has_no_sign_and_need_not_be_stored(dtype):
    x = np.array([[0.0, 1.5, 0.0], [2.0, 0.0, -3.0]], dtype=dtype)
    negative = np.where(x == 0, dtype(-0.0), x)
    assert np.signbit(negative[0, 0])
    places = np.repeat([0, 1], 3), np.tile([0, 1, 2], 2)
    stored = sp.csr_array((negative.ravel(), places), shape=(2, 3))
    assert stored.nnz == 6
    odd = odd_multipliers(3)
    for kind in (*kinds_of(negative), stored):
        np.testing.assert_array_equal(to_host(hash_bits(kind, odd)), hash_bits(x, odd))


@FLOATS
def test_rows_that_differ_in_signs_alone_have_hashes_of_their_own(dtype):
    """The sign bits of an even number of entries would add up to 2⁶⁴: to nothing."""
    n_features = 8
    row = np.random.default_rng(8).normal(size=n_features).astype(dtype)
    signs = 1 - 2 * ((np.arange(2**n_features)[:, None] >> np.arange(n_features)) & 1)
    rows = row * signs.astype(dtype)
    for kind in kinds_of(rows):
        hashes = to_host(hash_bits(kind, odd_multipliers(n_features)))
        assert len(np.unique(hashes)) == 2**n_features


@FLOATS
@given(st.data())
def test_hashes_follow_the_bits_of_the_rows(dtype, data):
    """Equal rows, equal hashes; other rows, others: also of few and simple numbers."""
    few = st.sampled_from([-2.0, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.0])
    n_rows = data.draw(st.integers(2, 12))
    n_features = data.draw(st.integers(1, 6))
    drawn = data.draw(st.lists(few, min_size=n_rows * n_features, max_size=99))
    x = np.array(drawn[: n_rows * n_features], dtype=dtype).reshape(n_rows, n_features)
    hashes = hash_bits(x, odd_multipliers(n_features))
    same = (x[:, None, :] == x[None, :, :]).all(axis=2)
    np.testing.assert_array_equal(hashes[:, None] == hashes[None, :], same)


def test_mixing_is_one_to_one_and_moves_every_bit(xp):
    numbers = np.concatenate([np.arange(-500, 500), [2**63 - 1, -(2**63)]])
    mixed = to_host(mix64(xp.asarray(numbers)))
    assert mixed.dtype == np.int64 and len(np.unique(mixed)) == len(numbers)
    bits = (mixed[:, None] >> np.arange(64)) & 1
    assert 0.4 < bits.mean(axis=0).min() <= bits.mean(axis=0).max() < 0.6


def test_mixing_is_splitmix64s():
    """Against the published constants, in Python's own integers."""
    for number in (1, -7, 2**40 + 3):
        h = number % 2**64
        h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        h = (h ^ (h >> 27)) * 0x94D049BB133111EB % 2**64
        assert int(mix64(np.array([number]))[0]) % 2**64 == h ^ (h >> 31)
