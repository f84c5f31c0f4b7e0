import pytest


@pytest.mark.slow
def test_groups_that_nobody_told_of_are_a_cut_in_the_quick_run(run, tmp_path):
    page = tmp_path / "tree.md"
    run("tree", "--quick", "--out", page, "--seeds", 1)
    lines = page.read_text(encoding="utf-8").splitlines()
    (row,) = [line for line in lines if line.startswith("| 4 ")]
    clusters, cut = [float(x) for x in row.split("|")[2:4]]
    assert clusters > 0.9 and cut > 0.95
