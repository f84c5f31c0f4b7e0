"""k-means by inner products against k-means by rows."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.kmeans.first_centres import spread_rows
from manyview.kmeans.passes import host_lloyd
from manyview.kmeans.row_products import (
    anchors_by_products,
    lloyd_by_products,
    row_products,
)


def wide_rows(n_rows=60, n_columns=200):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(n_rows, n_columns))
    return rows * (rng.random(rows.shape) < 0.2)


def test_steps_by_products_are_those_by_rows():
    rows = wide_rows()
    first = np.arange(9)
    weights = lloyd_by_products(rows @ rows.T, first, 7)
    np.testing.assert_allclose(weights @ rows, host_lloyd(rows, rows[first], 7))
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)


def test_a_centre_that_loses_its_rows_stays():
    rows = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 1.0], [5.0, 0.0, 0.0]])
    centres = lloyd_by_products(rows @ rows.T, np.array([0, 1, 2]), 3) @ rows
    np.testing.assert_allclose(centres, rows)


def test_rows_picked_by_products_are_those_picked_by_distances():
    rows = wide_rows()
    by_rows, by_products = (
        spread_rows(rows, 12, np.random.default_rng(1), 2, products=products)
        for products in (None, rows @ rows.T)
    )
    np.testing.assert_array_equal(by_rows, by_products)


@pytest.mark.parametrize("n_anchors", [5, 60, 70])
def test_anchors_of_sparse_rows_are_those_of_dense_ones(n_anchors):
    rows = wide_rows()
    one, other = (
        anchors_by_products(x, n_anchors, 3, row_products(x))
        for x in (rows, sp.csr_array(rows))
    )
    assert isinstance(other, np.ndarray) and other.dtype == np.float64
    np.testing.assert_allclose(one, other, atol=1e-12)
    assert len(one) == min(n_anchors, 60)


@pytest.mark.parametrize("share", [0.005, 0.3])
def test_products_of_sparse_rows_are_those_of_dense_ones(monkeypatch, share):
    """A matrix that is nearly empty, and one that is multiplied by panels."""
    monkeypatch.setattr("manyview.kmeans.row_products.PANEL", 7 * 60)
    rng = np.random.default_rng(0)
    x = sp.random_array((40, 60), density=share, rng=rng, format="csr")
    found = row_products(x)
    assert (found == found.T).all()
    np.testing.assert_allclose(found, x.toarray() @ x.toarray().T, atol=1e-12)
