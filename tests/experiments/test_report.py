import pytest

from manyview.experiments.report import Report
from manyview.present.figures import new_figure
from manyview.present.table import Table


def test_tables_and_figures_are_written_and_shown(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    report = Report(tmp_path, "Title", "Intro")
    table = Table("scores", "All scores", ["method"])
    report.add("First", "Lead", [table])
    figure = new_figure(3, 3, "CCV, rows shuffled, seed 0")
    written = report.add("Second", "Lead", figures={"odd/name": figure})
    assert [p.name for p in written] == ["odd-name.png", "odd-name.svg"]
    assert all(p.exists() for p in written)
    assert (tmp_path / "tables" / "scores.tex").exists()
    page = report.page.read_text("utf-8")
    assert "All scores" in page and 'href="tables/scores.csv"' in page
    assert 'alt="CCV, rows shuffled, seed 0"' in page
