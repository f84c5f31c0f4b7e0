"""First centres that lie apart, whatever the last digits of the rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.kmeans.first_centres import distinct_rows
from manyview.kmeans.passes import kmeans_anchors
from manyview.kmeans.row_products import anchors_by_products, row_products


def rows_in_a_heap(dtype=np.float64, n_features=6):
    """Rows apart from each other, but forty that are one up to rounding."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1200, n_features)) + 2.0
    rows[:40] = rows[0] + 1e-9 * rng.normal(size=(40, n_features))
    return rng.permutation(rows).astype(dtype)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_row_of_a_heap_is_picked_and_others_follow_in_order(kind, dtype):
    rows, order = rows_in_a_heap(dtype), np.random.default_rng(1).permutation(1200)
    picks = distinct_rows(kind(rows), order, 1000)[0]
    apart = np.square(rows[picks][:, None] - rows[picks]).sum(axis=2, dtype=np.float64)
    np.fill_diagonal(apart, np.inf)
    assert apart.min() > 1e-6 and len(set(picks)) == 1000
    places = np.argsort(order)[picks]
    np.testing.assert_array_equal(places, np.sort(places))


def test_rows_that_differ_are_taken_as_they_come():
    rows = np.random.default_rng(2).normal(size=(900, 5))
    order = np.random.default_rng(3).permutation(900)
    np.testing.assert_array_equal(distinct_rows(rows, order, 300)[0], order[:300])


def test_repeated_rows_fill_up_where_too_few_differ():
    rows = np.repeat(np.eye(4), 50, axis=0)
    picks = distinct_rows(rows, np.random.default_rng(0).permutation(200), 60)[0]
    assert len(set(picks)) == 60
    assert len(np.unique(rows[picks[:4]], axis=0)) == 4


def test_searches_side_by_side_have_their_own_numbers():
    torch = pytest.importorskip("torch", reason="torch is not installed")
    first = rows_in_a_heap()
    both = torch.as_tensor(np.stack([first, first[::-1].copy()]))
    order = np.arange(1200)
    found = distinct_rows(both, order, 900)
    for picks, rows in zip(found, both.numpy(), strict=True):
        np.testing.assert_array_equal(picks, distinct_rows(rows, order, 900)[0])


def test_anchors_do_not_feel_rounding_where_rows_lie_in_a_heap():
    rows = rows_in_a_heap()
    noisy = rows * (1.0 + 2e-16 * np.random.default_rng(4).integers(-2, 3, rows.shape))
    for seed in range(3):
        first, second = (kmeans_anchors(x, 400, seed) for x in (rows, noisy))
        np.testing.assert_allclose(first, second, atol=1e-9)


def test_anchors_by_products_do_not_feel_it_either():
    rows = rows_in_a_heap(n_features=1300)[:1000]
    noisy = rows * (1.0 + 2e-16 * np.random.default_rng(4).integers(-2, 3, rows.shape))
    kept = [(x, row_products(x)) for x in (rows, noisy)]
    for seed in range(3):
        first, second = (anchors_by_products(x, 300, seed, own) for x, own in kept)
        np.testing.assert_allclose(first, second, atol=1e-9)


def test_known_products_find_the_same_rows():
    rows = np.repeat(np.random.default_rng(5).normal(size=(40, 90)), 2, axis=0)
    order = np.random.default_rng(6).permutation(80)
    found = distinct_rows(rows, order, 40, rows @ rows.T)
    np.testing.assert_array_equal(found, distinct_rows(rows, order, 40))
