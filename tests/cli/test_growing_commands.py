"""``manyview grow``, ``refit``, ``drift`` and ``tree``."""

import json
from pathlib import Path

import numpy as np
import pytest

from manyview import load_model
from manyview.files.run_folder import read_meta

FIT = ("-k", 4, "--method", "AnchorSpectral", "-o", "first")


@pytest.fixture
def first(manyview, folder: Path) -> Path:
    """A run on the first 200 rows; the files hold 300."""
    for name in "ab":
        np.save(f"{name}200.npy", np.load(f"{name}.npy")[:200])
        np.save(f"{name}100.npy", np.load(f"{name}.npy")[200:])
    code, _, err = manyview(
        "fit", "a200.npy", "b200.npy", "--view", "a200", "--view", "b200", *FIT
    )
    assert code == 0, err
    return folder / "first"


def test_refit_keeps_numbers_and_writes_a_run(manyview, first: Path) -> None:
    args = ("refit", "first", "a.npy", "b.npy", "-o", "second", "--labels", "y.txt")
    code, out, err = manyview(*args)
    assert (code, err) == (0, "") and "4 kept" in out and "ACC" in out
    labels = np.load("second/labels.npy")
    assert (labels[:200] == np.load("first/labels.npy")).mean() > 0.97
    meta = read_meta("second")
    assert meta["command"] == "refit" and meta["model"] == "first"
    assert [change["kind"] for change in meta["changes"]] == ["kept"] * 4
    assert (load_model("second/model.manyview").labels_ == labels).all()
    assert manyview(*args).code == 2  # there is a run already
    code, _, err = manyview(*args, "--force", "-k", "many")
    assert code == 2 and "--clusters" in err
    assert manyview(*args, "--force", "-k", 5).code == 0
    assert len(set(np.load("second/labels.npy").tolist())) == 5


def test_grow_begins_a_model_and_adds_rows(manyview, folder: Path) -> None:
    pandas = pytest.importorskip("pandas", reason="no pandas")
    table = pandas.DataFrame(np.load("a.npy"), index=[f"row {i}" for i in range(300)])
    table = table.rename(columns="c{}".format)
    table[:200].to_csv("monday.csv"), table[200:].to_csv("tuesday.csv")
    begin = ("grow", "monday.csv", *FIT)
    code, out, err = manyview(*begin)
    assert code == 0 and "200 rows so far; its file holds 200" in out, err
    args = ("grow", "tuesday.csv", "--onto", "first", "-o", "second")
    code, out, err = manyview(*args)
    assert code == 0 and "300 rows so far; its file holds 300" in out, err
    labels = np.load("second/labels.npy")
    assert len(labels) == 300 and "4 kept" in out
    _, *lines = Path("second/labels.csv").read_text().splitlines()
    assert [line.split(",")[0] for line in lines] == list(table.index)
    meta = read_meta("second")
    assert (
        meta["command"] == "grow" and meta["rows_kept"] == meta["data"]["rows"] == 300
    )
    assert manyview("fit", "a.npy", *FIT[:-1], "whole").code == 0
    whole = np.load("whole/labels.npy")
    assert len({*zip(whole.tolist(), labels.tolist(), strict=True)}) == 4
    assert manyview(*args).code == 2  # there is a run already


def test_what_cannot_grow_is_said(manyview, first: Path) -> None:
    code, _, err = manyview(
        "grow", "a100.npy", "b100.npy", "--onto", "first", "-o", "x"
    )
    assert code == 2 and "keeps none of its 200 rows" in err
    code, _, err = manyview("grow", "a.npy", "-o", "x")
    assert code == 2 and "--onto" in err and "neither" in err
    code, _, err = manyview("grow", "a.npy", "-k", 3, "--onto", "first", "-o", "x")
    assert code == 2 and "both" in err
    code, _, err = manyview("grow", "a.npy", "-k", 3, "--method", "FastMICE", "-o", "x")
    assert code == 2 and "FastMICE cannot take rows piece by piece" in err


def test_drift_says_what_no_longer_fits(manyview, first: Path) -> None:
    pytest.importorskip("matplotlib", reason="no matplotlib")
    code, out, err = manyview("drift", "first", "a100.npy", "b100.npy")
    assert (code, err) == (0, "") and "every view fits" in out
    np.save("b100.npy", 3 * np.load("b100.npy"))
    args = ("drift", "first", "a100.npy", "b100.npy", "--json", "--figure", "alarm")
    code, out, _ = manyview(*args)
    found = json.loads(out[: out.rindex("}") + 1])
    assert code == 0 and found["drifted"] and found["views"] == ["b200"]
    assert np.shape(found["p_cells"]) == (4, 2)
    assert Path("alarm.png").is_file() and Path("alarm.svg").is_file()


def test_tree_shows_splits_and_writes_levels(manyview, first: Path) -> None:
    pytest.importorskip("matplotlib", reason="no matplotlib")
    args = ("tree", "first", "a200.npy", "b200.npy")
    more = ("--cut", 2, "--cut", 4, "-o", "levels.csv", "--figure", "tree")
    code, out, err = manyview(*args, *more)
    assert (code, err) == (0, "") and "distance" in out
    head, *lines = Path("levels.csv").read_text().splitlines()
    assert head == "row,leaf,2 clusters,4 clusters" and len(lines) == 200
    cut = [int(line.split(",")[3]) for line in lines]
    assert cut == np.load("first/labels.npy").tolist()
    for ending in ("dendrogram", "icicle"):
        assert Path(f"tree-{ending}.png").is_file()
    code, _, err = manyview(*args, *more)
    assert code == 2 and "levels.csv" in err
    code, _, err = manyview("tree", "first", "a100.npy", "b100.npy")
    assert code == 2 and "200 rows" in err


def test_what_cannot_be_asked_is_said(manyview, first: Path) -> None:
    code, _, err = manyview("drift", "first", "a100.npy")
    assert code == 2 and "view" in err
    code, _, err = manyview("drift", "first", "a100.npy", "b100.npy", "--rate", 0)
    assert code == 2 and "rate" in err
    args = ("a200.npy", "b200.npy", "-k", 3, "--method", "FastMICE", "-o", "other")
    assert manyview("fit", *args).code == 0
    for command in (("drift",), ("tree",), ("refit", "-o", "new")):
        code, _, err = manyview(*command, "other", "a.npy", "b.npy")
        assert code == 2 and f"has no {command[0]}" in err
