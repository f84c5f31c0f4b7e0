"""Unknown parameters, methods and results are named, with what there is instead."""

import copy
import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from manyview import S2MVTC, all_methods
from manyview.baselines import LMTC, ConcatKMeans
from manyview.errors import (
    InputError,
    InputTypeError,
    NotFittedError,
    UnsupportedError,
)

METHODS = [m.estimator for m in all_methods() if m.is_installed]


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)
def test_a_misspelt_parameter_is_named_with_the_nearest(method):
    words = rf"{method.__name__} has no parameter 'n_cluster'\. Did you mean n_clusters"
    with pytest.raises(InputTypeError, match=words):
        method(n_cluster=3)
    with pytest.raises(InputError, match=words):
        method().set_params(n_cluster=3)


def test_all_but_the_first_go_by_name():
    with pytest.raises(InputTypeError, match=r"by name; got 2 values.*S2MVTC\(8, "):
        S2MVTC(3, 100)


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)
def test_signatures_copies_and_pickles_are_as_ever(method):
    model = method(5)
    assert next(iter(inspect.signature(method).parameters)) == "n_clusters"
    for again in (
        clone(model),
        copy.deepcopy(model),
        pickle.loads(pickle.dumps(model)),
    ):
        assert type(again) is method and again.n_clusters == 5
    assert model.set_params(n_clusters=4).n_clusters == 4


def test_what_is_not_there_is_said():
    with pytest.raises(NotFittedError, match="not fitted yet, so it has no labels_"):
        _ = S2MVTC(3).labels_
    with pytest.raises(UnsupportedError, match="LMTC cannot place new rows"):
        LMTC(3).predict([np.ones((3, 2))])
    with pytest.raises(AttributeError, match="no attribute 'cluster'"):
        _ = S2MVTC(3).cluster
    assert not hasattr(LMTC(3), "predict") and not hasattr(S2MVTC(3), "labels_")


@pytest.mark.parametrize("method", METHODS, ids=lambda m: m.__name__)
def test_a_view_in_place_of_y_is_not_ignored(method):
    first, second = np.random.default_rng(0).normal(size=(2, 20, 3))
    with pytest.raises(InputError, match=r"its shape \(20, 3\) is that of a view"):
        method(2).fit(first, second)


def test_known_classes_are_no_view():
    for y in (np.arange(9), np.arange(9)[:, None], list(range(9))):
        ConcatKMeans(2).fit(np.eye(9), y)
