import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "dask_gpu.py"


@pytest.mark.slow
def test_a_quick_run_compares_workers_with_the_local_engine(tmp_path):
    pytest.importorskip("distributed", reason="Dask is not installed")
    out = tmp_path / "out.json"
    options = ["--quick", "--device", "cpu", "--methods", "AnchorSpectral"]
    subprocess.run([sys.executable, SCRIPT, *options, "--out", str(out)], check=True)
    (run,) = json.loads(out.read_text(encoding="utf-8"))["runs"]
    assert run["ARI"] >= 0.999 and run["ratio"] > 0
    assert {"Surveying the views", "Clustering"} <= {p["pass"] for p in run["passes"]}
