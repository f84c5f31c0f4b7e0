"""UMAPHDBSCAN: the search for the number of clusters, noise, and whole fits."""

import sys

import numpy as np
import pytest

from manyview.baselines import UMAPHDBSCAN
from manyview.baselines.umap_hdbscan import dense_parts, without_noise
from manyview.errors import DependencyError
from manyview.metrics import ari


def blobs(sizes, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return 8.0 * np.eye(len(sizes))[labels] + rng.normal(size=(len(labels), len(sizes)))


@pytest.mark.parametrize("sizes", [[40, 40, 40], [90, 30, 12]])
def test_as_many_dense_parts_as_asked(sizes):
    wanted = np.repeat(np.arange(3), sizes)
    assert ari(wanted, dense_parts(blobs(sizes), 3)) > 0.95


def test_no_more_parts_than_asked():
    labels = dense_parts(blobs([40, 40, 40, 40, 40]), 3)
    assert set(labels) == {0, 1, 2}


def test_noise_joins_the_nearest_row():
    layout = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [7.0]])
    found = without_noise(layout, np.array([0, 0, -1, 1, 1, -1]), 2)
    np.testing.assert_array_equal(found, [0, 0, 0, 1, 1, 1])


def test_clusters_beyond_the_number_join_the_nearest():
    layout = np.arange(9.0)[:, None]
    labels = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])
    found = without_noise(layout, labels, 2)
    np.testing.assert_array_equal(found, [0, 0, 0, 0, 1, 1, 1, 1, 1])


def test_nothing_but_noise_is_one_cluster():
    found = without_noise(np.zeros((3, 1)), np.full(3, -1), 2)
    np.testing.assert_array_equal(found, [0, 0, 0])


@pytest.mark.slow
def test_finds_separate_groups_in_any_order(three_views):
    pytest.importorskip("numba", reason="needs the extra umap")
    views, labels = three_views
    model = UMAPHDBSCAN(4, random_state=0).fit(views)
    assert ari(labels, model.labels_) > 0.95
    assert model.embedding_.shape == (300, 10)
    order = np.random.default_rng(0).permutation(300)
    mixed = UMAPHDBSCAN(4, random_state=0).fit_predict([x[order] for x in views])
    np.testing.assert_array_equal(model.labels_[order], mixed)


def test_the_library_is_asked_for_before_any_work(three_views, monkeypatch):
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(DependencyError, match=r"UMAPHDBSCAN needs umap.*Install it"):
        UMAPHDBSCAN(4).fit(three_views[0])
