import numpy as np
import pytest

from manyview.baselines.parts.fold import low_rank_fold, truncate


def unfold(T, block_rows, n_blocks):
    """(anchor, run) x (place, view), the row index split column-major."""
    n_views, _, n_anchors = T.shape
    by_column = np.asfortranarray(T.transpose(2, 1, 0))
    four = by_column.reshape(n_anchors, block_rows, n_blocks, n_views, order="F")
    return four.transpose(0, 2, 1, 3).reshape(n_anchors * n_blocks, -1)


def test_is_the_svd_truncation_of_the_documented_unfolding():
    T = np.random.default_rng(0).normal(size=(3, 20, 2))
    folded = unfold(low_rank_fold(T, (5, 4), 2), 5, 4)
    U, s, Vt = np.linalg.svd(unfold(T, 5, 4))
    np.testing.assert_allclose(folded, (U[:, :2] * s[:2]) @ Vt[:2], atol=1e-12)


def test_full_rank_changes_nothing():
    T = np.random.default_rng(0).normal(size=(2, 12, 3))
    np.testing.assert_allclose(low_rank_fold(T, (4, 3), 99), T)


@pytest.mark.parametrize("shape", [(9, 4), (4, 9)])
def test_truncation_is_the_nearest_matrix_of_its_rank(shape):
    M = np.random.default_rng(1).normal(size=shape)
    lost = np.linalg.norm(M - truncate(M, 2)) ** 2
    assert np.linalg.matrix_rank(truncate(M, 2)) == 2
    np.testing.assert_allclose(lost, (np.linalg.svd(M)[1][2:] ** 2).sum())
