import json
from dataclasses import asdict

import numpy as np
import pytest

from manyview.errors import FileError, InputError
from manyview.experiments.data_set import DataSet, row_order, told_apart


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "toy.npz"
    labels = np.array([2, 0, 1, 0, 2, 1])
    np.savez(path, view0=np.arange(12.0).reshape(6, 2), labels=labels)
    return path


def test_a_file_is_named_by_its_stem(file):
    data = DataSet.of(file)
    assert data.name == "toy"
    assert data.load().labels.tolist() == [2, 0, 1, 0, 2, 1]


def test_sets_of_one_name_are_told_apart_by_their_paths():
    paths = ("/x/a/toy.npz", "/x/b/toy.npz", "/x/b/toy.2.npz", "/x/other.npz")
    sets = [DataSet.of(p) for p in (*paths, "/x/other.npz")]
    names = [s.name for s in told_apart(sets)]
    assert names == ["x-a-toy.npz", "x-b-toy.npz", "x-b-toy.2.npz", "other"]


def test_classes_can_be_dropped_or_only_the_first_kept(file):
    dropped = DataSet("toy", str(file), drop_classes=(2,)).load()
    assert dropped.labels.tolist() == [0, 1, 0, 1]
    first = DataSet("toy", str(file), first_classes=1).load()
    assert first.arrays[0].tolist() == [[2.0, 3.0], [6.0, 7.0]]


def test_classes_can_be_clustered_but_not_scored(file):
    data = DataSet("toy", str(file), unscored_classes=(2,))
    labels = data.load().labels
    assert labels.tolist() == [2, 0, 1, 0, 2, 1]
    assert labels[data.is_scored(labels)].tolist() == [0, 1, 0, 1]
    assert data.checksum() != DataSet("toy", str(file)).checksum()


def test_the_checksum_follows_content_and_choice_of_rows(file):
    whole = DataSet("toy", str(file))
    part = DataSet("toy", str(file), drop_classes=(2,))
    before = whole.checksum()
    assert before != part.checksum()
    np.savez(file, view0=np.zeros((6, 2)), labels=np.arange(6))
    assert whole.checksum() != before


def test_it_survives_json(small, file):
    unscored = DataSet("toy", str(file), unscored_classes=(1,))
    for data in (small, unscored, DataSet("toy", str(file), drop_classes=(1, 2))):
        assert DataSet.from_json(json.loads(json.dumps(asdict(data)))) == data


def test_a_missing_known_set_says_what_is_expected(monkeypatch):
    monkeypatch.delenv("MANYVIEW_DATA", raising=False)
    with pytest.raises(FileError, match="AwA was not found"):
        DataSet.of("AwA").checksum()


def test_row_orders():
    labels = np.array([1, 0, 1, 0])
    assert row_order("file", labels, 4, 0).tolist() == [0, 1, 2, 3]
    assert row_order("sorted", labels, 4, 0).tolist() == [1, 3, 0, 2]
    one, two = (row_order("shuffled", labels, 50, seed) for seed in (0, 1))
    assert sorted(one) == list(range(50))
    assert one.tolist() != two.tolist()
    assert one.tolist() == row_order("shuffled", None, 50, 0).tolist()


def test_impossible_orders_are_refused():
    with pytest.raises(InputError, match="needs labels"):
        row_order("sorted", None, 4, 0)
    with pytest.raises(InputError, match="one of 'file', 'sorted', 'shuffled'"):
        row_order("upside down", None, 4, 0)
