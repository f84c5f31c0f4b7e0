from pathlib import Path
from unittest.mock import ANY

import numpy as np
import pytest

pytest.importorskip("plotly", reason="plotly is not installed")

FIT = ("fit", "a.npy", "b.npy", "-k", 4, "-o", "run", "--set", "n_anchors=60")


@pytest.fixture
def run(manyview, folder: Path) -> Path:
    assert manyview(*FIT).code == 0
    return folder / "run"


def test_the_page_lies_in_the_run(manyview, run: Path) -> None:
    code, out, _ = manyview("report", "run", "--layout", "pca", "--labels", "y.txt")
    text = (run / "report.html").read_text(encoding="utf-8")
    assert code == 0 and str(run / "report.html") in out
    for part in ("chart-views", "chart-influence", "chart-classes", "table-rows"):
        assert f'id="{part}"' in text
    assert "<td>fitting</td>" in text
    # A report does not keep the run from being replaced.
    assert manyview(*FIT, "--force").code == 0


def test_it_may_be_started_anywhere(manyview, run: Path, tmp_path, monkeypatch) -> None:
    """Data, classes and how gaps were filled are found again."""
    holes = np.load("a.npy").astype(float)
    holes[5, 1] = np.nan
    np.save("a.npy", holes)
    known = ("--labels", "y.txt", "--fill", "mean", "--force")
    assert manyview(*FIT, *known).code == 0
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert manyview("report", run, "--layout", "pca") == (0, ANY, "")
    text = (run / "report.html").read_text(encoding="utf-8")
    for part in ("chart-views", "chart-classes", "table-features"):
        assert f'id="{part}"' in text


def test_a_page_is_replaced_on_request_alone(manyview, run: Path) -> None:
    (run / "report.html").write_text("mine")
    code, _, err = manyview("report", "run", "--layout", "pca")
    assert code == 2 and "report.html exists already" in err and "--force" in err
    assert (run / "report.html").read_text() == "mine"
    assert manyview("report", "run", "--layout", "pca", "--force").code == 0
    assert (run / "report.html").read_text(encoding="utf-8") != "mine"


def test_moved_data_is_said_and_can_be_named(manyview, run: Path) -> None:
    Path("a.npy").rename("moved.npy")
    code, _, err = manyview("report", "run", "--layout", "pca", "-o", "bare.html")
    assert code == 0 and "--data" in err
    assert 'id="chart-views"' not in Path("bare.html").read_text(encoding="utf-8")
    found = manyview(
        "report", "run", "--layout", "pca", "--data", "moved.npy", "--data", "b.npy",
        "-o", "full.html",
    )  # fmt: skip
    assert (found.code, found.err) == (0, "")
    assert 'id="chart-views"' in Path("full.html").read_text(encoding="utf-8")


def test_an_audit_fits_the_method_again(manyview, folder: Path) -> None:
    fit = ("fit", "a.npy", "-k", 4, "-o", "run", "--method", "concat-kmeans")
    assert manyview(*fit).code == 0
    assert manyview("report", "run", "--layout", "pca", "--audit").code == 0
    text = Path("run/report.html").read_text(encoding="utf-8")
    assert "white noise in the given order" in text


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["a.npy"], "a.npy is no run: its record run.json"),
        (["run", "--data", "no.npy"], "no.npy"),
        (["run", "--layout", "umap"], "choose one of 'auto', 'tsne', 'pca'"),
        (["run", "--labels", "species"], "No labels named 'species'"),
    ],
)
def test_bad_input_gets_one_sentence(args, message, manyview, run) -> None:
    code, out, err = manyview("report", *args)
    assert (code, out) == (2, "")
    assert message in err
