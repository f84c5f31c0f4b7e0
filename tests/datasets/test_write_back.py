"""Clusters in a copy of the file they were found in."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from manyview.cli import main
from manyview.datasets.write_back import (
    Clusters,
    check_write_back,
    copy_name,
    place,
    write_back,
)
from manyview.errors import FileError, InputError

LABELS = np.array([1, 0, 1])


def run(*args):
    assert main([str(a) for a in args]) == 0


def test_a_text_table_gets_a_last_column_and_stays_as_it_was(tmp_path):
    source, target = tmp_path / "t.csv", tmp_path / "u.csv"
    source.write_text('name;a;b\n"x;1";1,5;2\ny;3;4\n\nz;5;6\n', encoding="utf-8-sig")
    write_back(source, target, "group", Clusters(LABELS))
    assert target.read_text() == 'name;a;b;group\n"x;1";1,5;2;1\ny;3;4;0\nz;5;6;1\n'


def test_a_text_table_without_header_gets_no_name(tmp_path):
    source, target = tmp_path / "t.tsv", tmp_path / "u.tsv"
    source.write_text("1\t2\n3\t4\n5\t6\n")
    assert check_write_back([str(source)], "group") == [source]
    write_back(source, target, "group", Clusters(LABELS))
    assert target.read_text() == "1\t2\t1\n3\t4\t0\n5\t6\t1\n"


def test_rows_are_found_by_name(tmp_path):
    source, target = tmp_path / "t.csv", tmp_path / "u.csv"
    source.write_text("name,a\nc,1\nnew,2\na,3\nb,4\n")
    write_back(source, target, "group", Clusters(LABELS, ["a", "b", "c"]))
    lines = target.read_text().splitlines()
    assert lines == ["name,a,group", "c,1,1", "new,2,", "a,3,1", "b,4,0"]


def test_rows_that_cannot_be_told_apart_are_refused():
    assert place(None, 3, Clusters(LABELS)).tolist() == [0, 1, 2]
    # Names that both sides know, but twice, tell nothing; neither do strange ones.
    for names in (["a", "a", "b"], ["x", "y", "z"]):
        assert place(names, 3, Clusters(LABELS, list("abc"))).tolist() == [0, 1, 2]
    with pytest.raises(FileError, match="3 rows were clustered and the file has 4"):
        place(None, 4, Clusters(LABELS))


def test_a_parquet_table_keeps_its_columns_and_index(tmp_path):
    source, target = tmp_path / "t.parquet", tmp_path / "u.parquet"
    table = pd.DataFrame({"a": [1.5, 2.5, 3.5]}, index=["p", "q", "r"])
    table.to_parquet(source)
    write_back(source, target, "group", Clusters(LABELS, ["r", "q"]))
    again = pd.read_parquet(target)
    assert again.index.tolist() == ["p", "q", "r"]
    assert again["a"].tolist() == [1.5, 2.5, 3.5]
    assert again["group"].astype("Int64").tolist() == [pd.NA, 0, 1]


@pytest.mark.parametrize(
    ("files", "key", "error", "message"),
    [
        (["t.csv"], "a", FileError, "has a column 'a' already"),
        (["t.npy"], "group", FileError, "files that end in .h5ad, .h5mu, .csv"),
        (["no.csv"], "group", FileError, "cannot be written back to no.csv"),
        (["t.csv", "sub/t.csv"], "group", FileError, "have the same name"),
        (["t.csv"], "a/b", InputError, "cannot name a column"),
        (["t.csv"], "", InputError, "cannot name a column"),
    ],
)
def test_what_cannot_take_clusters_is_said_before_any_work(
    files, key, error, message, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    for name in ("t.csv", "sub/t.csv"):
        Path(name).write_text("name,a\nx,1\n")
    np.save("t.npy", np.eye(3))
    with pytest.raises(error, match=message):
        check_write_back(files, key)


@pytest.mark.parametrize("kind", ["h5ad", "h5mu"])
def test_cells_get_clusters_certainty_and_embedding(kind, tmp_path, capsys):
    anndata = pytest.importorskip("anndata", reason="anndata is not installed")
    mudata = pytest.importorskip("mudata", reason="mudata is not installed")
    rng = np.random.default_rng(0)
    group = np.arange(60) % 2
    cells = anndata.AnnData(
        (6.0 * group[:, None] + rng.normal(size=(60, 4))).astype("float32"),
        obs=pd.DataFrame(
            {"batch": ["a", "b"] * 30}, index=[f"c{i}" for i in range(60)]
        ),
    )
    source, out = tmp_path / f"cells.{kind}", tmp_path / "run"
    if kind == "h5mu":
        both = {"rna": cells, "protein": cells[::-1].copy()}
        both["protein"].var_names = [f"protein {i}" for i in range(4)]
        with warnings.catch_warnings(action="ignore"):  # mudata's own, of its future
            cells = mudata.MuData(both)
    getattr(cells, f"write_{kind}")(source)
    before = source.read_bytes()
    run("fit", source, "-k", 2, "-o", out, "--write-back", "groups")
    copy = out / f"cells-groups.{kind}"
    assert str(copy) in capsys.readouterr().out
    assert source.read_bytes() == before
    read = anndata.read_h5ad if kind == "h5ad" else mudata.read_h5mu
    again = read(copy)
    labels = np.load(out / "labels.npy")
    assert again.obs["groups"].cat.codes.tolist() == labels.tolist()
    assert again.obs["groups_certainty"].between(0, 1).all()
    assert again.obs_names.tolist() == cells.obs_names.tolist()
    assert list(again.obs)[-2:] == ["groups", "groups_certainty"]
    np.testing.assert_allclose(
        again.obsm["X_groups"], np.load(out / "embedding.npy"), rtol=1e-6
    )
    # A second fit in the same place may replace the first, copy and all.
    run("fit", source, "-k", 2, "-o", out, "--force")


def test_new_rows_are_written_back_too(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    values = 6.0 * (np.arange(40) % 2)[:, None] + rng.normal(size=(40, 3))
    pd.DataFrame(values, columns=list("xyz")).to_csv("t.csv", index=False)
    run("fit", "t.csv", "-k", 2, "-o", "run", "--method", "AnchorSpectral")
    run("predict", "run", "t.csv", "-o", "new", "--write-back", "group")
    found = pd.read_csv(Path("new") / copy_name(Path("t.csv"), "group"))["group"]
    assert found.tolist() == np.load("run/labels.npy").tolist()
