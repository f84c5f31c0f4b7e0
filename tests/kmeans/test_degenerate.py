import numpy as np
import pytest

from manyview.kmeans.degenerate import degenerate


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
