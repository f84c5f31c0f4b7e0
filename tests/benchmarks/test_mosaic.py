import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "mosaic.py"


@pytest.mark.slow
def test_the_mosaic_of_the_quick_run_is_nearly_as_good_as_all_views(tmp_path):
    page = tmp_path / "mosaic.md"
    command = [sys.executable, "-W", "ignore", SCRIPT, "--quick", "--out", page]
    subprocess.run(command, check=True)
    lines = page.read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith("| generated")]
    whole, mosaic, _ = (float(cell) for cell in row.split("|")[4:-1])
    assert mosaic > 0.9 * whole
