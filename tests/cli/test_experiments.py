"""The commands of the experiments, on a small file."""

import json

import numpy as np
import pytest

from manyview.cli import main
from manyview.datasets import make_views


@pytest.fixture
def toy(tmp_path):
    data = make_views(90, (4, 5), 3, random_state=0)
    path = tmp_path / "toy.npz"
    views = {f"view{v}": a for v, a in enumerate(data.arrays)}
    np.savez(path, labels=data.labels, **views)
    return path


def test_compare_prints_and_writes_its_tables(toy, tmp_path, capsys):
    out = tmp_path / "out"
    call = ["compare", str(toy), "--methods", "concatkmeans", "--seeds", "1"]
    assert main([*call, "--order", "shuffled", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "toy, rows shuffled, 1 seeds" in printed
    assert "| ConcatKMeans | **1.000** |" in printed
    assert (out / "tables" / "compare-toy-shuffled.tex").exists()
    assert "<h1>Results: toy</h1>" in (out / "index.html").read_text("utf-8")
    assert len((out / "results.jsonl").read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--methods", "OPCM"], "Did you mean OPMC"),
        (["--order", "backwards"], "choose from file, sorted, shuffled or all"),
        (["--memory-limit", "much"], "is no size"),
    ],
)
def test_bad_options_end_with_a_sentence(toy, tmp_path, capsys, options, sentence):
    call = ["compare", str(toy), "--out", str(tmp_path / "out"), *options]
    assert main(call) == 2
    assert sentence in capsys.readouterr().err


def test_a_missing_file_is_named(tmp_path, capsys):
    assert main(["ablation", "nowhere.npz", "--out", str(tmp_path)]) == 2
    assert "nowhere.npz" in capsys.readouterr().err


def test_reproduce_without_any_data_says_where_it_looks(monkeypatch, tmp_path, capsys):
    monkeypatch.delenv("MANYVIEW_DATA", raising=False)
    assert main(["reproduce", "--out", str(tmp_path / "out")]) == 2
    assert "Set MANYVIEW_DATA" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_an_unknown_size_is_refused(tmp_path, capsys):
    assert main(["scaling", "--along", "columns", "--out", str(tmp_path)]) == 2
    assert "choose one of rows, anchors" in capsys.readouterr().err


def test_audit_says_its_sentence(toy, capsys):
    assert main(["audit", str(toy), "--method", "ConcatKMeans"]) == 0
    printed = capsys.readouterr().out
    assert "| row index alone |" in printed
    assert "ConcatKMeans hardly depends on the row order of toy" in printed


def test_audit_as_json_without_labels(toy, capsys):
    call = ["audit", str(toy), "--labels", "none", "-k", "3", "--json"]
    assert main([*call, "--method", "ConcatKMeans"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["trustworthy"] is None
    assert found["runs"]["as given"] == {"ARI with the run as given": 1.0}


def test_audit_without_labels_wants_a_number(toy, capsys):
    assert main(["audit", str(toy), "--labels", "none"]) == 2
    assert "--clusters" in capsys.readouterr().err
