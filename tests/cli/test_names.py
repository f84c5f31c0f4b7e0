"""Names on the command line: columns, rows and views, and what is recorded of them."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from manyview.files.run_folder import read_meta

METHOD = ("--method", "AnchorSpectral")


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """No child process for every table; the way through it is tested with `load`."""
    monkeypatch.setattr("manyview.datasets.registry.is_trusted", lambda path: True)


def write(path, header, rows):
    with Path(path).open("w", newline="") as file:
        csv.writer(file).writerows([header, *rows])


@pytest.fixture
def motion(folder, three_views):
    """Two tables of named rows; the first has a column y that is no label."""
    views, labels = three_views
    names = [f"r{i}" for i in range(300)]
    first = zip(names, *views[0][:, :3].T, [f"c{k}" for k in labels], strict=True)
    write("acc.csv", ("id", "x", "y", "z", "kind"), first)
    write("gyro.csv", ("id", "u", "v"), zip(names, *views[1][:, :2].T, strict=True))
    return folder


FIT = ("fit", "acc.csv", "gyro.csv", "-k", 3, "--labels", "kind", *METHOD, "-o", "run")


def test_a_column_named_y_is_clustered(manyview, folder, three_views) -> None:
    write("acc.csv", ("x", "y", "z"), three_views[0][0][:, :3].tolist())
    code, _, err = manyview("fit", "acc.csv", "-k", 3, *METHOD, "-o", "run")
    assert code == 0
    assert "Warning: acc.csv has a column named y, which was taken as a" in err
    meta = read_meta("run")
    assert meta["data"]["views"][0]["features"] == 3 and meta["scores"] is None
    told = manyview("fit", "acc.csv", "-k", 3, "--labels", "none", *METHOD, "-o", "b")
    assert told.code == 0 and "Warning" not in told.err


def test_a_run_knows_which_column_holds_the_classes(manyview, motion) -> None:
    code, _, err = manyview(*FIT)
    assert code == 0 and "Warning" not in err, "the column was named"
    assert read_meta("run")["data"]["labels"] == "kind"
    again = manyview("explain", "run", "acc.csv", "gyro.csv", "--no-leave-out")
    assert again.code == 0 and "Warning" not in again.err
    assert "kind" not in again.out
    pytest.importorskip("plotly")
    assert manyview("report", "run", "--layout", "pca").code == 0


@pytest.mark.parametrize("command", ["choose-k", "plan"])
def test_known_classes_can_be_left_out(manyview, motion, command) -> None:
    more = ("--to", 4) if command == "choose-k" else ()
    code, _, err = manyview(command, "acc.csv", "gyro.csv", "--labels", "kind", *more)
    assert code == 0 and "Warning" not in err
    code, _, err = manyview(command, "acc.csv", "gyro.csv", *more)
    assert code != 0 and "not numeric: kind" in err and "--labels" in err


def test_files_in_another_order_are_the_same_views(manyview, motion) -> None:
    assert manyview(*FIT).code == 0
    code, *_ = manyview(
        "predict", "run", "gyro.csv", "acc.csv", "--labels", "kind", "-o", "new"
    )
    assert code == 0
    assert np.array_equal(np.load("new/labels.npy"), np.load("run/labels.npy"))


def test_other_columns_are_refused(manyview, motion) -> None:
    assert manyview(*FIT).code == 0
    text = Path("gyro.csv").read_text()
    Path("gyro.csv").write_text(text.replace("id,u,v", "id,v,w"))
    code, _, err = manyview(
        "predict", "run", "acc.csv", "gyro.csv", "--labels", "kind", "-o", "new"
    )
    assert code != 0 and "Missing: u. Not known: w." in err


def test_rows_are_matched_refused_and_joined(manyview, motion) -> None:
    head, *rows = Path("gyro.csv").read_text().splitlines()
    Path("gyro.csv").write_text("\n".join([head, *rows[::-1]]))
    code, _, err = manyview(*FIT)
    assert code == 0 and "matched by name, in the order of 'acc' (300 rows)" in err
    Path("gyro.csv").write_text("\n".join([head, *rows[:250], "other,1,2"]))
    code, _, err = manyview(*FIT, "--force")
    assert code != 0 and "250 of 301 names (83.1%)" in err and "--join inner" in err
    assert manyview(*FIT, "--join", "inner", "--force").code == 0
    assert len(np.load("run/labels.npy")) == 250
    assert read_meta("run")["data"]["join"] == "inner"
    again = manyview("explain", "run", "acc.csv", "gyro.csv", "--no-leave-out")
    assert again.code == 0, "the run says how its rows were joined"
    seen = manyview(
        "info", "acc.csv", "gyro.csv", "--labels", "kind", "--join", "inner"
    )
    assert "250 rows" in seen.out
    wrong = manyview(*FIT, "--join", "left", "-o", "other")
    assert wrong.code != 0 and "join='left' is unknown" in wrong.err


def test_a_folder_is_joined_when_it_is_converted(manyview, folder) -> None:
    Path("parts").mkdir()
    write("parts/a.csv", ("id", "x"), [("p", 1), ("q", 2)])
    write("parts/b.csv", ("id", "u"), [("q", 3), ("r", 4)])
    assert manyview("convert", "parts", "both").code != 0
    assert manyview("convert", "parts", "both", "--join", "outer").code == 0
    seen = manyview("info", "both.manyview-data")
    assert "3 rows" in seen.out and "missing for 1 rows" in seen.out


def test_labels_of_another_file_follow_the_names(manyview, motion, three_views) -> None:
    labels = three_views[1]
    named = [(f"r{i}", int(k)) for i, k in enumerate(labels)]
    write("classes.csv", ("row", "label"), named[::-1])
    one = ("info", "gyro.csv", "--json", "--labels")
    found = json.loads(manyview(*one, "classes.csv").out)
    assert found["label_changes"] == int((np.diff(labels) != 0).sum())
    write("classes.csv", ("row", "label"), [("strange", 1), *named[1:]])
    assert "name their rows differently" in manyview(*one, "classes.csv").err


def test_the_certainty_of_a_choice_is_printed_and_recorded(manyview, folder) -> None:
    rng = np.random.default_rng(0)
    centres = np.repeat([[0.0, 0.0], [7.0, 0.0], [10.0, 10.0]], 100, axis=0)
    for name in "pq":
        np.save(f"{name}.npy", centres + rng.normal(size=centres.shape))
    code, out, err = manyview("fit", "p.npy", "q.npy", "-k", "auto", *METHOD, "-o", "r")
    assert code == 0
    assert "Chosen: 2 or 3 clusters (tie)" in out and "2 or 3 clusters" in err
    choice = read_meta("r")["choice"]
    assert choice["certainty"] == "tie" and choice["edge"] is None
    assert {choice["n_clusters"], *choice["tied"]} == {2, 3}
    code, out, _ = manyview("choose-k", "p.npy", "q.npy", "--to", 3, "--json")
    found = json.loads(out)
    assert found["certainty"] in ("tie", "likely") and "sentence" in found
    assert found["tied"] or found["edge"]


def test_the_certainty_of_rows_is_recorded(manyview, folder) -> None:
    fit = ("fit", "a.npy", "b.npy", "-k", 3, *METHOD, "-o", "run")
    assert manyview(*fit).code == 0
    with Path("run/labels.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["row", "cluster", "certainty"]
    sure = [float(row["certainty"]) for row in rows]
    assert read_meta("run")["certainty"]["least"] == pytest.approx(min(sure), abs=1e-4)
    assert manyview("score", "y.txt", "run").code == 0


def test_rows_outside_are_said_and_recorded(manyview, folder) -> None:
    fit = ("fit", "a.npy", "b.npy", "-k", 3, *METHOD, "-o", "run")
    assert manyview(*fit).code == 0
    far = np.load("b.npy")[:20]
    far[:5] *= 1e4
    np.save("far.npy", far)
    np.save("near.npy", np.load("a.npy")[:20])
    code, _, err = manyview("predict", "run", "near.npy", "far.npy", "-o", "new")
    assert code == 0 and "5 of 20 rows lie outside all that the model has seen" in err
    meta = read_meta("new")
    assert meta["rows_outside"] == 5 and meta["outside_by_view"] == {"a": 0, "b": 5}
    with Path("new/labels.csv").open() as file:
        sure = [float(row["certainty"]) for row in csv.DictReader(file)]
    assert max(sure[:5]) < 0.01 < max(sure[5:])
    assert meta["certainty"]["least"] < 0.01
