"""A view that has nothing to say is named, not silently left out."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import AnchorSpectral
from manyview.errors import DegenerateWarning, InputError


def fit(views):
    return AnchorSpectral(2, n_graph_anchors=20, n_init=1, random_state=0).fit(views)


@pytest.fixture
def told():
    return np.repeat([[0.0, 1.0], [9.0, 3.0]], 10, axis=0) + np.eye(20, 2)


@pytest.mark.parametrize("constant", [np.ones((20, 3)), sp.csr_array(np.ones((20, 3)))])
def test_a_constant_view_is_named(told, constant):
    with pytest.warns(DegenerateWarning, match="in 'flat': it has no say"):
        model = fit({"told": told, "flat": constant})
    assert sorted(np.bincount(model.labels_)) == [10, 10]


def test_rows_that_are_all_the_same_are_not_blamed_on_scaling():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit({"a": np.ones((20, 3)), "b": np.full((20, 2), 7.0)})
    first, second = (str(w.message) for w in caught)
    assert "rounding, in 'a', 'b': no view tells rows apart" in first
    assert "Are the rows nearly all alike?" in second


def test_fewer_clusters_than_asked_for_are_told():
    x = np.repeat(np.eye(3), 20, axis=0)
    with pytest.warns(DegenerateWarning, match="found 3 of the 5 clusters"):
        AnchorSpectral(5, n_graph_anchors=60, n_init=1, random_state=0).fit([x, x])


def test_one_row_is_no_constant_view():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        AnchorSpectral(1, random_state=0).fit([np.ones((1, 2))])


def test_a_view_of_no_row_is_refused(told):
    with pytest.raises(InputError, match="View 'b' is missing in all rows but 0"):
        fit({"a": told, "b": np.full((20, 3), np.nan)})
