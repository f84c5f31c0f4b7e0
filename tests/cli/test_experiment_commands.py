"""The commands of the experiments, on a small file."""

import json

import numpy as np
import pytest

from manyview.cli import main
from manyview.datasets import make_views

SCORES = ("ACC", "NMI", "Purity", "F-score", "Precision", "Recall", "ARI")


@pytest.fixture
def toy(tmp_path):
    data = make_views(90, (4, 5), 3, random_state=0)
    path = tmp_path / "toy.npz"
    views = {f"view{v}": a for v, a in enumerate(data.arrays)}
    np.savez(path, labels=data.labels, **views)
    return path


@pytest.mark.usefixtures("tasks_here")
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


@pytest.fixture
def instead_of_fits(monkeypatch):
    """Records as if every run had ended well; none is started."""
    started = []

    def execute(runs, results, limits):
        started.extend(runs)
        costs = {"wall_s": 2.0, "cpu_s": 1.0, "peak_bytes": 10**8, "start_bytes": 10**7}
        scores = dict.fromkeys(SCORES, 0.5)
        sizes = {"rows": 90, "n_features": [4, 5]}
        done = {"status": "ok", "scores": scores, **costs, **sizes}
        return [run.describe() | done for run in runs]

    monkeypatch.setattr("manyview.experiments.execute.execute", execute)
    return started


@pytest.mark.parametrize(
    ("command", "options", "title", "n_runs"),
    [
        ("ablation", ["--seeds", "1", "--order", "file"], "Ablation", 2),
        ("sensitivity", ["--seed", "3"], "Sensitivity", 85),
        ("process", [], "Learning process", 1),
    ],
)
def test_commands_run_what_their_experiment_asks_for(
    instead_of_fits, toy, tmp_path, capsys, command, options, title, n_runs
):
    out = tmp_path / "out"
    assert main([command, str(toy), "--out", str(out), *options]) == 0
    assert len(instead_of_fits) >= n_runs
    assert {run.data.name for run in instead_of_fits} == {"toy"}
    assert f"<h1>{title}: toy</h1>" in (out / "index.html").read_text("utf-8")
    assert "Page" in capsys.readouterr().out


def test_scaling_runs_on_generated_rows(instead_of_fits, tmp_path, capsys):
    out = tmp_path / "out"
    assert main(["scaling", "--along", "rounds", "--out", str(out)]) == 0
    assert len({run.setting["max_iter"] for run in instead_of_fits}) > 2
    assert "| rounds |" in capsys.readouterr().out
    assert (out / "tables" / "scaling-rounds.tex").exists()


def test_process_says_which_run_failed(toy, tmp_path, monkeypatch, capsys):
    def fail(runs, results, limits):
        return [r.describe() | {"status": "failed", "error": "no room"} for r in runs]

    monkeypatch.setattr("manyview.experiments.execute.execute", fail)
    assert main(["process", str(toy), "--out", str(tmp_path / "out")]) == 2
    said = capsys.readouterr().err
    assert "Not one run ended well" in said and "failed on toy: no room" in said


def test_reproduce_hands_everything_on(toy, tmp_path, monkeypatch, capsys):
    asked = {}

    def instead(sets, folder, **options):
        asked.update(options, sets=[s.name for s in sets], folder=folder)
        return folder / "index.html"

    monkeypatch.setattr("manyview.experiments.reproduce.reproduce", instead)
    out = tmp_path / "out"
    call = ["reproduce", "--data", str(toy), "--methods", "opmc", "--seeds", "2"]
    assert main([*call, "--order", "sorted", "--no-scale", "--out", str(out)]) == 0
    assert asked["sets"] == ["toy"] and asked["folder"] == out
    assert asked["methods"] == ["opmc"] and asked["orders"] == ("sorted",)
    assert asked["n_seeds"] == 2 and asked["scale"] is False
    assert "index.html" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--methods", "OPCM"], "Did you mean OPMC"),
        (["--order", "backwards"], "choose one of 'file', 'sorted', 'shuffled'"),
        (["--memory-limit", "much"], "is no size"),
    ],
)
def test_bad_options_end_with_a_sentence(toy, tmp_path, capsys, options, sentence):
    call = ["compare", str(toy), "--out", str(tmp_path / "out"), *options]
    assert main(call) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (["process", "--method", "ConcatKMeans"], "ConcatKMeans has no rounds to draw"),
        (["process", "--method", "S2MVT"], "Did you mean S2MVTC"),
        (["process", "--order", "file,shuffled"], "'file,shuffled' is not one of"),
        (["sensitivity", "--order", "all"], "'all' is not one of"),
    ],
)
def test_what_cannot_be_drawn_is_refused(toy, tmp_path, capsys, call, sentence):
    assert main([*call, str(toy), "--out", str(tmp_path / "out")]) == 2
    assert sentence in capsys.readouterr().err


@pytest.mark.usefixtures("tasks_here")
def test_two_files_of_one_name_are_two_data_sets(tmp_path, capsys):
    out, files = tmp_path / "out", []
    for seed, folder in enumerate("ab"):
        data = make_views(60, (4,), 3, view_quality=0.4, random_state=seed)
        files.append(tmp_path / folder / "toy.npz")
        files[-1].parent.mkdir()
        np.savez(files[-1], view0=data.arrays[0], labels=data.labels)
    call = ["compare", *map(str, files), "--methods", "ConcatKMeans", "--seeds", "1"]
    assert main([*call, "--order", "shuffled", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "1 seeds" in printed and "2 seeds" not in printed
    for folder in "ab":
        assert f"-{folder}-toy.npz, rows shuffled" in printed
    assert len(list((out / "tables").glob("*.csv"))) == 2


@pytest.mark.usefixtures("tasks_here")
def test_what_is_named_twice_is_counted_once(toy, tmp_path, capsys):
    call = ["compare", str(toy), str(toy), "--methods", "OPMC, opmc", "--seeds", "1"]
    out = str(tmp_path / "out")
    assert main([*call, "--order", "shuffled,shuffled", "--out", out]) == 0
    printed = capsys.readouterr().out
    assert "toy, rows shuffled, 1 seeds" in printed
    assert "± 0" not in printed


def test_a_name_that_is_no_data_set_gets_the_nearest(tmp_path, capsys):
    assert main(["compare", "nutrimuse", "--out", str(tmp_path / "out")]) == 2
    assert "Did you mean nutrimouse" in capsys.readouterr().err


def test_stopped_half_way_it_says_where_the_runs_are(
    toy, tmp_path, monkeypatch, capsys
):
    out = tmp_path / "out"

    def stop(runs, results, limits):
        results.append({"key": "a run that has ended"})
        raise KeyboardInterrupt

    monkeypatch.setattr("manyview.experiments.execute.execute", stop)
    assert main(["compare", str(toy), "--methods", "OPMC", "--out", str(out)]) == 130
    assert f"Stopped. Kept: {out / 'results.jsonl'}." in capsys.readouterr().err


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
    assert "choose one of 'rows', 'anchors'" in capsys.readouterr().err


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
