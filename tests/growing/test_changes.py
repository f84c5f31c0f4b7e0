"""What became of clusters: counted cases by hand, and the optimal matching."""

from itertools import permutations

import numpy as np
import pytest

from manyview.growing.changes import Changes, contingency, match, tell

NO_MOVE = np.zeros((9, 1), dtype=bool)


def events(overlap, sizes=None, moved=NO_MOVE):
    overlap = np.asarray(overlap)
    sizes = overlap[:-1].sum(axis=1) if sizes is None else np.asarray(sizes)
    return [(e.kind, e.before, e.after) for e in tell(overlap, sizes, moved, ("a",))]


def test_rows_are_counted_with_those_that_had_no_cluster():
    found = contingency(np.array([0, 1, -1, 0]), np.array([1, 0, 2, 1]), (2, 3))
    assert found.tolist() == [[0, 2, 0], [1, 0, 0], [0, 0, 1]]


def test_as_many_rows_as_possible_keep_their_number():
    rng = np.random.default_rng(0)
    for _ in range(20):
        counts = (
            rng.integers(0, 5, (4, 4)) + 40 * np.eye(4, dtype=int)[rng.permutation(4)]
        )
        best = max(permutations(range(4)), key=lambda p: counts[p, range(4)].sum())
        assert match(counts).tolist() == list(best)


def test_a_pair_must_share_half_of_one_of_them():
    counts = np.array([[30, 0, 35, 35], [0, 50, 0, 0], [0, 0, 40, 40]])
    ids = match(counts)
    assert ids[1] == 1
    assert ids[0] == 0  # all of the first new one come from 0
    assert sorted(ids) == [0, 1, 2, 3]


def test_new_numbers_were_never_used():
    counts = np.zeros((5, 3), dtype=int)
    counts[2, 0] = 10
    assert match(counts).tolist() == [2, 5, 6]


def test_kept_and_moved():
    moved = NO_MOVE.copy()
    moved[1, 0] = True
    found = tell(np.diag([5, 6, 7])[:, :2], np.array([5, 6]), moved, ("a",))
    assert [(e.kind, e.after, e.views) for e in found] == [
        ("kept", (0,), ()),
        ("moved", (1,), ("a",)),
    ]
    assert found[1].sentence == "1 has moved in 'a' (6 rows)"


def test_split_in_three():
    assert events([[40, 0, 30, 30], [0, 9, 0, 0], [0, 0, 0, 0]]) == [
        ("kept", (1,), (1,)),
        ("split", (0,), (0, 2, 3)),
    ]


def test_merged():
    overlap = [[40, 0, 0], [35, 0, 0], [0, 0, 20], [0, 0, 0]]
    assert events(overlap) == [("kept", (2,), (2,)), ("merged", (0, 1), (0,))]


def test_born_from_nowhere_and_from_everywhere():
    overlap = [
        [40, 0, 0, 0, 4],
        [0, 40, 0, 0, 4],
        [0, 0, 40, 0, 4],
        [0, 0, 0, 11, 3],
    ]
    assert events(overlap) == [
        *(("kept", (j,), (j,)) for j in range(3)),
        ("born", (), (3,)),
        ("born", (), (4,)),
    ]


def test_died_without_rows_or_scattered():
    gone = [[40, 0, 0], [0, 0, 0], [0, 0, 30], [0, 0, 0]]
    kept = [("kept", (0,), (0,)), ("kept", (2,), (2,))]
    assert events(gone, [40, 7, 30]) == [*kept, ("died", (1,), ())]
    assert events(gone, [40, 0, 30]) == kept  # it had no rows before either
    scattered = [[0, 9, 9, 9], *np.diag([0, 30, 30, 30])[1:], [0, 0, 0, 0]]
    assert events(scattered)[-1] == ("died", (0,), ())


def test_the_sentence_counts_and_the_picture_draws():
    overlap = np.array([[40, 0, 10], [0, 30, 0], [0, 0, 0]])
    found = Changes(tell(overlap, np.array([50, 30]), NO_MOVE, ("a",)), overlap, 10)
    assert found.sentence == (
        "Clusters: 1 kept, 1 split; 10 of 80 rows have another cluster than before."
    )
    assert len(found.table().rows) == 2 and "split" in str(found)
    pytest.importorskip("matplotlib", reason="no matplotlib")
    axis = found.figure().axes[0]
    assert [t.get_text() for t in axis.texts] == ["0", "1", "0", "1", "2"]
