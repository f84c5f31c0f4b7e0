"""The documentation: code and commands run, tables are what their scripts make.

A block that cannot run in a test has ``<!-- skip: reason -->`` on the line before it.
"""

import os
import re
import runpy
import shlex
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import typer
from scipy.io import savemat

import manyview
from manyview import baselines, cli, metrics
from manyview.cli.app import app

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = sorted(ROOT.glob("examples/plot_*.py"))
BUILT = ("_build", "gallery", "measured", "generated")
FENCE = re.compile(r"^```(?P<kind>\S*)")
SKIP = re.compile(r"<!-- skip: (?P<reason>.+?) -->")
SHELL = ("", "bash")
# Sums run in another order on other machines; a row on a border may move.
TOLERANCE = 0.03

pytestmark = pytest.mark.filterwarnings(
    "ignore::manyview.errors.ManyviewWarning",
    # mudata's own, of two modalities whose features share their names
    "ignore:Cannot join columns with the same name:UserWarning",
)


class Block(NamedTuple):
    line: int
    kind: str
    code: str
    skip: str | None


def blocks(text: str) -> list[Block]:
    """The fenced blocks of a page; fences come in pairs."""
    lines = text.splitlines(keepends=True)
    fences = [i for i, line in enumerate(lines) if FENCE.match(line)]
    found = []
    for first, last in zip(fences[::2], fences[1::2], strict=True):
        mark = SKIP.fullmatch(lines[first - 1].strip()) if first else None
        kind = FENCE.match(lines[first])["kind"]
        code = "".join(lines[first + 1 : last])
        found.append(Block(first + 1, kind, code, mark and mark["reason"]))
    return found


def pages(*kinds: str) -> list[Path]:
    """Pages with blocks of these kinds that are to be run."""
    found = []
    for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]:
        if set(page.relative_to(ROOT).parts) & set(BUILT):
            continue
        if any(b.kind in kinds for b in blocks(page.read_text("utf-8"))):
            found.append(page)
    return found


def commands(code: str) -> list[list[str]]:
    """The command lines of a shell block, split into words."""
    joined = code.replace("\\\n", " ")
    lines = [shlex.split(line, comments=True) for line in joined.splitlines()]
    return [line for line in lines if line]


def short(page: Path) -> str:
    return str(page.relative_to(ROOT))


def script(name: str) -> dict[str, Any]:
    return runpy.run_path(str(DOCS / f"{name}.py"))


def numbers(markdown: str) -> list[float]:
    return [float(x) for x in re.findall(r"(?<![\w.])-?\d\.\d{3}(?![\w.])", markdown)]


def test_blocks_are_found_with_their_line_and_reason() -> None:
    text = "a\n```python\nx = 1\n```\n<!-- skip: slow -->\n```bash\ny\n```\n```\nz\n```"
    assert blocks(text) == [
        (2, "python", "x = 1\n", None),
        (6, "bash", "y\n", "slow"),
        (9, "", "z\n", None),
    ]
    assert commands("a -b 1 \\\n  c  # why\n\nd 'e f'\n") == [
        ["a", "-b", "1", "c"],
        ["d", "e f"],
    ]


@pytest.fixture
def few_rows(monkeypatch: Any) -> None:
    """A third of the digits, and 200 rows for a number of clusters: the same steps."""
    some = manyview.datasets.load_digits_views()[::3]
    monkeypatch.setattr(manyview.datasets, "load_digits_views", lambda: some)
    monkeypatch.setattr("manyview.stages.embedded_sample.SAMPLE_ROWS", 200)
    monkeypatch.setattr("manyview.stages.no_clusters.N_CLOUDS", 2)


