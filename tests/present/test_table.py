import io

import pytest
from rich.console import Console

from manyview.present.table import (
    BEST,
    SECOND,
    Cell,
    Table,
    cluster_cell,
    mark_best,
    number,
    percent,
)

EVIL = '"><script>alert(1)</script>'


@pytest.fixture
def table():
    table = Table("toy", "S² & 50% of_it", ["method", "A|B"], notes=["Note."])
    table.add("x_1", Cell("0.5 ± 0.1", BEST))
    table.add("a|b", Cell("2×", SECOND))
    return table


def test_markdown(table):
    assert table.to_markdown() == (
        "**S² & 50% of_it**\n\n"
        "| method | A\\|B |\n| --- | --- |\n"
        "| x_1 | **0.5 ± 0.1** |\n| a\\|b | <u>2×</u> |\n\nNote.  \n"
    )


def test_latex(table):
    assert table.to_latex() == (
        "\\begin{table}\n\\centering\n\\begin{tabular}{lr}\n\\toprule\n"
        "method & A|B \\\\\n\\midrule\n"
        "x\\_1 & \\textbf{0.5 $\\pm$ 0.1} \\\\\n"
        "a|b & \\underline{2$\\times$} \\\\\n"
        "\\bottomrule\n\\end{tabular}\n"
        "\\caption{S$^2$ \\& 50\\% of\\_it Note.}\n\\end{table}\n"
    )


def test_csv(table):
    assert table.to_csv() == "method,A|B\nx_1,0.5 ± 0.1\na|b,2×\n"


def in_terminal(table):
    out = io.StringIO()
    colours = {"force_terminal": True, "color_system": "standard"}
    Console(file=out, width=60, **colours).print(table.to_terminal())
    return out.getvalue()


def test_terminal(table):
    text = in_terminal(table)
    assert "S² & 50% of_it" in text and "method" in text
    assert "\x1b[1m0.5 ± 0.1" in text and "\x1b[4m2×" in text
    assert "x_1    0.5 ± 0.1" in text.replace("\x1b[1m", "")
    assert "[/odd]" in in_terminal(Table("t", "", ["[/odd]"]))
    sentence = "A sentence far longer than one narrow column."
    assert sentence in in_terminal(Table("t", sentence, ["a"]))


def test_html_marks_best_and_second_and_holds_the_notes(table):
    html = table.to_html()
    assert "<strong>0.5 ± 0.1</strong>" in html and "<u>2×</u>" in html
    assert '<p class="note">Note.</p>' in html


def test_every_text_is_escaped_in_html():
    table = Table(EVIL, EVIL, [EVIL], notes=[EVIL])
    for cell in (EVIL, Cell(EVIL, BEST), Cell(EVIL, SECOND), Cell(EVIL, cluster=1)):
        table.add(cell)
    html = table.to_html()
    assert "<script" not in html
    # Caption, heading, note and four cells; the name is quoted as in an address.
    assert html.count("&lt;script&gt;") == 7
    assert html.count('id="table-%22%3E%3Cscript') == 1


def test_numbers_carry_value_and_unit():
    assert number(-1234.5, ",.1f", " s") == Cell("−1,234.5 s", value=-1234.5)
    assert percent(0.125) == Cell("12.5 %", value=12.5)
    table = Table("t", "t", ["n"])
    table.add(number(1234.5, ",.0f"))
    assert '<td data-value="1234.5">1,234</td>' in table.to_html()


def test_nothing_is_less_than_nothing():
    assert percent(-0.0001).text == "0.0 %"
    assert percent(-0.01).text == "−1.0 %"


def test_rows_belong_to_the_cluster_they_name():
    table = Table("t", "t", ["cluster", "n"])
    table.add(cluster_cell(4), number(7))
    table.add("x", "y")
    html = table.to_html()
    assert html.count('data-cluster="4"') == 1
    assert html.count('data-pick="4"') == 1
    assert html.count("<tr>") == 2


def test_columns_stand_as_they_are_told_or_all_but_the_first_to_the_right():
    table = Table("t", "t", ["one", "two", "three"])
    table.add("a", "1", "2")
    assert table.to_html().count('class="number"') == 4
    told = Table("t", "t", ["one", "two", "three"], align="lrl")
    told.add("a", "1", "b")
    html = told.to_html()
    head = html[html.index("<thead>") : html.index("</thead>")]
    assert head.index("one") < head.index('class="number"') < head.index("two")
    assert html.count('class="number"') == 2
    assert "{lrl}" in told.to_latex()


def test_only_long_tables_scroll_and_only_where_asked():
    table = Table("t", "t", ["n"])
    for _ in range(16):
        table.add("1")
    assert 'class="wide"' in table.to_html(scrolls=True)
    table.add("1")
    assert 'class="wide long"' in table.to_html(scrolls=True)
    assert 'class="wide"' in table.to_html()


def test_all_three_are_written(table, tmp_path):
    table.write(tmp_path / "tables")
    names = sorted(p.name for p in (tmp_path / "tables").iterdir())
    assert names == ["toy.csv", "toy.md", "toy.tex"]


def test_best_and_second_best():
    assert mark_best([0.2, 0.5, None, 0.5, 0.3]) == [None, BEST, None, BEST, SECOND]
    assert mark_best([3.0, 1.0, 2.0], lowest=True) == [None, BEST, SECOND]
    assert mark_best([]) == []
