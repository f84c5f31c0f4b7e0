import numpy as np
import pytest

from manyview.baselines import SMERAMVC
from manyview.baselines.parts import memory_need
from manyview.baselines.smera import extend
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