@pytest.mark.slow
@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("page", pages("python"), ids=short)
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """The blocks of a page follow each other, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    ran = 0
    for block in blocks(page.read_text("utf-8")):
        if block.kind == "python" and block.skip is None:
            padded = "\n" * block.line + block.code  # tracebacks name the page's line
            exec(compile(padded, str(page), "exec"), names)
            ran += 1
    if not ran:
        pytest.skip("every block of the page is marked to be skipped")


@pytest.fixture
def folder_of_files(tmp_path: Path, monkeypatch: Any) -> Path:
    """The files the pages speak of: 300 rows, two views, known classes."""
    views = manyview.datasets.make_views(400, (6, 5), 4, random_state=0)
    first, later = views[:300], views[300:]
    for names in (("a", "b"), ("audio", "video"), ("image", "text")):
        for name, array in zip(names, first.arrays, strict=True):
            np.save(tmp_path / f"{name}.npy", array)
    for name, array in zip(("image", "text"), later.arrays, strict=True):
        np.save(tmp_path / f"new_{name}.npy", array)
    for name, rows in (("data", first), ("more", later)):
        cells = np.empty((1, 2), dtype=object)
        cells[0, :] = rows.arrays
        content = {"X": cells} | ({"Y": rows.labels} if rows is first else {})
        savemat(tmp_path / f"{name}.mat", content)
    np.savetxt(tmp_path / "classes.csv", first.labels, fmt="%d")
    some = np.where(np.arange(300) % 20 == 0, first.labels, -1)
    np.savetxt(tmp_path / "some.csv", some, fmt="%d")
    same = np.flatnonzero(first.labels == first.labels[0])
    other = np.flatnonzero(first.labels != first.labels[0])
    (tmp_path / "same.csv").write_text(f"{same[0]},{same[1]}\n")
    (tmp_path / "apart.csv").write_text(f"{same[0]},{other[0]}\n")
    table = np.hstack(first.arrays)
    names = ",".join("abcdefghijk")
    np.savetxt(tmp_path / "table.csv", table, delimiter=",", header=names, comments="")
    for name, v, start in (("left", 0, 0), ("right", 1, 20)):
        head = ["id", *(f"{name}{j}" for j in range(first.n_features[v]))]
        lines = [",".join(head) + ("" if v else ",species")]
        for i in range(start, 300):
            values = ",".join(map(str, first.arrays[v][i]))
            lines.append(f"r{i},{values}" + ("" if v else f",kind{first.labels[i]}"))
        (tmp_path / f"{name}.csv").write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("page", pages(*SHELL), ids=short)
def test_commands_run(page: Path, folder_of_files: Path, capsys: Any) -> None:
    for name in ("matplotlib", "plotly"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    ran = 0
    for block in blocks(page.read_text("utf-8")):
        for words in commands(block.code) if block.kind in SHELL else ():
            if words[:2] == ["manyview", "demo"]:  # tests/test_demo.py runs it
                continue
            if words[0] == "manyview" and block.skip is None:
                assert cli.main(words[1:]) == 0, (words, capsys.readouterr().err)
                ran += 1
    if not ran:
        pytest.skip("the page has no commands but such as need data or hours")


@pytest.mark.parametrize("page", pages(*SHELL), ids=short)
def test_commands_and_scripts_are_known(page: Path) -> None:
    """Also where they are not run, for want of data or time."""
    known = typer.main.get_command(app).commands
    for block in blocks(page.read_text("utf-8")):
        for words in commands(block.code) if block.kind in SHELL else ():
            if words[0].startswith("MANYVIEW_DATA="):
                words = words[1:]
            if words[0] == "manyview":
                known[words[1]].make_context(words[1], words[2:])
            elif words[0] == "python":
                assert (ROOT / words[1]).is_file()
            else:
                assert words[0] in ("make", "pip")


@pytest.mark.slow
@pytest.mark.usefixtures("few_rows")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_examples_run_and_draw(example: Path, tmp_path: Path, monkeypatch: Any) -> None:
    figures = pytest.importorskip("matplotlib.figure", reason="no matplotlib")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    made = runpy.run_path(str(example), run_name="__main__")
    drawn = [v for v in made.values() if isinstance(v, figures.Figure)]
    assert drawn
    for figure in drawn:
        figure.savefig(tmp_path / "figure.png")
        assert any(axis.has_data() for axis in figure.axes)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda p: p.stem)
def test_notebooks_of_examples_show_their_figures(example: Path) -> None:
    """A notebook shows the last line of a cell, and what pyplot is told to show."""
    cells = re.split(r"^# %%.*$", example.read_text("utf-8"), flags=re.M)
    drawing = [c for c in cells if re.search(r"^figure(, \w+)? = ", c, re.M)]
    ends = {cell.strip().splitlines()[-1] for cell in drawing}
    assert drawing and ends <= {"figure", "plt.show()"}


def test_there_are_at_least_ten_examples() -> None:
    assert len(EXAMPLES) >= 10


def test_method_table_is_up_to_date() -> None:
    made = script("method_table")["method_table"]().to_markdown()
    assert (DOCS / "measured" / "methods.md").read_text("utf-8") == made, (
        "run python docs/method_table.py"
    )


def check_order_table(made: Any) -> None:
    kept = (DOCS / "measured" / f"{made.name}.md").read_text("utf-8")
    assert re.sub(r"[\d.]+", "", kept) == re.sub(r"[\d.]+", "", made.to_markdown())
    found = numbers(made.to_markdown())
    assert found and numbers(kept) == pytest.approx(found, abs=TOLERANCE), (
        "run python docs/row_order_tables.py"
    )


@pytest.mark.slow
def test_row_order_table_of_the_digits_is_up_to_date() -> None:
    made = script("row_order_tables")
    published = manyview.S2MVTC.as_published("Cifar-10")
    check_order_table(
        made["order_table"]("digits", made["digits_by_class"](), published)
    )


@pytest.mark.slow
@pytest.mark.data
def test_row_order_table_of_ccv_is_up_to_date() -> None:
    if not os.environ.get("MANYVIEW_DATA"):
        pytest.skip("MANYVIEW_DATA is not set: no CCV to measure on")
    published = manyview.S2MVTC.as_published("CCV")
    views = manyview.datasets.load("CCV")
    check_order_table(
        script("row_order_tables")["order_table"]("CCV", views, published)
    )


@pytest.mark.parametrize(
    ("page", "name"),
    [
        ("performance", "growth"),
        ("performance", "disk"),
        ("performance", "wide disk"),
        ("dask", "dask plan"),
    ],
)
def test_planned_times_are_within_a_factor_of_two_of_those_measured(
    page: str, name: str
) -> None:
    text = (DOCS / f"{page}.md").read_text("utf-8")
    part = text.partition(f"<!-- {name} -->")[2].partition(f"<!-- end {name} -->")[0]
    lines = [line.strip("| ").split(" | ") for line in part.splitlines() if "|" in line]
    rows = [dict(zip(lines[0], line, strict=True)) for line in lines[2:]]
    assert rows
    for row in rows:
        assert 0.5 <= float(row["planned s"]) / float(row["seconds"]) <= 2.0, row


def test_the_readme_shows_rows_of_the_comparison() -> None:
    measured = (DOCS / "measured" / "orders-ccv.md").read_text("utf-8")
    table = script("ccv_tables")["readme_table"](measured)
    assert table in (ROOT / "README.md").read_text("utf-8")


def test_the_table_of_awa_has_the_papers_figures_beside_ours() -> None:
    run = {"data": "AwA-5view", "setting": {}, "status": "ok", "cpu_s": 7.0}
    scores = {"ACC": 0.5, "NMI": 0.6, "ARI": 0.7}
    ours = [("file", "S2MVTC as published"), ("shuffled", "AnchorSpectral")]
    made = script("awa_tables")["main_table"](
        [run | {"order": o, "method": m, "scores": scores} for o, m in ours]
    )
    first, second = ([cell.text for cell in row] for row in made.rows)
    assert first[2:] == ["0.500", "0.600", "0.700", "0.629", "0.812", "0.575", "7"]
    assert second[5:8] == ["–", "–", "–"]


def test_reference_names_everything_public() -> None:
    page = (DOCS / "api" / "index.md").read_text("utf-8")
    listed = set(re.findall(r"^   ([\w.]+)$", page, re.M))
    short = {name.rpartition(".")[2] for name in listed}
    public = {n for n in manyview.__all__ if not n.startswith("__")}
    assert public <= short
    assert set(baselines.__all__) <= listed
    assert {f"metrics.{name}" for name in metrics.__all__} <= listed


def test_drawings_follow_the_theme_and_speak_to_screen_readers() -> None:
    for name in ("method", "families"):
        drawing = (DOCS / "drawings" / f"{name}.svg").read_text("utf-8")
        assert "prefers-color-scheme: dark" in drawing
        assert f'aria-labelledby="{name}-title {name}-desc"' in drawing
        assert f'id="{name}-desc"' in drawing
