"""``manyview predict`` and ``manyview explain``."""

import json
from pathlib import Path

import numpy as np
import pytest

from manyview import load_model
from manyview.files.run_folder import read_meta

FIT = ("fit", "a.npy", "b.npy", "-k", 3, "--method", "AnchorSpectral", "-o", "run")


@pytest.fixture
def run(manyview, folder: Path) -> Path:
    code, out, err = manyview(*FIT)
    assert code == 0, err
    assert "model" in out
    return folder / "run"


def test_fit_leaves_its_model(run: Path) -> None:
    model = load_model(run / "model.manyview")
    assert np.array_equal(model.labels_, np.load(run / "labels.npy"))
    assert "model.manyview" in read_meta(run)["files"]


@pytest.mark.parametrize("model", ["run", "run/model.manyview"])
def test_predict_places_rows(manyview, run: Path, model: str) -> None:
    code, out, err = manyview(
        "predict", model, "a.npy", "b.npy", "-o", "new", "--labels", "y.txt"
    )
    assert (code, err) == (0, "")
    assert np.array_equal(np.load("new/labels.npy"), np.load("run/labels.npy"))
    meta = read_meta("new")
    assert meta["command"] == "predict" and meta["model"] == model
    assert f"{meta['scores']['ACC']:.4f}" in out


def test_predict_keeps_within_a_limit(manyview, run: Path) -> None:
    args = ("predict", "run", "a.npy", "b.npy", "-o", "new", "--memory-limit")
    code, _, err = manyview(*args, "10MB")
    assert code == 2 and "memory_limit='10MB' is too little" in err
    assert manyview(*args, "2GB").code == 0
    assert read_meta("new")["settings"]["memory_limit"] == "2GB"
    assert np.array_equal(np.load("new/labels.npy"), np.load("run/labels.npy"))


def test_predict_refuses_what_it_cannot_do(manyview, run: Path) -> None:
    code, _, err = manyview("predict", "run", "a.npy", "-o", "new")
    assert code == 2 and "features" in err
    code, _, err = manyview("predict", "a.npy", "b.npy", "-o", "new")
    assert code == 2 and "no model file" in err
    args = ("fit", "a.npy", "b.npy", "-k", 3, "--method", "FastMICE", "-o", "other")
    assert manyview(*args).code == 0
    code, _, err = manyview("predict", "other", "a.npy", "b.npy", "-o", "new")
    assert code == 2 and "cannot place new rows" in err
    assert not Path("new").exists()


def test_explain_shows_and_writes_tables(manyview, run: Path) -> None:
    code, out, err = manyview(
        "explain", "run", "a.npy", "b.npy", "--no-leave-out", "-o", "why"
    )
    assert (code, err) == (0, "")
    assert "influence" in out and "feature" in out
    assert {p.stem for p in Path("why").iterdir()} == {
        "views", "agreement", "clusters", "features",
    }  # fmt: skip


def test_explain_prints_json(manyview, run: Path) -> None:
    code, out, _ = manyview("explain", "run", "a.npy", "b.npy", "--json")
    found = json.loads(out)
    assert code == 0 and found["views"] == ["a", "b"]
    assert sum(found["view_influence"]) == pytest.approx(1.0)
    assert len(found["change_without_view"]) == 2
    assert sum(found["sizes"]) == 300 and len(found["features"]) == 15


def test_outliers_are_named_and_written(manyview, run: Path) -> None:
    strange = np.load("a.npy")
    strange[7] += 100.0
    np.save("a.npy", strange)
    args = ("outliers", "run", "a.npy", "b.npy", "--share", 0.01, "-o", "strange.csv")
    code, out, err = manyview(*args)
    assert (code, err) == (0, "") and "far from other rows" in out
    head, *lines = Path("strange.csv").read_text().splitlines()
    assert head == "row,cluster,score,a,b" and len(lines) == 300
    aside = [line.split(",")[0] for line in lines if line.split(",")[1] == "-1"]
    assert "7" in aside and len(aside) <= 3
    code, _, err = manyview(*args)
    assert code == 2 and "strange.csv" in err
    assert manyview(*args, "--force").code == 0
    code, _, err = manyview("outliers", "run", "a.npy", "b.npy", "--share", 0.9)
    assert code == 2 and "share" in err


def test_fill_reaches_the_fit(manyview, folder: Path) -> None:
    holes = np.load("a.npy").astype(float)
    holes[5, 1] = np.nan
    np.save("holes.npy", holes)
    args = ("fit", "holes.npy", "b.npy", *FIT[3:])
    code, _, err = manyview(*args)
    assert code == 2 and "filled" in err
    assert manyview(*args, "--fill", "mean").code == 0


def test_holes_of_new_rows_are_filled_as_in_the_fit(manyview, folder: Path) -> None:
    holes = np.load("a.npy")
    holes[::7, 1] = np.nan
    np.save("holes.npy", holes)
    np.save("few.npy", holes[:30])
    args = ("-k", 4, "--set", "n_init=2", "--set", "n_anchors=50")
    assert manyview("fit", "holes.npy", *args, "--fill", "mean", "-o", "run").code == 0
    assert manyview("predict", "run", "few.npy", "-o", "few").code == 0
    labels = np.load("run/labels.npy")
    np.testing.assert_array_equal(np.load("few/labels.npy"), labels[:30])
    # Asked for again, the means stay those of the fit.
    again = manyview("predict", "run", "few.npy", "-o", "same", "--fill", "mean")
    assert again.code == 0
    np.testing.assert_array_equal(np.load("same/labels.npy"), labels[:30])


def test_a_model_without_means_fills_with_those_of_the_new_rows(
    manyview, folder: Path
) -> None:
    holes = np.load("a.npy")[:30]
    holes[3, 1] = np.nan
    np.save("holes.npy", holes)
    args = ("-k", 4, "--set", "n_init=2", "--set", "n_anchors=50")
    assert manyview("fit", "a.npy", *args, "-o", "run").code == 0
    refused = manyview("predict", "run", "holes.npy", "-o", "new")
    assert refused.code == 2 and "--fill mean" in refused.err
    code, _, err = manyview(
        "predict", "run", "holes.npy", "-o", "new", "--fill", "mean"
    )
    assert code == 0, err
