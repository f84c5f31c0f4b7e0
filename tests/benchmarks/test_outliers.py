import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "outliers.py"


@pytest.mark.slow
def test_planted_rows_are_found_in_the_quick_run(tmp_path):
    page = tmp_path / "outliers.md"
    command = [sys.executable, "-W", "ignore", SCRIPT, "--quick", "--out", page]
    subprocess.run(command, check=True)
    lines = page.read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith("| small")]
    areas = [float(cell.split("±")[0]) for cell in row.split("|")[3:-1]]
    assert len(areas) == 3 and min(areas) >= 0.9
