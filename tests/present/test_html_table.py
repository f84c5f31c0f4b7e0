from manyview.present.html_table import Cell, cluster_cell, number, percent, write_table

EVIL = '"><script>alert(1)</script>'


def test_every_text_is_escaped() -> None:
    html = write_table(EVIL, [EVIL], [[EVIL], [Cell(EVIL, 1.0)]], name=EVIL)
    assert "<script" not in html
    assert '"><script' not in html
    # Caption, its label, the table's name, the heading and two cells.
    assert html.count("&lt;script&gt;") == 6


def test_numbers_carry_value_and_unit() -> None:
    assert number(-1234.5, ",.1f", " s") == Cell("−1,234.5 s", -1234.5)
    assert percent(0.125) == Cell("12.5 %", 12.5)


def test_rows_belong_to_the_cluster_they_name() -> None:
    html = write_table(
        "t", ["cluster", "n"], [[cluster_cell(4), number(7)], ["x", "y"]]
    )
    assert html.count('data-cluster="4"') == 1
    assert html.count('data-pick="4"') == 1
    assert html.count("<tr>") == 2


def test_columns_of_numbers_stand_right_and_clusters_left() -> None:
    html = write_table("t", ["cluster", "n"], [[cluster_cell(0), number(7)]])
    head = html[html.index("<thead>") : html.index("</thead>")]
    assert head.count('class="number"') == 1
    assert head.index('class="number"') > head.index("cluster")


def test_nothing_is_less_than_nothing() -> None:
    assert percent(-0.0001).text == "0.0 %"
    assert percent(-0.01).text == "−1.0 %"
