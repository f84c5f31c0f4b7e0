import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "order_rule.py"


@pytest.mark.slow
def test_the_quick_run_finds_equal_labels_in_every_line(tmp_path):
    page = tmp_path / "order_rule.md"
    command = [sys.executable, "-W", "ignore", SCRIPT, "--quick", "--out", page]
    subprocess.run(command, check=True)
    lines = page.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| small")]
    assert len(rows) == 4
    for row in rows:
        assert "| equal | equal |" in row
        assert float(row.split("|")[-2]) >= 0.999
