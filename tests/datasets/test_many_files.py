import numpy as np
import pytest
import scipy.sparse as sp

from manyview.datasets import load
from manyview.datasets.many_files import combine, files_in
from manyview.datasets.raw_data import RawData
from manyview.errors import DataWarning, FileError, InputError


def part(view, rows=None, labels=None, name="v"):
    return RawData([view], [name], row_names=rows, labels=labels)


def two_parts():
    left = part(np.array([[1.0], [2.0]]), ["a", "b"])
    return [left, part(sp.csr_array([[3.0], [4.0]]), ["c", "b"], name="w")]


def test_different_rows_are_refused_with_counts():
    with pytest.raises(InputError, match=r"'v' has 2, 'w' has 2, and 1 of 3 .*33") as e:
        combine(two_parts())
    assert "--join inner" in str(e.value)


def test_rows_are_joined_as_asked():
    both = combine(two_parts(), "outer")
    assert both.row_names == ["a", "b", "c"]
    assert both.views[0].tolist() == [[1], [2], [0]]
    assert both.views[1].toarray().tolist() == [[0], [4], [3]]
    assert both.present.tolist() == [[True, False], [True, True], [False, True]]
    inner = combine(two_parts(), "inner")
    assert inner.row_names == ["b"] and inner.present.all()
    assert [v[0, 0] for v in inner.views] == [2.0, 4.0]


def test_the_same_rows_in_another_order_are_aligned_and_said():
    left, right = part(np.eye(2), ["a", "b"]), part(2 * np.eye(2), ["b", "a"], name="w")
    with pytest.warns(
        DataWarning, match="'w' stand in another order than those of 'v'"
    ):
        both = combine([left, right])
    assert both.row_names == ["a", "b"]
    assert both.views[1].tolist() == [[0, 2], [2, 0]]


def test_labels_of_their_own_file_follow_the_rows():
    views = [part(np.eye(2), ["a", "b"]), part(np.eye(2), ["a", "b"], name="w")]
    more = RawData([], [], labels=np.array([7, 8, 9]), row_names=["c", "b", "a"])
    assert combine([*views, more]).labels.tolist() == [9, 8]
    fewer = RawData([], [], labels=np.array([7]), row_names=["a"])
    with pytest.raises(FileError, match="lacks 1 of the 2 rows"):
        combine([*views, fewer])


def test_two_files_of_one_name_are_two_parts():
    with pytest.raises(InputError, match="'v' has 2, 'v#2' has 2"):
        combine([part(np.eye(2), ["a", "b"]), part(np.eye(2), ["b", "c"])])


def test_equal_names_leave_the_rows_alone():
    a = part(np.eye(2), ["a", "b"])
    both = combine([a, part(np.eye(2), ["a", "b"])])
    assert both.present is None and both.names == ["v", "v#2"]
    assert both.views[0] is a.views[0]


def test_rows_that_cannot_be_matched():
    with pytest.raises(
        InputError, match=r"cannot be matched.* 2 of them are named 'a'"
    ):
        combine([part(np.eye(2), ["a", "b"]), part(np.eye(2), ["a", "a"])])
    with pytest.raises(InputError, match="The rows of 'w' have no names"):
        combine([*two_parts()[:1], part(np.eye(2), name="w")], "inner")


def test_labels_follow_their_rows_and_must_agree():
    a = part(np.eye(2), ["a", "b"])
    b = part(np.eye(2), ["b", "a"], labels=np.array([5, 6]))
    assert combine([a, b], "inner").labels.tolist() == [6, 5]
    with pytest.raises(FileError, match="lacks 1 of the 3 rows"):
        combine([part(np.eye(3), ["a", "b", "c"]), b], "outer")
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
    with pytest.raises(InputError, match=r"1 of 3 names \(33.3%\)"):
        load([tmp_path / "a.csv", tmp_path / "b.csv"])
    data = load([tmp_path / "a.csv", tmp_path / "b.csv"], join="outer")
    assert list(data.row_names) == ["p", "q", "r"] and data.names == ("a", "b")
    assert data.present.tolist() == [[True, False], [True, True], [False, True]]


def test_pieces_of_one_table_are_not_taken_for_views(tmp_path):
    for i in range(3):
        (tmp_path / f"part-{i}.parquet").write_bytes(b"never read")
    with pytest.raises(FileError, match=r"one table in 3 pieces.*there it is one view"):
        load(tmp_path)
