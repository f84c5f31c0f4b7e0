import numpy as np
import pytest
from sklearn.utils.estimator_checks import check_estimator

from manyview.baselines import SMERAMVC, memory_need
from manyview.baselines.smera import admm, extend
from manyview.errors import InputError, InputTypeError, ResourceError
from manyview.fold import low_rank_fold
from manyview.metrics import accuracy, ari
from manyview.procrustes import polar
from manyview.standardise import unit_rows

# The check clusters shuffled rows, which this method cannot do.
SHUFFLED = {"check_clustering": "the method clusters the order of the rows"}


def sorted_views(seed=0, n_rows=150):
    rng = np.random.default_rng(seed)
    labels = np.arange(n_rows) * 3 // n_rows
    views = [2 * rng.normal(size=(3, d))[labels] for d in (5, 8)]
    return [v + rng.normal(size=v.shape) for v in views], labels


def test_contract():
    check_estimator(SMERAMVC(), expected_failed_checks=SHUFFLED)


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
    arrays = [unit_rows(v) for v in sorted_views()[0]]
    found = admm(arrays, (10, 15), n_anchors=4, rank=2, lam=0.3, max_iter=n_iter)
    Z, objective = literal_admm(arrays, (10, 15), 4, 2, 0.3, n_iter)
    np.testing.assert_allclose(found.Zs, Z, atol=1e-8)
    np.testing.assert_allclose(found.objective, objective, atol=1e-6)


def test_constraints_are_met_in_the_end():
    arrays = [unit_rows(v) for v in sorted_views()[0]]
    found = admm(arrays, (10, 15), n_anchors=4, rank=2, lam=0.5, max_iter=51)
    assert found.residuals[-1][0] < 1e-6
    assert found.residuals[-1][1] < 0.05 * found.residuals[0][1] + 1e-6
    for Z, A in zip(found.Zs, found.As, strict=True):
        assert Z.min() >= 0
        np.testing.assert_allclose(A @ A.T, np.eye(4), atol=1e-9)


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
    monkeypatch.setattr(memory_need, "physical_memory", lambda: 10**4)
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
