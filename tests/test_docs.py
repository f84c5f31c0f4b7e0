"""The documentation: code blocks and examples run, tables are what their scripts make.

A block that cannot run in a test has ``<!-- skip: reason -->`` on the line before it.
"""

import os
import re
import runpy
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import manyview
from manyview import baselines, metrics

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
EXAMPLES = sorted(ROOT.glob("examples/plot_*.py"))
BUILT = ("_build", "gallery", "measured", "generated")
BLOCK = re.compile(
    r"(?:<!-- skip: (?P<skip>.+?) -->\s*\n)?^```python\n(?P<code>.*?)^```", re.M | re.S
)
# Sums run in another order on other machines; a row on a border may move.
TOLERANCE = 0.03

pytestmark = pytest.mark.filterwarnings("ignore::manyview.errors.ManyviewWarning")


class Block(NamedTuple):
    line: int
    code: str
    skip: str | None


def blocks(text: str) -> list[Block]:
    return [
        Block(text.count("\n", 0, m.start("code")), m["code"], m["skip"])
        for m in BLOCK.finditer(text)
    ]


def pages() -> list[Path]:
    found = []
    for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]:
        inside = page.relative_to(ROOT).parts
        if not set(inside) & set(BUILT) and blocks(page.read_text("utf-8")):
            found.append(page)
    return found


def script(name: str) -> dict[str, Any]:
    return runpy.run_path(str(DOCS / f"{name}.py"))


def numbers(markdown: str) -> list[float]:
    return [float(x) for x in re.findall(r"(?<![\w.])-?\d\.\d{3}(?![\w.])", markdown)]


def test_blocks_are_found_with_their_line_and_reason() -> None:
    text = (
        "a\n```python\nx = 1\n```\n<!-- skip: slow -->\n```python\ny\n```\n```\nz\n```"
    )
    assert blocks(text) == [(2, "x = 1\n", None), (6, "y\n", "slow")]


@pytest.mark.slow
@pytest.mark.parametrize("page", pages(), ids=lambda p: str(p.relative_to(ROOT)))
def test_code_blocks_run(page: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """The blocks of a page follow each other, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "page"}
    ran = 0
    for block in blocks(page.read_text("utf-8")):
        if block.skip is None:
            padded = "\n" * block.line + block.code  # tracebacks name the page's line
            exec(compile(padded, str(page), "exec"), names)
            ran += 1
    if not ran:
        pytest.skip("every block of the page is marked to be skipped")


@pytest.mark.slow
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
