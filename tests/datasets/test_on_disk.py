"""Views read by rows from paths, and pickled as those paths."""

import pickle
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from manyview import AnchorSpectral, Views
from manyview.datasets import convert, on_disk
from manyview.datasets.isolated.sandbox import Sandbox
from manyview.datasets.on_disk import open_on_disk
from manyview.errors import DataWarning, FileError
from manyview.metrics import ari
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


def test_pieces_of_a_parquet_folder_follow_their_numbers(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    from pyarrow import table

    rows = np.arange(60.0).reshape(60, 1)
    for name, n_pieces in [("few", 2), ("many", 12)]:
        (tmp_path / name).mkdir()
        for i, piece in enumerate(np.split(rows[:, 0], n_pieces)):
            pq.write_table(table({"x": piece}), tmp_path / name / f"part.{i}.parquet")
    check(open_on_disk(tmp_path / "few", tmp_path / "many"), [rows, rows])


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
    with pytest.raises(FileError, match="convert it first"):
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


def write_parquet(path, values, groups=4):
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    from pyarrow import table

    columns = {f"c{j}": values[:, j] for j in range(values.shape[1])}
    pq.write_table(table(columns), path, row_group_size=-(-len(values) // groups))


def write_zarr(path, values, groups=4):
    zarr = pytest.importorskip("zarr", reason="zarr is not installed")
    group = zarr.open_group(str(path), mode="w")
    chunks = (-(-len(values) // groups), values.shape[1])
    made = group.create_array("X", shape=values.shape, dtype="f8", chunks=chunks)
    made[:] = values


def write_folder(path, values):
    convert(Views([values]), path, overwrite=True)


WRITERS = {
    "x.npy": np.save,
    "x.parquet": write_parquet,
    "x.zarr": write_zarr,
    "x.manyview-data": write_folder,
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("replaced", [True, False])
def test_the_content_is_that_of_now(tmp_path, name, replaced):
    path, write = tmp_path / name, WRITERS[name]
    first = np.random.default_rng(0).normal(size=(50, 3))
    write(path, first)
    np.testing.assert_array_equal(
        open_on_disk(path).block(slice(0, 50)).views[0], first
    )
    if replaced:  # another under its name, as whoever writes safely does it
        (tmp_path / "new").mkdir()
        write(tmp_path / "new" / name, -first)
        if path.is_dir():
            path.rename(tmp_path / "old")
        (tmp_path / "new" / name).replace(path)
    else:
        write(path, np.vstack([-first, first]))
    found = open_on_disk(path)
    np.testing.assert_array_equal(found.block(slice(0, 50)).views[0], -first)
    assert len(found) == (50 if replaced else 100)


def test_a_fit_is_of_what_the_file_holds_now(tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 2
    for turn in range(3):
        np.save(tmp_path / "x.npy", 9.0 * labels[:, None] + rng.normal(size=(60, 3)))
        found = AnchorSpectral(2, random_state=0).fit(tmp_path / "x.npy").labels_
        assert ari(labels, found) == 1.0, f"fit number {turn}"
        labels = rng.permutation(labels)


@pytest.mark.parametrize("name", ["x.npy", "x.parquet"])
def test_other_processes_open_what_was_opened_here(tmp_path, name):
    first = np.random.default_rng(0).normal(size=(50, 3))
    WRITERS[name](tmp_path / name, first)
    packed = pickle.dumps(open_on_disk(tmp_path / name))
    WRITERS[name](tmp_path / name, np.vstack([first, first]))
    on_disk._open.cache_clear()
    with pytest.raises(FileError, match="changed since it was opened"):
        pickle.loads(packed)


def test_parquet_changed_under_a_fit_is_an_error(tmp_path):
    values = np.random.default_rng(0).normal(size=(50, 3))
    write_parquet(tmp_path / "x.parquet", values)
    views = open_on_disk(tmp_path / "x.parquet")
    views.block(slice(0, 5))
    write_parquet(tmp_path / "x.parquet", values[:40])
    with pytest.raises(FileError, match="changed while its rows were in use"):
        views.block(slice(20, 25))


@pytest.mark.parametrize("name", ["x.parquet", "x.zarr"])
def test_a_piece_is_unpacked_once_and_only_where_rows_are_asked_for(
    tmp_path, name, monkeypatch
):
    asked = []
    real = Sandbox.ask

    def ask(self, path, request, **job):
        asked.append((job["task"], job.get("number")))
        return real(self, path, request, **job)

    monkeypatch.setattr(Sandbox, "ask", ask)
    values = np.random.default_rng(0).normal(size=(8200, 3))
    WRITERS[name](tmp_path / name, values)
    views = open_on_disk(tmp_path / name)
    assert asked == [("open", None)]
    drawn = views.block(np.array([8199, 8000]))
    np.testing.assert_array_equal(drawn.views[0], values[[8199, 8000]])
    assert asked[1:] == [("unpack", 3)]
    for _ in range(2):
        for start in range(0, 8200, 500):
            part = slice(start, min(start + 500, 8200))
            np.testing.assert_array_equal(views.block(part).views[0], values[part])
    assert sorted(asked[1:]) == [("unpack", g) for g in range(4)]


def test_a_fit_loads_no_parser_into_the_calling_process(tmp_path):
    paths = [str(tmp_path / name) for name in ("x.parquet", "x.zarr")]
    for write, path in zip((write_parquet, write_zarr), paths, strict=True):
        write(path, np.random.default_rng(0).normal(size=(80, 3)))
    script = f"""
    import sys
    from manyview import AnchorSpectral
    for path in {paths}:
        model = AnchorSpectral(2, random_state=0).fit(path)
        assert len(model.predict(path)) == 80
    print(sorted({{"pyarrow.parquet", "zarr"}} & set(sys.modules)))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]", done.stderr


def test_a_damaged_row_group_ends_in_a_sentence_and_the_others_are_read(tmp_path):
    path = tmp_path / "x.parquet"
    values = np.random.default_rng(0).normal(size=(80, 3))
    write_parquet(path, values)
    import pyarrow.parquet as pq

    place = pq.ParquetFile(path).metadata.row_group(2).column(0).data_page_offset
    content = bytearray(path.read_bytes())
    content[place : place + 60] = b"\xff" * 60
    path.write_bytes(content)
    views = open_on_disk(path)
    with pytest.raises(FileError, match=r"x\.parquet could not be (copied|read)"):
        views.block(slice(50, 55))
    np.testing.assert_array_equal(views.block(slice(60, 80)).views[0], values[60:])


def test_gaps_among_whole_numbers_are_a_sentence(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    from pyarrow import table

    pq.write_table(table({"a": [1, 2], "b": [1, None]}), tmp_path / "t.parquet")
    with pytest.raises(FileError, match="gaps among the whole numbers of column b"):
        open_on_disk(tmp_path / "t.parquet").block(slice(0, 2))
