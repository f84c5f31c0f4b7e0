"""Line and branch coverage of ``src/`` by the test suite."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from .record import ROOT, Part, timed

WANTED = 95.0
WITHOUT_SLOW = (
    "Without the tests marked slow: the whole suite reaches at least as much."
)


def measure(*, slow: bool) -> Part:
    """Run the suite, its slow tests too where asked, subprocesses included."""
    part = Part("coverage")
    if not slow:
        part.notes.append(WITHOUT_SLOW)
    with timed(part), tempfile.TemporaryDirectory() as name:
        data = Path(name) / ".coverage"
        env = os.environ | {
            "COVERAGE_FILE": str(data),
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        tests = [*("-m", "pytest", "-q", "-n", "2", "--dist", "loadscope")]
        chosen = [] if slow else ["-m", "not slow"]
        cover = ["--cov", "--cov-report=", *chosen, "tests"]
        run = subprocess.run([sys.executable, *tests, *cover], cwd=ROOT, env=env)
        if run.returncode != 0:
            part.losses.append("the test suite failed")
        out = Path(name) / "coverage.json"
        report = [sys.executable, "-m", "coverage", "json", "-q", "-o", str(out)]
        subprocess.run(report, cwd=ROOT, env=env, check=True)
        _add_rows(part, json.loads(out.read_text()))
    return part


def _add_rows(part: Part, found: dict) -> None:
    """One row per file below the goal, and the total."""
    for path, about in sorted(found["files"].items()):
        row = _row(path.removeprefix("src/"), about["summary"])
        if min(_percent(row["lines"]), _percent(row["branches"])) < WANTED:
            part.rows.append(row)
    total = _row("all of src", found["totals"])
    part.rows.append(total)
    part.notes.append("Files below 95 % are listed; the last row is the total.")
    for what in ("lines", "branches"):
        if _percent(total[what]) < WANTED:
            part.losses.append(f"{total[what]} of {what} is below {WANTED:g} %")


def _row(name: str, summary: dict) -> dict[str, str]:
    lines = summary["covered_lines"], summary["num_statements"]
    branches = summary["covered_branches"], summary["num_branches"]
    return {"file": name, "lines": _share(*lines), "branches": _share(*branches)}


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "100.0 %"


def _percent(text: str) -> float:
    return float(text.removesuffix(" %"))
