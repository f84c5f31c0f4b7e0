import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "order_rule.py"


@pytest.mark.slow
def test_the_quick_run_finds_equal_labels_in_every_line(tmp_path):
    pytest.importorskip("distributed", reason="Dask is not installed")
    page = tmp_path / "order_rule.md"
    command = [sys.executable, "-W", "ignore", SCRIPT, "--quick", "--dask"]
    subprocess.run([*command, "--out", page], check=True)
    lines = page.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| small")]
    assert len(rows) == 4
    for row in rows:
        assert "| equal | equal |" in row
        limited, filed, shuffled = (cell.strip() for cell in row.split("|")[-4:-1])
        assert float(limited) >= 0.999
        for cell in (filed, shuffled):
            assert cell == "equal" or float(cell.removeprefix("ARI ")) >= 0.999
