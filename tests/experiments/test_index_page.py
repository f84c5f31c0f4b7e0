import pytest

from manyview.experiments.index_page import IndexPage, Section
from manyview.present.plot import new_figure
from manyview.present.table import BEST, Cell, Table

EVIL = "<script>alert(1)</script>"


def test_all_content_is_escaped(tmp_path):
    table = Table("t", EVIL, [EVIL], notes=[EVIL])
    table.add(Cell(EVIL, BEST))
    section = Section(EVIL, EVIL, (table,), {'a"b': EVIL})
    text = IndexPage(tmp_path, EVIL, EVIL, [section] * 2).render()
    assert "<script>alert" not in text
    # Title and heading, intro, two links; seven places in each of two sections.
    assert text.count("&lt;script&gt;") == 5 + 2 * 7
    assert 'src="figures/a%22b.png"' in text
    assert "<strong>&lt;script" in text


def test_parts_are_linked_where_there_are_several(tmp_path):
    part = Section("Part", "Lead", (), {})
    assert "<nav" not in IndexPage(tmp_path, "Title", "Intro", [part]).render()
    text = IndexPage(tmp_path, "Title", "Intro", [part, part]).render()
    assert '<a href="#part1">Part</a>' in text and '<section id="part1">' in text


def test_a_part_without_results_says_so(tmp_path):
    index = IndexPage(tmp_path, "Title", "Intro")
    index.add("Part", "Lead")
    assert "no run of this part has finished" in index.path.read_text("utf-8")


def test_tables_and_figures_are_written_and_shown(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    index = IndexPage(tmp_path, "Title", "Intro")
    table = Table("scores", "All scores", ["method"])
    index.add("First", "Lead", [table])
    figure = new_figure(3, 3, "CCV, rows shuffled, seed 0")
    written = index.add("Second", "Lead", figures={"odd/name": figure})
    assert [p.name for p in written] == ["odd-name.png", "odd-name.svg"]
    assert all(p.exists() for p in written)
    assert (tmp_path / "tables" / "scores.tex").exists()
    page = index.path.read_text("utf-8")
    assert "All scores" in page and 'href="tables/scores.csv"' in page
    assert 'alt="CCV, rows shuffled, seed 0"' in page
