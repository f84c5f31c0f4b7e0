import pytest


@pytest.mark.slow
def test_rows_without_clusters_get_no_number_in_the_quick_run(run, tmp_path):
    page = tmp_path / "none.md"
    run("no_clusters", "--quick", "--seeds", "2", "--out", page)
    text = page.read_text(encoding="utf-8")
    assert "| normal | 2 of 2 |" in text and "| line | 2 of 2 |" in text
