import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "no_clusters.py"


@pytest.mark.slow
def test_rows_without_clusters_get_no_number_in_the_quick_run(tmp_path):
    page = tmp_path / "none.md"
    command = [sys.executable, "-W", "ignore", SCRIPT, "--quick", "--seeds", "2"]
    subprocess.run([*command, "--out", page], check=True)
    text = page.read_text(encoding="utf-8")
    assert "| normal | 2 of 2 |" in text and "| line | 2 of 2 |" in text
