import pytest

pytest.importorskip("mudata", reason="mudata is not installed")


@pytest.mark.slow
def test_cells_of_clear_kinds_are_told_apart_in_the_quick_run(run, tmp_path):
    page = tmp_path / "cells.md"
    run("cells", "--quick", "--out", page, "--seeds", 1)
    lines = page.read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if "| sc.cluster |" in line]
    assert float(row.split("|")[4].split()[0]) > 0.95
