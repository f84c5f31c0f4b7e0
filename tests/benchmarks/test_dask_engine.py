import json

import pytest

pytestmark = pytest.mark.unchecked  # what the passes cost is counted


@pytest.mark.slow
@pytest.mark.parametrize("what", ["ratio", "disk"])
def test_quick_runs_measure_every_pass(run, tmp_path, what):
    pytest.importorskip("distributed", reason="Dask is not installed")
    out = tmp_path / "out.json"
    run("dask_engine", what, "--quick", "--folder", tmp_path, "--out", out)
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["machine"]["cores"] >= 1
    rounds = [p for p in found["passes"] if p["pass"] == "Round 1"]
    assert rounds[0]["bytes"] > 0 and rounds[0]["seconds"] > 0
    if what == "ratio":
        assert found["ari"] >= 0.999
    else:
        assert found["workers_restarted"] is False
        assert [p.name for p in tmp_path.iterdir()] == ["out.json"]
