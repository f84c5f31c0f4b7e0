import numpy as np
import pytest
import scipy.sparse as sp

from manyview.datasets import load
from manyview.datasets.many_files import combine, files_in
from manyview.datasets.raw_data import RawData
from manyview.errors import FileError


def part(view, rows=None, labels=None, name="v"):
    return RawData([view], [name], row_names=rows, labels=labels)


def test_rows_are_matched_by_name():
    left = part(np.array([[1.0], [2.0]]), ["a", "b"])
    right = part(sp.csr_array([[3.0], [4.0]]), ["c", "b"], name="w")
    both = combine([left, right])
    assert both.row_names == ["a", "b", "c"]
    assert both.views[0].tolist() == [[1], [2], [0]]
    assert both.views[1].toarray().tolist() == [[0], [4], [3]]
    assert both.present.tolist() == [[True, False], [True, True], [False, True]]


def test_equal_names_leave_the_rows_alone():
    a = part(np.eye(2), ["a", "b"])
    both = combine([a, part(np.eye(2), ["a", "b"])])
    assert both.present is None and both.names == ["v", "v#2"]
    assert both.views[0] is a.views[0]


def test_rows_that_cannot_be_matched():
    with pytest.raises(FileError, match="rows cannot be matched"):
        combine([part(np.eye(2), ["a", "b"]), part(np.eye(2), ["a", "a"])])


def test_labels_follow_their_rows_and_must_agree():
    a = part(np.eye(2), ["a", "b"])
    b = part(np.eye(2), ["b", "a"], labels=np.array([5, 6]))
    assert combine([a, b]).labels.tolist() == [6, 5]
    with pytest.raises(FileError, match="lacks some rows"):
        combine([part(np.eye(3), ["a", "b", "c"]), b])
    with pytest.raises(FileError, match="they differ"):
        combine([b, part(np.eye(2), ["b", "a"], labels=np.array([5, 7]))])
    only = RawData([], [], labels=np.array([1]))
    with pytest.raises(FileError, match="labels only"):
        combine([only, only])


def test_a_folder_of_files(tmp_path, parts):
    a, b, y = parts
    np.save(tmp_path / "view10.npy", b)
    np.save(tmp_path / "view9.npy", a)
    np.save(tmp_path / "labels.npy", y)
    (tmp_path / "notes.md").write_text("not data")
    assert [p.name for p in files_in(tmp_path)][1:] == ["view9.npy", "view10.npy"]
    data = load(tmp_path)
    assert data.names == ("view9", "view10") and data.n_features == (3, 5)
    np.testing.assert_array_equal(data.labels, y)
    assert load(tmp_path, labels=False).labels is None


def test_a_list_of_tables(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "a.csv").write_text("id,x\np,1\nq,2\n")
    (tmp_path / "b.csv").write_text("id,u,v\nq,3,4\nr,5,6\n")
    data = load([tmp_path / "a.csv", tmp_path / "b.csv"])
    assert list(data.row_names) == ["p", "q", "r"] and data.names == ("a", "b")
    assert data.present.tolist() == [[True, False], [True, True], [False, True]]
