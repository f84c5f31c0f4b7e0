import pytest


@pytest.mark.slow
def test_numbers_are_kept_and_alarms_are_right_in_the_quick_run(run, tmp_path):
    page = tmp_path / "growing.md"
    run("growing", "--quick", "--out", page)
    lines = page.read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith("| small")]
    false, right, kept, best = [cell.strip() for cell in row.split("|")[4:-1]]
    assert int(false.split()[0]) <= 1 and right == "5 of 5"
    assert float(kept) >= 0.95 and float(best) - float(kept) < 0.01
    (row,) = [line for line in lines if line.startswith("| pieces")]
    with_one_fit, between_orders = row.split("|")[4:6]
    assert float(with_one_fit) == float(between_orders) == 1.0
