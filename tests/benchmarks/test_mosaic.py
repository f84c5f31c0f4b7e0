import pytest


@pytest.mark.slow
def test_the_mosaic_of_the_quick_run_is_nearly_as_good_as_all_views(run, tmp_path):
    page = tmp_path / "mosaic.md"
    run("mosaic", "--quick", "--out", page)
    lines = page.read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith("| generated")]
    whole, mosaic, _ = (float(cell) for cell in row.split("|")[4:-1])
    assert mosaic > 0.9 * whole
