import json
from contextlib import nullcontext

import pytest


@pytest.mark.slow
def test_a_quick_run_compares_workers_with_the_local_engine(
    run, script, workers, tmp_path, monkeypatch
):
    there = nullcontext(workers)
    monkeypatch.setattr(script("dask_gpu"), "cluster", lambda *args: there)
    out = tmp_path / "out.json"
    options = ["--quick", "--device", "cpu", "--methods", "AnchorSpectral"]
    run("dask_gpu", *options, "--out", out)
    (found,) = json.loads(out.read_text(encoding="utf-8"))["runs"]
    assert found["ARI"] >= 0.999 and found["ratio"] > 0
    passes = {p["pass"] for p in found["passes"]}
    assert {"Surveying the views", "Clustering"} <= passes
