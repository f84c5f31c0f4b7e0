"""The performance benchmarks still run; what they measure is not looked at."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from manyview.datasets import make_views

FOLDER = Path(__file__).parents[2] / "benchmarks"


def measured_parts(path):
    """What a script has measured, once it is known that nothing is left out."""
    found = json.loads(path.read_text(encoding="utf-8"))
    assert found["machine"]["cores"] >= 1
    assert found["results"]
    assert all(r["error"] is None and r["seconds"] > 0 for r in found["results"])
    return found["results"]


@pytest.mark.slow
@pytest.mark.usefixtures("children_here")
def test_quick_benchmark_of_text_measures_both(run, tmp_path):
    run("text", "--quick", "--out", tmp_path / "found.json")
    ours, other = json.loads((tmp_path / "found.json").read_text("utf-8"))["results"]
    assert ours["method"] == "S2MVTC" and ours["times the data"] > 1.0
    ratio = ours["seconds"] / other["seconds"]
    assert ours["times the other"] == pytest.approx(ratio)


@pytest.mark.slow
@pytest.mark.usefixtures("children_here")
@pytest.mark.parametrize("name", ["single_node", "growth"])
def test_quick_benchmark_measures_every_part(name, run, tmp_path):
    run(name, "--quick", "--out", tmp_path / "found.json")
    for part in measured_parts(tmp_path / "found.json"):
        assert part.get("method") != "direct" or part["ARI with the library"] >= 0.99


@pytest.mark.slow
def test_quick_benchmark_measures_in_a_process_of_its_own(tmp_path):
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    out = tmp_path / "found.json"
    command = [sys.executable, FOLDER / "disk.py", "--quick", "--out", out]
    subprocess.run(command, check=True, env=os.environ | one)
    measured_parts(out)


@pytest.mark.slow
def test_quick_device_benchmark(run, tmp_path):
    pytest.importorskip("torch", reason="torch is not installed")
    out = tmp_path / "found.json"
    run("gpu", "--quick", "--device", "cpu", "--out", out)
    found = json.loads(out.read_text(encoding="utf-8"))
    assert all(r["CPU and tensors"] >= 0.99 for r in found["agreement"])
    assert {r["method"] for r in found["youtube"]} == {"as published", "graph"}


def test_table_goes_between_its_markers(script, tmp_path):
    figures = script("figures")
    page = tmp_path / "page.md"
    page.write_text("a\n<!-- x -->\nold\n<!-- end x -->\nb\n", encoding="utf-8")
    figures.fill(
        "x", figures.table([{"n": 1, "s": 0.12345}, {"n": 2, "s": None}]), page
    )
    text = page.read_text(encoding="utf-8")
    assert "| 1 | 0.123 |\n| 2 | – |" in text
    assert text.startswith("a\n<!-- x -->") and text.endswith("<!-- end x -->\nb\n")
    assert "old" not in text


def test_every_part_of_a_fit_is_timed_and_its_functions_are_given_back(script):
    parts = script("parts")
    places = [p for functions in parts.PARTS.values() for p in functions]
    before = [getattr(place, name) for place, name in places]
    row = parts.measure("small", make_views(100, (4, 5), 3, random_state=0), 3, 1)
    assert [getattr(place, name) for place, name in places] == before
    found = {part: row[part] for part in parts.PARTS}
    assert all(seconds > 0 for seconds in found.values())
    assert sum(found.values()) <= row["all"]
