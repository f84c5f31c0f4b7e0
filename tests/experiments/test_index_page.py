from manyview.experiments.index_page import Section, write_page
from manyview.present.table import BEST, Cell, Table

EVIL = "<script>alert(1)</script>"


def test_all_content_is_escaped(tmp_path):
    table = Table("t", EVIL, [EVIL], notes=[EVIL])
    table.add(Cell(EVIL, BEST))
    path = tmp_path / "index.html"
    write_page(path, EVIL, EVIL, [Section(EVIL, EVIL, (table,), {'a"b': EVIL})] * 2)
    text = path.read_text(encoding="utf-8")
    assert "<script>alert" not in text
    # Title and heading, intro, two links; seven places in each of two sections.
    assert text.count("&lt;script&gt;") == 5 + 2 * 7
    assert 'src="figures/a%22b.png"' in text
    assert "<strong>&lt;script" in text


def test_parts_are_linked_where_there_are_several(tmp_path):
    path, part = tmp_path / "index.html", Section("Part", "Lead", (), {})
    write_page(path, "Title", "Intro", [part])
    assert "<nav" not in path.read_text("utf-8")
    write_page(path, "Title", "Intro", [part, part])
    text = path.read_text("utf-8")
    assert '<a href="#part1">Part</a>' in text and '<section id="part1">' in text


def test_a_part_without_results_says_so(tmp_path):
    path = tmp_path / "index.html"
    write_page(path, "Title", "Intro", [Section("Part", "Lead", (), {})])
    assert "no run of this part has finished" in path.read_text("utf-8")
