import pytest

from manyview.present.table import BEST, SECOND, Cell, Table, mark_best


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


def test_all_three_are_written(table, tmp_path):
    table.write(tmp_path / "tables")
    names = sorted(p.name for p in (tmp_path / "tables").iterdir())
    assert names == ["toy.csv", "toy.md", "toy.tex"]


def test_best_and_second_best():
    assert mark_best([0.2, 0.5, None, 0.5, 0.3]) == [None, BEST, None, BEST, SECOND]
    assert mark_best([3.0, 1.0, 2.0], lowest=True) == [None, BEST, SECOND]
    assert mark_best([]) == []
