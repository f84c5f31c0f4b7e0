import sys

import numpy as np
import pytest

from manyview.datasets.formats import tabular
from manyview.errors import DependencyError, FileError, ResourceError

ENGINES = ("pyarrow", "polars", "pandas")


def use(name, monkeypatch):
    if name is not None:
        pytest.importorskip(name)
    monkeypatch.setattr(tabular, "_engine", lambda: name)
    return name


@pytest.fixture(params=[*ENGINES, None])
def engine(request, monkeypatch):
    """Each table library in turn, and none at all."""
    return use(request.param, monkeypatch)


@pytest.fixture(params=ENGINES)
def text_engine(request, monkeypatch):
    """Text columns need a table library."""
    return use(request.param, monkeypatch)


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_numbers_with_a_header(tmp_path, read, engine):
    raw = read(write(tmp_path / "v.csv", "a,b\n1,2.5\n3,4\n"))
    np.testing.assert_array_equal(raw.views[0], [[1, 2.5], [3, 4]])
    assert raw.feature_names == [["a", "b"]]
    assert raw.names == ["v"]


def test_numbers_without_a_header(tmp_path, read, engine):
    raw = read(write(tmp_path / "v.tsv", "1\t2.5\n3\t4\n"))
    np.testing.assert_array_equal(raw.views[0], [[1, 2.5], [3, 4]])
    assert raw.feature_names is None


@pytest.mark.parametrize("column", ["label", "Y", "class"])
def test_labels_are_the_column_that_was_asked_for(tmp_path, read, engine, column):
    path = write(tmp_path / "v.csv", f"a;b;{column}\n1;2;0\n3;4;1\n")
    raw = read(path, labels=column)
    assert raw.views[0].shape == (2, 2) and raw.notes == ()
    assert raw.labels.tolist() == [0, 1]


@pytest.mark.parametrize("column", ["y", "target", "Class", "gt"])
def test_a_column_is_a_feature_whatever_its_name(tmp_path, read, engine, column):
    path = write(tmp_path / "acc.csv", f"x,{column},z\n1,2.5,3\n4,5.5,6\n")
    raw = read(path)
    assert raw.labels is None and raw.feature_names == [["x", column, "z"]]
    np.testing.assert_array_equal(raw.views[0], [[1, 2.5, 3], [4, 5.5, 6]])
    (note,) = raw.notes
    assert f"acc.csv has a column named {column}" in note
    assert f"--labels {column}" in note
    told = read(path, labels=False)
    assert told.notes == () and told.views[0].shape == (2, 3)


def test_a_file_named_like_labels_may_hold_measurements(tmp_path, read, engine):
    assert read(write(tmp_path / "y.csv", "y\n1\n2\n1\n")).labels.tolist() == [1, 2, 1]
    raw = read(write(tmp_path / "y.csv", "y\n1.5\n2\n1\n"))
    assert raw.labels is None and raw.views[0].tolist() == [[1.5], [2], [1]]


@pytest.mark.parametrize("head", ["name", ""])
def test_row_names_and_text_labels(tmp_path, read, text_engine, head):
    text = f"{head},a,kind\nr1,1,cat\nr2,2,dog\nr3,3,cat\n"
    raw = read(write(tmp_path / "v.csv", text), labels="kind")
    assert raw.row_names == ["r1", "r2", "r3"]
    assert raw.labels.tolist() == ["cat", "dog", "cat"]
    np.testing.assert_array_equal(raw.views[0], [[1], [2], [3]])


def test_other_text_is_an_error_that_names_the_columns(tmp_path, read, text_engine):
    path = write(tmp_path / "v.csv", "a,kind\n1,cat\n2,dog\n")
    with pytest.raises(FileError, match=r"not numeric: kind\. .*--labels"):
        read(path)
    with pytest.raises(FileError, match=r"not numeric: kind, and none named 'kin'"):
        read(path, labels="kin")


def test_parquet(tmp_path, read, text_engine):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.5, 2], "b": [3, 4], "y": [0, 1]}, index=["r", "s"])
    frame.to_parquet(tmp_path / "v.parquet")
    raw = read(tmp_path / "v.parquet", labels="y")
    np.testing.assert_array_equal(raw.views[0], [[1.5, 3], [2, 4]])
    assert raw.labels.tolist() == [0, 1]
    assert read(tmp_path / "v.parquet").feature_names == [["a", "b", "y"]]


def test_parquet_without_a_library(tmp_path, read, monkeypatch):
    pd = pytest.importorskip("pandas")
    pd.DataFrame({"a": [1.5, 2]}).to_parquet(tmp_path / "v.parquet")
    monkeypatch.setattr(tabular, "_engine", lambda: None)
    with pytest.raises(DependencyError, match="pip install pyarrow"):
        read(tmp_path / "v.parquet")


def test_parquet_is_measured_before_it_is_read(tmp_path, read):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")
    pd.DataFrame({"a": np.zeros(10**5)}).to_parquet(tmp_path / "v.parquet")
    assert (tmp_path / "v.parquet").stat().st_size < 10**4
    with pytest.raises(ResourceError, match="limit of 500 kB"):
        read(tmp_path / "v.parquet", memory_limit=500_000)


def test_ragged_and_binary_text(tmp_path, read):
    with pytest.raises(
        FileError, match=r"could not be read as a table: .*Give every row"
    ):
        read(write(tmp_path / "v.csv", "a,b\n1,2\n3,4,5\n"))
    (tmp_path / "w.csv").write_bytes(b"\n\n")
    with pytest.raises(FileError, match="empty or no text"):
        read(tmp_path / "w.csv")


def test_a_file_of_labels_alone(tmp_path, read):
    pytest.importorskip("pyarrow")
    raw = read(write(tmp_path / "labels.csv", "kind\ncat\ndog\n"))
    assert raw.views == [] and raw.labels.tolist() == ["cat", "dog"]


@pytest.mark.parametrize("name", [*ENGINES, None])
def test_the_engine_can_be_loaded_ahead(monkeypatch, name):
    use(name, monkeypatch)
    tabular.import_engine()
    assert name is None or name in sys.modules


def test_the_first_installed_library_is_used(monkeypatch):
    monkeypatch.setattr(tabular, "_ENGINES", ("no_such_library", "numpy"))
    assert tabular._engine() == "numpy"


def test_repeated_text_is_no_row_name(tmp_path, read, text_engine):
    path = write(tmp_path / "v.csv", "kind,a,b\ncat,1,2\ncat,2,3\n")
    with pytest.raises(FileError, match="not numeric: kind"):
        read(path)
