"""What is told of rows, and what is refused before any work."""

import numpy as np
import pytest

from manyview.errors import InputError, InputTypeError
from manyview.stages.knowledge import check_knowledge


def known(must=None, cannot=None, labels=None, n=8, k=3):
    return check_knowledge(must, cannot, labels, n, k)


def some_labels(**of_rows):
    labels = np.full(8, -1)
    for row, label in of_rows.items():
        labels[int(row[1:])] = label
    return labels


def test_nothing_told_is_nothing_known():
    assert known() is None
    assert known([], [], np.full(8, -1)) is None


def test_chains_of_links_and_equal_labels_are_groups():
    found = known(must=[[0, 1], [1, 2]], labels=some_labels(r2=1, r5=1, r6=0))
    assert found.rows.tolist() == [0, 1, 2, 5, 6]
    group = found.group
    assert len({*group[:4]}) == 1 and group[4] != group[0]
    assert found.classes.tolist() == [1, 1, 1, 1, 0]
    assert found.tied[0] == found.tied[2] != found.tied[3]  # by label alone


def test_clusters_keep_the_names_of_the_labels():
    found = known(labels=some_labels(r0=2, r3=0))
    as_drawn = found.as_drawn(np.array([7, 1]))
    assert as_drawn.rows.tolist() == [1, 7]
    numbers = as_drawn.numbers(3)
    assert numbers[as_drawn.classes].tolist() == [0, 2]
    assert sorted(numbers) == [0, 1, 2]


@pytest.mark.parametrize(
    ("told", "said"),
    [
        ({"must": [[0, 9]]}, "must_link names row 9, but the rows are 0 … 7"),
        ({"must": [[0, -1]]}, "names row -1"),
        ({"must": [0, 1]}, "pairs of row numbers"),
        ({"cannot": [[3, 3]]}, "row 3 apart from itself"),
        ({"must": [[0, 1]], "cannot": [[1, 0]]}, "keeps rows 1 and 0 apart"),
        (
            {"must": [[0, 1], [1, 2]], "labels": some_labels(r0=0, r2=1)},
            "ties rows 0 and 2 together",
        ),
        (
            {"cannot": [[0, 2]], "labels": some_labels(r0=1, r2=1)},
            "keeps rows 0 and 2 apart",
        ),
        ({"labels": some_labels(r0=3)}, "numbered 0 … 2"),
        ({"labels": some_labels(r0=-2)}, "holds -2"),
        ({"labels": np.zeros(5, int)}, "one label per row, 8 in all"),
        ({"labels": some_labels(r0=0, r1=1), "k": 1}, "more than n_clusters=1"),
        ({"must": [[i, i + 1] for i in range(7)], "k": 2}, "leave 1 rows and groups"),
        ({"cannot": [[0, 1], [1, 2], [0, 2]], "k": 2}, "No way was found"),
        ({"must": [[0, 1]], "k": "auto"}, "cannot be chosen"),
    ],
)
def test_contradictions_and_mistakes_are_named(told, said):
    with pytest.raises(InputError, match=said):
        known(**told)


@pytest.mark.parametrize("labels", [["a"] * 8, np.full(8, 0.5), [[0], [0, 1]]])
def test_labels_that_are_no_numbers_are_named(labels):
    with pytest.raises(InputTypeError, match="partial_labels must hold whole numbers"):
        known(labels=labels)


def test_whole_numbers_may_be_floats():
    labels = some_labels(r1=2).astype(float)
    assert known(labels=labels).names.tolist() == [2]
