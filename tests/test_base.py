"""What every estimator inherits: validation, tags, labels, parameter checks."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import get_tags

from manyview.base import MultiViewClusterer, degenerate
from manyview.baselines.parts.in_memory import dense_views
from manyview.errors import (
    DegenerateWarning,
    InputError,
    InputTypeError,
    ManyviewError,
    NotFittedError,
)
from manyview.views.arguments import (
    check_choice,
    check_count,
    check_dtype,
    check_number,
    check_rows,
    child_seed,
    generator,
)
from manyview.views.views import Views


class ByPosition(MultiViewClusterer):
    """Labels rows by their position: the smallest estimator."""

    order_dependent = True

    def __init__(self, n_clusters=3, *, giant=False):
        self.n_clusters = n_clusters
        self.giant = giant

    def fit(self, X, y=None):
        views = self._views_to_fit(X)
        labels = np.arange(len(views)) % self.n_clusters
        return self._store_labels(labels * (not self.giant))

    def predict(self, X):
        return np.zeros(len(self._views_to_predict(X)), dtype=int)


class Lenient(ByPosition):
    missing_views = True


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(12, 3)), rng.normal(size=(12, 2))]


def test_fit_returns_itself_and_sets_what_it_saw(views):
    model = ByPosition()
    assert model.fit({"a": views[0], "b": views[1]}) is model
    assert model.n_views_ == 2 and model.view_names_ == ("a", "b")
    assert model.n_features_in_ == 5 and model.n_features_per_view_ == (3, 2)
    assert model.feature_names_per_view_ == (None, None)
    assert model.labels_.dtype == np.intp


def test_single_table_goes_through_scikit_learns_door(views):
    frame = pd.DataFrame(views[0], columns=list("abc"))
    model = ByPosition().fit(frame)
    assert model.n_features_in_ == 3
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert model.feature_names_per_view_ == (("a", "b", "c"),)
    assert len(model.predict(frame)) == 12
    with pytest.raises(InputError, match="feature names should match"):
        model.predict(frame.rename(columns={"a": "z"}))
    for table in (views[0], sp.csr_array(views[0]), views[0].tolist()):
        assert ByPosition().fit(table).n_views_ == 1


def test_list_of_one_table_is_one_view(views):
    assert ByPosition().fit([views[0]]).n_views_ == 1


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_single_table_errors_are_ours(views, bad):
    views[0][3, 1] = bad
    with pytest.raises(InputError, match="in row 3, column 1"):
        ByPosition().fit(views[0])


@pytest.mark.parametrize(
    "X", [np.ones(5), np.empty((0, 3)), [], {}, None, "words", np.array([["a"], ["b"]])]
)
def test_nonsense_is_one_of_our_errors(X):
    with pytest.raises(ManyviewError):
        ByPosition(1).fit(X)


def test_unfitted_model_says_so(views):
    with pytest.raises(NotFittedError, match=r"not fitted yet. Call 'fit' first"):
        ByPosition().predict(views)


@pytest.mark.parametrize("other", [slice(0, 1), slice(None, None, -1)])
def test_predict_needs_the_views_of_fit(views, other):
    model = ByPosition().fit(views)
    assert len(model.predict([x[:4] for x in views])) == 4
    with pytest.raises(
        InputError, match=r"fitted on views with \[3, 2\] features; got"
    ):
        model.predict(views[other])


def test_more_clusters_than_rows_is_a_sentence(views):
    with pytest.raises(InputError, match=r"n_clusters=13 is more than the 12 rows"):
        ByPosition(13).fit(views)
    assert ByPosition(12).fit(views).labels_.tolist() == list(range(12))


def test_missing_views_are_refused_unless_the_method_takes_them(views):
    present = np.ones((12, 2), dtype=bool)
    present[0, 1] = False
    masked = Views(views, present=present)
    with pytest.raises(InputError, match=r"ByPosition needs every view.*Use S2MVTC"):
        ByPosition().fit(masked)
    Lenient().fit(masked)


def test_one_giant_cluster_is_reported(views):
    with pytest.warns(DegenerateWarning, match=r"ByPosition put 12 of 12 rows"):
        ByPosition(giant=True).fit(views)
    ByPosition(1, giant=True).fit(views)
    ByPosition(1, giant=True).fit([x[:1] for x in views])


def test_tags_tell_what_a_method_depends_on():
    tags = get_tags(ByPosition())
    assert tags.input_tags.sparse and not tags.input_tags.allow_nan
    assert tags.multiview.order_dependent and tags.multiview.predicts
    assert not tags.multiview.missing_views and not tags.multiview.deterministic
    assert get_tags(Lenient()).multiview.missing_views


def test_clone_keeps_parameters():
    assert clone(ByPosition(5, giant=True)).get_params() == {
        "n_clusters": 5,
        "giant": True,
    }


def test_dense_views(views):
    found = dense_views(Views([sp.csr_array(views[0]), views[1]]))
    for x, wanted in zip(found, views, strict=True):
        assert type(x) is np.ndarray
        np.testing.assert_array_equal(x, wanted)
    assert dense_views(Views(views), np.float32)[0].dtype == np.float32


def test_dense_views_refuse_missing_rows(views):
    views[0][3] = np.nan
    with pytest.raises(InputError, match=r"rows of NaN.*Use S2MVTC, or drop"):
        dense_views(Views(views))


@pytest.mark.parametrize("seed", [0, 7, np.int64(3), 2**40])
def test_generator_is_seeded(seed):
    assert generator(seed).random() == generator(seed).random()


def test_generator_from_generators():
    rng = np.random.default_rng(0)
    assert generator(rng) is rng
    first = generator(np.random.RandomState(1)).random()
    assert generator(np.random.RandomState(1)).random() == first
    assert generator(None).random() != generator(None).random()


@pytest.mark.parametrize("bad", ["seed", -1, 1.5, [None]])
def test_bad_seed_is_a_sentence(bad):
    with pytest.raises(InputError, match=r"random_state=.*cannot seed"):
        generator(bad)


def test_child_seed_suits_scikit_learn():
    rng = np.random.default_rng(0)
    seeds = [child_seed(rng) for _ in range(100)]
    assert len(set(seeds)) == 100 and all(0 <= s < 2**32 for s in seeds)


@pytest.mark.parametrize("good", [1, 5, np.int32(2)])
def test_counts_pass(good):
    check_count(good, "n")


@pytest.mark.parametrize("bad", [1.0, "3", None, True, np.bool_(True), [1]])
def test_no_count_is_a_type_error(bad):
    with pytest.raises(InputTypeError, match=r"n must be a whole number; got"):
        check_count(bad, "n")


def test_count_too_small_is_a_value_error():
    with pytest.raises(InputError, match="n must be at least 2; got 1"):
        check_count(1, "n", least=2)


def test_numbers():
    for good in (0, 1.5, np.float32(2), np.int8(1)):
        check_number(good, "x")
    for bad in ("1", None, True, 1j):
        with pytest.raises(InputTypeError, match="x must be a number; got"):
            check_number(bad, "x")
    for bad in (-0.1, np.nan, np.inf):
        with pytest.raises(InputError, match="x must be finite and at least 0; got"):
            check_number(bad, "x")


def test_choices():
    check_choice("a", "x", ("a", None))
    check_choice(None, "x", ("a", None))
    for bad in ("b", 0, np.array(["a", "b"]), ["a"]):
        with pytest.raises(InputError, match=r"(?s)x=.* is unknown; .* 'a', None"):
            check_choice(bad, "x", ("a", None))


def test_dtypes():
    for good in (None, "float32", np.float64, float, np.dtype("f4")):
        check_dtype(good)
    for bad in ("int8", "nonsense", 3, np.float16):
        with pytest.raises(InputError, match=r"dtype=.*is no dtype to compute in"):
            check_dtype(bad)


def test_rows():
    assert check_rows([5, 0, 5], 6).tolist() == [0, 5]
    with pytest.raises(InputError, match=r"lie in 0 … 4; got 0 … 5"):
        check_rows([5, 0], 5)
    for bad in ([], [0.5], "all", [True]):
        with pytest.raises(InputTypeError, match="non-empty list of integers"):
            check_rows(bad, 5)


@pytest.mark.parametrize(
    ("labels", "n_clusters", "words"),
    [
        ([0] * 60, 3, "put 60 of 60 rows into one cluster. Are the rows nearly all"),
        ([0] * 199 + [1], 2, "put 199 of 200 rows"),
        ([0, 1] * 30, 3, "found 2 of the 3 clusters it was asked for"),
        ([0, 2] * 30, 3, "found 2 of the 3 clusters it was asked for"),
    ],
)
def test_what_is_wrong_is_said(labels, n_clusters, words):
    assert words in degenerate(np.array(labels), n_clusters)


@pytest.mark.parametrize(
    ("labels", "n_clusters"), [([0, 1, 1], 2), ([0], 1), ([0] * 60, 1), ([0], 1)]
)
def test_other_partitions_are_left_alone(labels, n_clusters):
    assert degenerate(np.array(labels), n_clusters) is None
