import numpy as np
import pytest

from manyview.arrays.ops import unit_rows
from manyview.baselines import SMERAMVC
from manyview.baselines.parts import in_memory
from manyview.baselines.parts.procrustes import polar
from manyview.baselines.smera import admm, extend, low_rank_fold, truncate
from manyview.checks import check_rows_permuted
from manyview.errors import InputError, InputTypeError, ResourceError
from manyview.metrics import accuracy, ari


def sorted_views(seed=0, n_rows=150):
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) * 3 // n_rows
    views = [2 * rng.normal(size=(3, d))[labels] for d in (5, 8)]
    return [v + rng.normal(size=v.shape) for v in views], labels


class ClaimsNoOrder(SMERAMVC):
    """The same method without its tag."""

    order_dependent = False


def test_fails_the_row_permutation_check_that_its_tag_excuses():
    check_rows_permuted(SMERAMVC())
    with pytest.raises(AssertionError, match="shuffled rows must give the same"):
        check_rows_permuted(ClaimsNoOrder())


def test_sorted_rows_score_high_and_shuffled_rows_low():
    """The order-dependence that the tag announces, seen."""
    views, labels = sorted_views(n_rows=900)
    order = np.random.default_rng(0).permutation(900)
    model = SMERAMVC(3, random_state=0)
    in_order = ari(labels, model.fit_predict(views))
    mixed = ari(labels[order], model.fit_predict([v[order] for v in views]))
    assert in_order > mixed + 0.3
    assert SMERAMVC.order_dependent


def test_moving_whole_runs_of_rows_changes_nothing():
    """Only the fold sees the order: swapping runs permutes its rows."""
    views = [v.copy() for v in sorted_views(n_rows=144)[0]]
    order = np.arange(144).reshape(12, 12)[np.random.default_rng(0).permutation(12)]
    model = SMERAMVC(3, random_state=0)
    plain = model.fit(views).embedding_
    moved = model.fit([v[order.ravel()] for v in views]).embedding_
    np.testing.assert_allclose(
        moved @ moved.T,
        (plain @ plain.T)[np.ix_(order.ravel(), order.ravel())],
        atol=1e-6,
    )


def test_every_row_gets_a_label_and_the_fold_is_near_the_root():
    views, _ = sorted_views(n_rows=150)
    model = SMERAMVC(3, random_state=0).fit(views)
    assert model.fold_ == (12, 12)
    assert model.embedding_.shape == (144, 6)
    assert model.labels_.shape == (150,)


def test_rows_beyond_the_fold_join_the_nearest_mean():
    X = np.array([[0.0], [0.2], [5.0], [5.2], [4.0], [1.0]])
    labels = extend(np.array([0, 0, 1, 1]), [X, X], 4)
    np.testing.assert_array_equal(labels, [0, 0, 1, 1, 1, 0])


def test_bad_folds_are_refused():
    views, _ = sorted_views()
    with pytest.raises(InputError, match="covers 180 rows"):
        SMERAMVC(3, fold=(12, 15)).fit(views)
    with pytest.raises(InputTypeError, match="pair"):
        SMERAMVC(3, fold=12).fit(views)


def test_refuses_what_does_not_fit(monkeypatch):
    monkeypatch.setattr(in_memory, "physical_memory", lambda: 10**4)
    with pytest.raises(ResourceError, match=r"SMERAMVC needs about .* has 10 kB"):
        SMERAMVC(3).fit(sorted_views()[0])


@pytest.mark.parametrize("fold", [None, (67, 100)])
def test_ccv_in_file_order_and_shuffled(load_npz, fold):
    views, labels = load_npz("CCV")
    order = np.random.default_rng(0).permutation(len(labels))
    model = SMERAMVC(20, fold=fold, random_state=0)
    assert accuracy(labels, model.fit_predict(views)) >= 0.45
    mixed = model.fit_predict([v[order] for v in views])
    assert accuracy(labels[order], mixed) <= 0.12


def settings(lam, max_iter):
    return SMERAMVC(n_anchors=4, rank=2, residual_weight=lam, max_iter=max_iter)


def unit_views(seed=0):
    """150 rows in three consecutive groups, two views."""
    rng = np.random.default_rng(seed)
    labels = np.arange(150) // 50
    views = [2 * rng.normal(size=(3, d))[labels] for d in (5, 8)]
    return [unit_rows(v + rng.normal(size=v.shape)) for v in views]


def literal_admm(arrays, fold, n_anchors, rank, lam, n_iter):
    """The published iteration with every matrix written out."""
    n_rows = len(arrays[0])
    Z = np.zeros((len(arrays), n_rows, n_anchors))
    Y, Gam = np.zeros_like(Z), np.zeros_like(Z)
    E, Lam = [np.zeros_like(X) for X in arrays], [np.zeros_like(X) for X in arrays]
    mu1, mu2 = 1e-3, 5e-4
    for _ in range(n_iter):
        for v, X in enumerate(arrays):
            W = Lam[v] + mu2 * (X - E[v])
            A = polar(Z[v].T @ W)
            Z[v] = np.maximum(0, (W @ A.T + mu1 * Y[v] - Gam[v]) / (mu1 + mu2))
            R = X - Z[v] @ A + Lam[v] / mu2
            length = np.linalg.norm(R, axis=1, keepdims=True)
            E[v] = np.maximum(1 - lam / mu2 / length, 0) * R
            Lam[v] += mu2 * (X - Z[v] @ A - E[v])
        Y = low_rank_fold(Z + Gam / mu1, fold, rank)
        Gam += mu1 * (Z - Y)
        mu1, mu2 = 2 * mu1, 2 * mu2
    return Z, lam * sum(np.linalg.norm(e, axis=1).sum() for e in E)


@pytest.mark.parametrize("n_iter", [1, 2, 13, 30])
def test_equals_the_literal_iteration(n_iter):
    arrays = unit_views()
    found = admm(arrays, (10, 15), settings(0.3, n_iter))
    Z, objective = literal_admm(arrays, (10, 15), 4, 2, 0.3, n_iter)
    np.testing.assert_allclose(found.Zs, Z, atol=1e-8)
    np.testing.assert_allclose(found.objective, objective, atol=1e-6)


def test_constraints_are_met_in_the_end():
    arrays = unit_views()
    found = admm(arrays, (10, 15), settings(0.5, 51))
    assert found.residuals[-1][0] < 1e-6
    assert found.residuals[-1][1] < 0.05 * found.residuals[0][1] + 1e-6
    for Z, A in zip(found.Zs, found.As, strict=True):
        assert Z.min() >= 0
        np.testing.assert_allclose(A @ A.T, np.eye(4), atol=1e-9)


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
