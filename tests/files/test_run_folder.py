import csv
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from manyview.errors import FileError, InputError
from manyview.files.run_folder import (
    Run,
    check_target,
    read_meta,
    writing,
)


def write_run(out: Path, run: Run, *, force: bool = False) -> Path:
    with writing(out, run, force=force):
        return out


@pytest.fixture
def run() -> Run:
    return Run(
        labels=np.array([2, 0, 2, 1]),
        method="S2MVTC",
        settings={"n_clusters": 3, "anchors": [np.zeros((5, 2))], "lam": np.float32(1)},
        data={"rows": 4},
        timings={"fitting": 0.5},
        embedding=np.arange(8.0).reshape(4, 2),
        row_names=["a", "b,c", "ü", "d"],
        scores={"ACC": 1.0},
    )


def test_what_was_written_can_be_read(run: Run, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "deep" / "run", run)
    np.testing.assert_array_equal(np.load(folder / "labels.npy"), run.labels)
    np.testing.assert_array_equal(np.load(folder / "embedding.npy"), run.embedding)
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.reader(file))
    assert table == [
        ["row", "cluster"], ["a", "2"], ["b,c", "0"], ["ü", "2"], ["d", "1"],
    ]  # fmt: skip
    meta = read_meta(folder)
    assert meta["method"] == "S2MVTC"
    assert meta["settings"]["n_clusters"] == 3
    assert meta["settings"]["lam"] == 1.0
    assert meta["settings"]["anchors"] == ["array (5, 2) of float64"]
    assert meta["cluster_sizes"] == [1, 1, 2]  # by cluster
    assert meta["scores"] == {"ACC": 1.0}
    assert meta["timings"] == {"fitting": 0.5}
    assert meta["versions"]["numpy"] == np.__version__
    assert meta["files"] == ["embedding.npy", "labels.csv", "labels.npy"]


def test_rows_without_names_are_counted(run: Run, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", replace(run, row_names=None, embedding=None))
    lines = (folder / "labels.csv").read_text().splitlines()
    assert lines == ["row,cluster", "0,2", "1,0", "2,2", "3,1"]
    assert not (folder / "embedding.npy").exists()


def test_a_failure_leaves_nothing(run: Run, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), writing(tmp_path / "run", run):
        raise RuntimeError
    with pytest.raises(InputError, match="2 row names for 4 rows"):
        write_run(tmp_path / "run", replace(run, row_names=["a", "b"]))
    assert list(tmp_path.iterdir()) == []


def test_a_failure_keeps_the_earlier_run(run: Run, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", run)
    later = replace(run, method="OPMC")
    with pytest.raises(RuntimeError), writing(folder, later, force=True):
        raise RuntimeError
    assert read_meta(folder)["method"] == "S2MVTC"


def test_an_earlier_run_is_replaced_only_by_force(run: Run, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", run)
    with pytest.raises(FileError, match="--force"):
        write_run(folder, run)
    write_run(folder, replace(run, method="OPMC", embedding=None), force=True)
    assert read_meta(folder)["method"] == "OPMC"
    assert not (folder / "embedding.npy").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_files_of_others_are_never_replaced(run: Run, tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", run)
    (folder / "thesis.txt").write_text("ten years of work")
    with pytest.raises(FileError, match=r"thesis\.txt"):
        write_run(folder, run, force=True)
    strange = tmp_path / "home"
    strange.mkdir()
    (strange / "thesis.txt").write_text("ten years of work")
    with pytest.raises(FileError, match="holds no earlier run"):
        write_run(strange, run, force=True)
    assert (strange / "thesis.txt").exists() and (folder / "thesis.txt").exists()


def test_an_empty_folder_is_used(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert (write_run(tmp_path / "run", run) / "labels.npy").exists()


def test_more_files_may_be_added(run: Run, tmp_path: Path) -> None:
    with writing(tmp_path / "run", run) as folder:
        (folder / "scores.csv").write_text("x")
    assert "scores.csv" in read_meta(tmp_path / "run")["files"]
    write_run(tmp_path / "run", run, force=True)


def test_places_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="is a file, not a folder"):
        check_target(tmp_path / "file")
    with pytest.raises(FileError, match="not a folder you may write to"):
        check_target(tmp_path / "file" / "run")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FileError, match="current folder"):
        check_target(".")


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(FileError, match="not a folder you may write to"):
        check_target(tmp_path / "run")


@pytest.mark.parametrize("text", ["", "[]", '{"format": 99}', "{"])
def test_a_damaged_record(text: str, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(FileError, match=r"run\.json"):
        read_meta(tmp_path)
