"""What the factor, code and k-means methods share: row order, types, odd data.

scikit-learn's contract and ours are looked after in ``tests/test_contract.py``.
"""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from manyview.baselines import (
    BMVC,
    FPMVSCAG,
    FSMSC,
    LMTC,
    OPMC,
    BestViewKMeans,
    ConcatKMeans,
)
from manyview.errors import DegenerateWarning, InputError
from manyview.metrics import ari

# Some of the methods leave clusters empty on rows this few, and say so.
pytestmark = pytest.mark.filterwarnings("ignore::manyview.errors.DegenerateWarning")

METHODS = [BMVC, FPMVSCAG, FSMSC, LMTC, OPMC, BestViewKMeans, ConcatKMeans]
PREDICTING = [BMVC, OPMC, BestViewKMeans, ConcatKMeans]


@pytest.mark.parametrize("method", METHODS)
def test_finds_separate_groups(method, three_views):
    views, labels = three_views
    assert ari(labels, method(4, random_state=0).fit_predict(views)) > 0.9


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("method", METHODS)
def test_row_order_does_not_matter(method, dtype, three_views):
    # More clusters than groups: the labels hang on the random starts as well.
    views = [v.astype(dtype) for v in three_views[0]]
    order = np.random.default_rng(0).permutation(300)
    labels = method(7, random_state=3).fit_predict(views)
    mixed = method(7, random_state=3).fit_predict([v[order] for v in views])
    np.testing.assert_array_equal(labels[order], mixed)


@pytest.mark.parametrize("method", METHODS)
def test_seed_repeats_the_labels(method, three_views):
    views = three_views[0]
    first, again = (method(7, random_state=5).fit_predict(views) for _ in range(2))
    np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("method", METHODS)
def test_float32_stays_float32_and_agrees(method, three_views):
    views, _ = three_views
    narrow = [v.astype(np.float32) for v in views]
    model = method(4, random_state=0).fit(narrow)
    fitted = [getattr(model, n, None) for n in ("embedding_", "cluster_centers_")]
    assert not any(a is not None and a.dtype == np.float64 for a in fitted)
    wide = method(4, random_state=0).fit_predict(views)
    assert ari(wide, model.labels_) > 0.9


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("n_clusters", [1, 5])
def test_odd_data_gets_labels(method, n_clusters):
    # A constant view, a view narrower than n_clusters, repeated rows.
    rng = np.random.default_rng(0)
    few = rng.normal(size=(6, 3))
    views = [np.full((24, 2), 0.1), few[rng.integers(6, size=24)], rng.random((24, 1))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", DegenerateWarning)
        labels = method(n_clusters, random_state=0).fit_predict(views)
    assert labels.shape == (24,)
    assert labels.dtype == np.intp
    assert set(labels) <= set(range(n_clusters))


@pytest.mark.parametrize("method", METHODS)
def test_as_many_clusters_as_rows(method):
    X = np.random.default_rng(1).normal(size=(4, 6))
    labels = method(4, random_state=0).fit_predict([X, X**2])
    assert set(labels) <= set(range(4))


@pytest.mark.parametrize("method", METHODS)
def test_missing_views_are_refused(method, three_views):
    views = [v.copy() for v in three_views[0]]
    views[1][3] = np.nan
    with pytest.raises(InputError, match="every view of every row"):
        method(4).fit(views)


@pytest.mark.parametrize("method", PREDICTING)
def test_new_rows_get_the_label_of_their_twins(method, three_views):
    views = three_views[0]
    model = method(4, random_state=0).fit(views)
    shifted = [v[100:] + 1e-6 for v in views]
    np.testing.assert_array_equal(model.predict(shifted), model.labels_[100:])


@pytest.mark.parametrize(
    ("method", "setting", "word"),
    [
        (BMVC, {"gamma": 1.0}, "gamma"),
        (BMVC, {"init_view": 3}, "init_view"),
        (FPMVSCAG, {"max_iter": 0}, "max_iter"),
        (FSMSC, {"scaling": "rows"}, "scaling"),
        (FSMSC, {"tau": -1.0}, "tau"),
        (LMTC, {"norm": "max"}, "norm"),
        (OPMC, {"weights": "auto"}, "weights"),
        (BestViewKMeans, {"n_scored": 1}, "n_scored"),
        (ConcatKMeans, {"n_init": 0}, "n_init"),
    ],
)
def test_unusable_settings_are_named(method, setting, word, three_views):
    with pytest.raises(InputError, match=word):
        method(4, **setting).fit(three_views[0])
