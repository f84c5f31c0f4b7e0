import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mudata", reason="mudata is not installed")
SCRIPT = Path(__file__).parents[2] / "benchmarks" / "cells.py"


@pytest.mark.slow
def test_cells_of_clear_kinds_are_told_apart_in_the_quick_run(tmp_path):
    page = tmp_path / "cells.md"
    command = [sys.executable, "-W", "ignore", SCRIPT, "--quick", "--out", page]
    subprocess.run([*command, "--seeds", "1"], check=True)
    lines = page.read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if "| sc.cluster |" in line]
    assert float(row.split("|")[4].split()[0]) > 0.95
