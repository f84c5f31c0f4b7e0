import pytest


@pytest.mark.slow
def test_planted_rows_are_found_in_the_quick_run(run, tmp_path):
    page = tmp_path / "outliers.md"
    run("outliers", "--quick", "--out", page)
    lines = page.read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith("| small")]
    areas = [float(cell.split("±")[0]) for cell in row.split("|")[3:-1]]
    assert len(areas) == 3 and min(areas) >= 0.9
