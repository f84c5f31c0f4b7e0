import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "honest.py"


@pytest.mark.slow
def test_the_quick_benchmark_writes_its_page_and_figures(tmp_path):
    command = [sys.executable, SCRIPT, "--quick", "--out", tmp_path, "--jobs", "2"]
    subprocess.run(command, check=True)
    content = json.loads((tmp_path / "honest.json").read_text(encoding="utf-8"))
    shuffled = {(r["data"], r["method"]): r for r in content["shuffled"]}
    both = ("ConcatKMeans", "ConcatKMeans on our scaling")
    assert set(shuffled) == {("small", name) for name in (*both, "S2MVTC")}
    assert [shuffled["small", m]["preparation"] for m in both] == ["authors", "own"]
    assert {r["method"] for r in content["better"]} == {"ConcatKMeans", "S2MVTC"}
    assert all(r["n_seeds"] == 2 for r in shuffled.values())
    assert shuffled["small", "ConcatKMeans"]["scores"]["ACC"] == [1.0, 1.0]
    assert {r["group"] for r in content["standing"]} == {"tuning half", "all"}
    settings = [r["setting"] for r in content["ordered"]]
    assert {"graph": False, "min_duration": 10} in settings
    page = (tmp_path / "honest.md").read_text(encoding="utf-8")
    assert "small in its true order" in page
    assert "without one part at a time" in page


@pytest.mark.parametrize(
    ("preparation", "names"),
    [
        ("authors", ["BMVC", "KNNLeiden"]),
        ("own", ["BMVC on our scaling"]),
        ("both", ["BMVC", "KNNLeiden", "BMVC on our scaling"]),
    ],
)
def test_named_methods_get_the_preparation_that_is_asked_for(
    preparation, names, monkeypatch
):
    monkeypatch.syspath_prepend(SCRIPT.parent)
    full_plan = importlib.import_module("honest").full_plan
    plan = full_plan(["ORL"], ["BMVC", "KNNLeiden"], 3, preparation)
    assert plan.methods == names
