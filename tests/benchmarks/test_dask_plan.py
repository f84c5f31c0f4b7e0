import json

import pytest

pytestmark = pytest.mark.unchecked  # what the passes cost is counted


@pytest.mark.slow
@pytest.mark.parametrize("on_disk", [False, True])
def test_a_quick_run_puts_plan_and_fit_side_by_side(run, tmp_path, on_disk):
    pytest.importorskip("distributed", reason="Dask is not installed")
    out = tmp_path / "out.json"
    where = ["--folder", tmp_path, "--limit", "1GB"] if on_disk else []
    run("dask_plan", "--quick", "--out", out, *where)
    (found,) = json.loads(out.read_text(encoding="utf-8"))["results"]
    assert found["limit"] == ("1GB" if on_disk else "none")
    assert 0 < found["of it by the fit"] < found["GB in a worker"]
    # What goes through sockets beside the sums does not grow with the rows.
    assert found["planned traffic GB"] / 2 < found["traffic GB"]
    assert [p.name for p in tmp_path.iterdir()] == ["out.json"]
