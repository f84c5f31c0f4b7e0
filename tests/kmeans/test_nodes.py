"""Labels by the nearest labelled points: of the points themselves, and between."""

import numpy as np
import pytest

from manyview.engine.local import LocalEngine
from manyview.kmeans.nodes import Nodes, keep_labels, nearest_label
from manyview.kmeans.passes import FIELD
from manyview.views.views import Views


@pytest.fixture
def moons():
    """Two half circles, which no two centres tell apart."""
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, np.pi, size=300)
    own = np.arange(300) % 2
    x = np.where(own, 1 - np.cos(angle), np.cos(angle))
    y = np.where(own, 0.4 - np.sin(angle), np.sin(angle))
    return np.column_stack([x, y]) + 0.03 * rng.normal(size=(300, 2)), own


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_points_keep_their_labels(dtype):
    rng = np.random.default_rng(1)
    points = rng.normal(size=(200, 4)).astype(dtype)
    labels = rng.integers(0, 5, size=200)
    nodes = Nodes(points, labels)
    np.testing.assert_array_equal(nearest_label(points, nodes), labels)


def test_new_rows_follow_the_shape_of_a_cluster(moons):
    points, own = moons
    nodes = Nodes(points[:200], own[:200])
    np.testing.assert_array_equal(nearest_label(points[200:], nodes), own[200:])


def test_the_many_outvote_one_that_is_a_little_nearer():
    points = np.array([[0.0], [1.1], [1.2], [1.3]])
    nodes = Nodes(points, np.array([1, 0, 0, 0]))
    assert nearest_label(np.array([[0.54]]), nodes).tolist() == [0]
    assert nearest_label(np.array([[0.1]]), nodes).tolist() == [1]


def test_fewer_points_than_are_asked():
    nodes = Nodes(np.array([[0.0], [4.0]]), np.array([2, 0]))
    assert nearest_label(np.array([[1.0], [3.0]]), nodes).tolist() == [2, 0]


@pytest.mark.parametrize("block_rows", [None, 13])
def test_where_all_rows_are_drawn_each_keeps_its_label(block_rows):
    """Even where two lie at one point, which their nearest could not tell."""
    rng = np.random.default_rng(2)
    points = rng.normal(size=(50, 3))
    points[7] = points[31]
    labels = rng.integers(0, 4, size=50)
    labels[7], labels[31] = 0, 1
    views = Views([rng.normal(size=(50, 2))])
    engine = LocalEngine(views, np.float64, block_rows=block_rows)
    engine.put(FIELD, points)
    drawn = rng.permutation(50)
    own = labels[engine.caller_rows(drawn)]
    found, nodes = keep_labels(engine, drawn, own, 4)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_array_equal(nodes.points, points[engine.caller_rows(drawn)])
    for j, centre in enumerate(found.centres.points):
        np.testing.assert_allclose(centre, points[labels == j].mean(axis=0))
