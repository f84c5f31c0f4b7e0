"""Views read by rows from paths, and pickled as those paths."""

import pickle

import numpy as np
import pytest

from manyview import Views
from manyview.datasets import convert
from manyview.datasets.on_disk import open_on_disk
from manyview.errors import DataWarning, FileError
from manyview.views.disk_views import DiskViews


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    return [rng.normal(size=(50, 3)), rng.normal(size=(50, 2)).astype(np.float32)]


def check(found, views):
    assert isinstance(found, DiskViews)
    rows = np.array([49, 0, 7, 7])
    for part in (slice(10, 31), slice(0, 50), rows):
        block = found.block(part, np.float64)
        for seen, x in zip(block.views, views, strict=True):
            np.testing.assert_allclose(seen, x[part])


def test_a_converted_folder(views, tmp_path):
    present = np.ones((50, 2), dtype=bool)
    present[3, 1] = False
    path = convert(Views(views, present=present, labels=np.arange(50)), tmp_path / "a")
    found = open_on_disk(path)
    assert found.labels.tolist() == list(range(50))
    assert not found.present[3, 1]
    np.testing.assert_allclose(found.block(slice(8, 20)).views[0], views[0][8:20])


def test_zarr(views, tmp_path):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    group = zarr.open_group(str(tmp_path / "a.zarr"), mode="w")
    for v, x in enumerate(views):
        group.create_array(f"view{v}", shape=x.shape, dtype=x.dtype)[:] = x
    check(open_on_disk(tmp_path / "a.zarr"), views)


def test_parquet_files_and_folders(views, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    from pyarrow import table

    (tmp_path / "first").mkdir()
    for part in range(2):
        rows = slice(20 * part, 20 + 30 * part)
        columns = {f"c{j}": views[0][rows, j] for j in range(3)}
        pq.write_table(table(columns), tmp_path / "first" / f"{part}.parquet")
    columns = {f"c{j}": views[1][:, j] for j in range(2)}
    pq.write_table(table(columns), tmp_path / "b.parquet", row_group_size=7)
    found = open_on_disk(tmp_path / "first", tmp_path / "b.parquet")
    assert found.names == ("first", "b")
    assert found.arrays[1].dtype == np.float32
    check(found, views)


def test_a_column_named_like_labels_is_a_feature_of_parquet(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    from pyarrow import table

    columns = {name: np.random.default_rng(0).normal(size=9) for name in "xyz"}
    pq.write_table(table(columns), tmp_path / "acc.parquet")
    with pytest.warns(DataWarning, match="column named y.*taken as a feature"):
        found = open_on_disk(tmp_path / "acc.parquet")
    assert found.feature_names == (("x", "y", "z"),)
    np.testing.assert_array_equal(found.block(slice(0, 9)).views[0][:, 1], columns["y"])


def test_the_index_of_parquet_names_the_rows(tmp_path):
    pd = pytest.importorskip("pandas", reason="pandas is not installed")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    table = pd.DataFrame({"a": np.arange(20.0)}, index=np.arange(20) + 7)
    table.to_parquet(tmp_path / "a.parquet", row_group_size=6)
    table[::-1].rename(columns={"a": "b"}).to_parquet(tmp_path / "b.parquet")
    with pytest.warns(DataWarning, match="matched by name"):
        found = open_on_disk(tmp_path / "a.parquet", tmp_path / "b.parquet")
    assert found.n_features == (1, 1), "the index is no feature"
    first, second = found.block(slice(0, 20)).views
    np.testing.assert_array_equal(first, second)


def test_npy(views, tmp_path):
    for v, x in enumerate(views):
        np.save(tmp_path / f"v{v}.npy", x)
    check(open_on_disk(tmp_path / "v0.npy", tmp_path / "v1.npy"), views)


def test_pickled_as_its_path(views, tmp_path):
    np.save(tmp_path / "v.npy", np.tile(views[0], (400, 1)))
    packed = pickle.dumps(open_on_disk(tmp_path / "v.npy"))
    assert len(packed) < 1000
    found = pickle.loads(packed)
    np.testing.assert_array_equal(found.block(slice(50, 100)).views[0], views[0])


def test_text_columns_are_refused(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    from pyarrow import table

    pq.write_table(table({"a": [1.0], "b": ["x"]}), tmp_path / "t.parquet")
    with pytest.raises(FileError, match="not numeric: b"):
        open_on_disk(tmp_path / "t.parquet")


def test_missing_and_unknown_paths(tmp_path):
    with pytest.raises(FileError, match="every worker"):
        open_on_disk(tmp_path / "nothing.zarr")
    (tmp_path / "a.csv").write_text("1,2\n")
    with pytest.raises(FileError, match="Convert it first"):
        open_on_disk(tmp_path / "a.csv")


def test_views_are_chosen_by_name_and_again_by_whoever_opens_them(views, tmp_path):
    folder = convert(Views(views, labels=np.arange(50)), tmp_path / "a")
    for v, x in enumerate(views):
        np.save(tmp_path / f"x{v}.npy", x)
    files = [tmp_path / "x0.npy", tmp_path / "x1.npy"]
    for paths, name in (([folder], "view1"), (files, "x1")):
        found = open_on_disk(*paths, views=[name])
        for own in (found, pickle.loads(pickle.dumps(found))):
            assert own.names == (name,) and own.n_features == (2,)
        with pytest.raises(FileError, match="no view 'nope'"):
            open_on_disk(*paths, views=["nope"])
    assert open_on_disk(folder).labels is not None
    assert open_on_disk(folder, labels=False).labels is None


def test_the_column_of_labels_of_parquet_is_no_feature(views, tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    from pyarrow import table

    columns = {f"c{j}": views[0][:, j] for j in range(3)}
    columns["kind"] = [f"k{i % 3}" for i in range(50)]
    path = tmp_path / "a.parquet"
    pq.write_table(table(columns), path, row_group_size=20)
    found = open_on_disk(path, labels="kind")
    assert found.labels.tolist() == columns["kind"]
    check(found, views[:1])
    check(pickle.loads(pickle.dumps(found)), views[:1])
