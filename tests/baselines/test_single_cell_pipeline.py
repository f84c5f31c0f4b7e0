"""Cells of several kinds, in counts of RNA and proteins, by k-means and by Leiden."""

import numpy as np
import pytest

from manyview.baselines import SingleCellKMeans, SingleCellLeiden
from manyview.baselines.single_cell_pipeline import of_equal_variance
from manyview.metrics import ari

METHODS = [SingleCellKMeans, SingleCellLeiden]


def cells(sizes=(90, 60, 30), seed=0):
    """Counts of 600 genes at very different depths, and of 8 proteins."""
    rng = np.random.default_rng(seed)
    kind = np.repeat(np.arange(len(sizes)), sizes)
    rates = rng.gamma(0.3, 1.0, size=(len(sizes), 600))
    depth = rng.uniform(0.3, 3.0, size=(len(kind), 1))
    levels = rng.gamma(1.0, 60.0, size=(len(sizes), 8))
    return [rng.poisson(depth * rates[kind]), rng.poisson(levels[kind])], kind


@pytest.mark.parametrize("method", METHODS)
def test_kinds_of_unequal_size_are_found(method):
    views, kind = cells()
    assert ari(kind, method(3, random_state=0).fit_predict(views)) > 0.95


@pytest.mark.parametrize("method", METHODS)
def test_the_depth_of_a_cell_does_not_matter(method):
    views, _ = cells()
    deeper = [views[0] * np.where(np.arange(180) % 2, 1, 4)[:, None], views[1]]
    labels = method(3, random_state=0).fit_predict(views)
    assert ari(labels, method(3, random_state=0).fit_predict(deeper)) == 1.0


@pytest.mark.parametrize("method", METHODS)
def test_neither_rows_nor_views_know_their_place(method):
    views, _ = cells()
    order = np.random.default_rng(0).permutation(180)
    labels = method(5, random_state=3).fit_predict(views)
    mixed = method(5, random_state=3).fit_predict([x[order] for x in views[::-1]])
    np.testing.assert_array_equal(labels[order], mixed)


def test_views_weigh_the_same():
    X = 7 * np.random.default_rng(0).normal(size=(50, 3))
    assert of_equal_variance(X).var(axis=0).sum() == pytest.approx(1)
    assert not of_equal_variance(np.zeros((4, 2))).any()


@pytest.mark.data
@pytest.mark.parametrize("method", METHODS)
def test_real_cells(load_npz, method):
    views, labels = load_npz("SNAREseq")
    assert ari(labels, method(4, random_state=0).fit_predict(views)) > 0.87
