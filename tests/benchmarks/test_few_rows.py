import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "few_rows.py"


def test_the_quick_run_leaves_out_every_step(tmp_path):
    page = tmp_path / "few.md"
    command = [sys.executable, "-W", "ignore", SCRIPT, "--quick", "--seeds", "1"]
    subprocess.run([*command, "--out", page], check=True)
    lines = page.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| small")]
    assert len(rows) == 3  # of ACC, NMI and ARI
    for row in rows:
        whole, *others = (float(cell) for cell in row.split("|")[2:-1])
        assert len(others) == 4
        assert others[-1] < whole  # communities alone
