from contextlib import nullcontext

import pytest


@pytest.mark.slow
def test_the_quick_run_finds_equal_labels_in_every_line(
    run, script, workers, tmp_path, monkeypatch
):
    there = nullcontext(workers)
    monkeypatch.setattr(script("order_rule"), "cluster", lambda memory: there)
    page = tmp_path / "order_rule.md"
    run("order_rule", "--quick", "--dask", "--out", page)
    lines = page.read_text(encoding="utf-8").splitlines()
    rows = [line for line in lines if line.startswith("| small")]
    assert len(rows) == 4
    for row in rows:
        assert "| equal | equal | equal |" in row
        for cell in (cell.strip() for cell in row.split("|")[-4:-1]):
            assert cell == "equal" or float(cell.removeprefix("ARI ")) >= 0.999
