"""How clearly rows belong to their clusters, by hand."""

import numpy as np
import pytest

from manyview.kmeans.certainty import certainty, nearest_two
from manyview.kmeans.passes import Centres, euclidean


@pytest.fixture
def points():
    return np.array([[0.0], [10.0], [40.0]])


def test_two_nearest_points_of_every_row(points):
    d, index = nearest_two(np.array([[1.0], [30.0]]), points)
    np.testing.assert_allclose(d, [[1.0, 81.0], [100.0, 400.0]])
    np.testing.assert_array_equal(index, [[0, 1], [2, 1]])


def test_certainty_is_one_at_a_centre_and_none_half_way(points):
    rows, labels = np.array([[0.0], [5.0], [2.0], [22.0]]), np.array([0, 0, 0, 1])
    found = certainty(rows, euclidean(points), labels)
    np.testing.assert_allclose(found, [1.0, 0.0, 6.0 / 8.0, 6.0 / 18.0], atol=1e-12)


def test_a_row_that_another_centre_is_nearer_to_is_unsure(points):
    found = certainty(np.array([[2.0], [2.0]]), euclidean(points), np.array([1, -1]))
    np.testing.assert_array_equal(found, [0.0, 0.0])


def test_centres_that_are_never_chosen_do_not_count(points):
    centres = Centres(points, np.array([0.0, np.inf, 1600.0]))
    found = certainty(np.array([[10.0]]), centres, np.array([0]))
    np.testing.assert_allclose(found, [20.0 / 30.0])
    only = Centres(points, np.array([0.0, np.inf, np.inf]))
    rows = np.array([[10.0], [3.0]])
    np.testing.assert_array_equal(certainty(rows, only, np.zeros(2)), [1, 1])


def test_a_row_between_two_equal_centres_is_uncertain_about_none():
    """Both distances are 0: nothing is divided by 0."""
    found = certainty(np.zeros((1, 2)), euclidean(np.zeros((2, 2))), np.zeros(1))
    np.testing.assert_array_equal(found, [1.0])


def test_float32_rows_are_measured_in_float64(points):
    rows = np.array([[0.1], [9.7]], dtype=np.float32)
    labels = np.array([0, 1])
    found = certainty(rows, euclidean(points), labels)
    assert found.dtype == np.float64
    again = certainty(rows.astype(float), euclidean(points), labels)
    np.testing.assert_array_equal(found, again)
