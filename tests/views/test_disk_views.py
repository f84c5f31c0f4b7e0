"""Views that are pickled as the call that opens them."""

import pickle

import numpy as np

from manyview.views.disk_views import DiskViews

OPENED = []


def open_views(*paths):
    OPENED.append(paths)
    arrays = [np.full((1000, 3), float(path)) for path in paths]
    return DiskViews(arrays, opener=open_views, paths=paths, names=list(paths))


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
