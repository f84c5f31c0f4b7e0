"""What becomes of features that cannot be had, and what partitions agree on."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackNoConvergence

from manyview import S2MVTC
from manyview.stages import steering


@pytest.mark.parametrize("n_found", [0, 2])
def test_vectors_that_do_not_converge_are_done_without(
    n_found, three_views, monkeypatch
):
    views, labels = three_views
    told = np.where(np.arange(300) % 10 == 0, labels, -1)

    def never(S, k, **how):
        found = np.linalg.eigh(sp.csr_array(S).toarray())[1][:, -k:]
        raise ArpackNoConvergence("no", np.ones(n_found), found[:, :n_found])

    monkeypatch.setattr(steering, "eigsh", never)
    model = S2MVTC(4, random_state=0).fit(views, partial_labels=told)
    assert (model.labels_ == labels).mean() > 0.95


def test_a_partition_that_is_off_by_chance_is_outvoted():
    most, renamed = np.array([0, 0, 0, 1, 1, 1]), np.array([1, 1, 1, 0, 0, 0])
    off = np.array([0, 0, 1, 1, 1, 1])
    found = steering._agreed([off, most, renamed, most, renamed], 2)
    assert found.argmax(axis=1).tolist() == most.tolist()
    np.testing.assert_allclose(found[2], [0.8, 0.2])


def test_no_cluster_is_nobodys():
    first = np.array([0, 1, 1, 2, 2, 2])
    others = [np.array([1, 1, 1, 0, 2, 2]), np.array([1, 1, 1, 2, 0, 2])]
    found = steering._agreed([first, *others], 3)
    np.testing.assert_array_equal(found, np.eye(3)[first])  # most would leave out 0


def test_a_kernel_leaves_rows_without_the_view_at_zero():
    X = np.random.default_rng(0).normal(size=(30, 3))
    present = np.arange(30)[:, None] > 3
    Z = steering._kernels([np.where(present, X, 0.0)], present, seed=0)
    assert not Z[:4].any() and np.abs(Z[4:].mean(axis=0)).max() < 1e-12
    assert (Z * Z).sum(axis=1).mean() == pytest.approx(1.0)
