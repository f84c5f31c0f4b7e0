import pytest

from manyview.experiments import reproduce as module
from manyview.experiments.execute import Limits
from manyview.experiments.reproduce import data_table, reproduce


@pytest.mark.slow
@pytest.mark.usefixtures("tasks_here")
def test_one_command_writes_everything_and_resumes(small, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    grids = {"lam-beta": {"lam": (0.1, 1.0), "beta": (0.1, 1.0)}}
    monkeypatch.setattr(module.sensitivity, "SURFACES", grids)
    call = {
        "n_seeds": 1, "methods": ["ConcatKMeans"], "orders": ("file",),
        "limits": Limits(jobs=2), "scale": False,
    }  # fmt: skip
    page = reproduce([small], tmp_path, **call)
    tables = {p.name for p in (tmp_path / "tables").iterdir()}
    assert {"compare-small-file.md", "ablation-small-published.tex"} <= tables
    figures = {p.name for p in (tmp_path / "figures").iterdir()}
    assert figures == {
        f"{stem}.{ending}"
        for stem in ("process-small-file", "sensitivity-small-lam-beta-file")
        for ending in ("png", "svg")
    }
    text = page.read_text(encoding="utf-8")
    assert "sensitivity-small-lam-beta-file.png" in text
    for part in ("Data", "Results", "Ablation", "Sensitivity", "Learning process"):
        assert f"<h2>{part}</h2>" in text
    assert "no run of this part has finished" not in text
    before = (tmp_path / "results.jsonl").read_bytes()
    reproduce([small], tmp_path, **call)
    assert (tmp_path / "results.jsonl").read_bytes() == before


def test_shape_classes_and_order_of_every_set(small):
    table = data_table([small, small])
    cells = [c.text for c in table.rows[0]]
    assert cells[:5] == ["small", "90", "4, 5", "3", "30"]
    assert len(cells) == len(table.columns)
    assert len(table.rows) == 2
