"""Views that are pickled as the call that opens them."""

import copy
import pickle

import numpy as np

from manyview.views.disk_views import DiskViews

OPENED = []


def open_views(*paths):
    OPENED.append(paths)
    arrays = [np.full((1000, 3), float(path)) for path in paths]
    return DiskViews(arrays, opener=open_views, given=paths, names=list(paths))


def test_only_the_paths_travel():
    views = open_views("1", "2")
    packed = pickle.dumps(views)
    assert len(packed) < 200
    OPENED.clear()
    again = pickle.loads(packed)
    assert OPENED == [("1", "2")] and again.names == ("1", "2")
    np.testing.assert_array_equal(again.block(slice(5, 7)).views[1], np.full((2, 3), 2))


def test_chosen_rows_are_plain_views():
    part = open_views("1")[:10]
    assert not isinstance(part, DiskViews)
    assert len(pickle.loads(pickle.dumps(part))) == 10


def test_a_copy_is_another_object_and_opens_nothing():
    views = open_views("1", "2")
    OPENED.clear()
    other = copy.copy(views)
    assert OPENED == [] and other is not views and isinstance(other, DiskViews)
    other.names = ("a", "b")
    assert views.names == ("1", "2")


def test_chosen_views_and_filled_gaps_travel_too():
    views = open_holed("1", "2", "3").without(0).filled().in_order([1, 0])
    again = pickle.loads(pickle.dumps(views))
    assert again.names == views.names == ("3", "2")
    for found in (views, again):
        third, second = found.block(slice(0, 3)).views
        np.testing.assert_allclose(third[0, 0], 3 + np.arange(1, 1000).mean())
        np.testing.assert_allclose(second, third - 1)


def open_holed(*paths):
    arrays = [np.arange(1000.0)[:, None] + float(p) + np.zeros(3) for p in paths]
    for x in arrays:
        x[0, 0] = np.nan
    return DiskViews(arrays, opener=open_holed, given=paths, names=list(paths))
