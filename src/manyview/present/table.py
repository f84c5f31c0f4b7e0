"""A table and its forms: Markdown, LaTeX, CSV, HTML and the terminal."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from manyview.files.atomic import write_text
from manyview.present.page import fill_template, notebook_html

if TYPE_CHECKING:
    from markupsafe import Markup
    from rich.console import Group

BEST, SECOND = "best", "second"
LONG = 16  # rows that a screen shows at once; a longer table may scroll by itself


class Cell(NamedTuple):
    """What is written, whether it stands out (best, second best), and for HTML
    what it sorts by and the cluster it leads to.
    """

    text: str
    mark: str | None = None
    value: float | None = None
    cluster: int | None = None


def number(value: float, form: str = ",.0f", unit: str = "") -> Cell:
    """A number as text with its unit; sorts by its value."""
    return Cell(f"{value:{form}}{unit}".replace("-", "−"), value=float(value))


def percent(share: float, form: str = "z.1f") -> Cell:
    """A share of 1 as a percentage."""
    return number(100 * share, form, " %")


def cluster_cell(cluster: int) -> Cell:
    """A cluster's number, in HTML a button that filters the page."""
    return Cell(str(cluster), value=float(cluster), cluster=cluster)


@dataclass
class Table:
    """Cells in rows, with a caption that says how they came about."""

    name: str  # stem of its files
    caption: str
    columns: list[str]
    rows: list[list[Cell]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # lines below the table
    align: str = ""  # "l" or "r" by column; by default numbers follow one name

    @property
    def sides(self) -> str:
        """ "l" or "r" for every column."""
        return self.align or "l" + "r" * (len(self.columns) - 1)

    def add(self, *cells: Cell | str) -> None:
        self.rows.append([c if isinstance(c, Cell) else Cell(c) for c in cells])

    def to_markdown(self) -> str:
        """A pipe table below its caption; best bold, second best underlined."""
        marks = {BEST: "**{}**", SECOND: "<u>{}</u>", None: "{}"}
        head, *rows = (
            [marks[c.mark].format(c.text.replace("|", "\\|")) for c in row]
            for row in ([Cell(c) for c in self.columns], *self.rows)
        )
        lines = [head, ["---"] * len(head), *rows]
        body = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        notes = "".join(f"\n{note}  " for note in self.notes)
        return f"**{self.caption}**\n\n{body}\n" + (f"{notes}\n" if notes else "")

    def to_latex(self) -> str:
        """A booktabs tabular in a table environment."""
        marks = {BEST: r"\textbf{{{}}}", SECOND: r"\underline{{{}}}", None: "{}"}
        rows = [[marks[c.mark].format(tex(c.text)) for c in row] for row in self.rows]
        body = "\n".join(" & ".join(cells) + r" \\" for cells in rows)
        caption = " ".join(map(tex, [self.caption, *self.notes]))
        return (
            "\\begin{table}\n\\centering\n"
            f"\\begin{{tabular}}{{{self.sides}}}\n\\toprule\n"
            f"{' & '.join(map(tex, self.columns))} \\\\\n\\midrule\n{body}\n"
            f"\\bottomrule\n\\end{{tabular}}\n\\caption{{{caption}}}\n"
            "\\end{table}\n"
        )

    def to_csv(self) -> str:
        """Plain cells."""
        out = io.StringIO()
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([c.text for c in row] for row in self.rows)
        return out.getvalue()

    def to_html(self, *, scrolls: bool = False) -> Markup:
        """A table that page.js sorts; a row belongs to the cluster of its first cell.

        A long one that `scrolls` does so by itself, below its own heading.
        """
        scrolls = scrolls and len(self.rows) > LONG
        return fill_template("present/table.html", table=self, scrolls=scrolls)

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def to_terminal(self) -> Group:
        """For a console of rich: best bold, second best underlined."""
        from rich.box import SIMPLE_HEAD
        from rich.console import Group
        from rich.table import Table as TerminalTable
        from rich.text import Text

        # Text, not str: rich would take brackets in names for its markup.
        found = TerminalTable(box=SIMPLE_HEAD, show_edge=False, padding=0)
        for i, (name, side) in enumerate(zip(self.columns, self.sides, strict=True)):
            found.add_column(
                Text(name),
                justify="right" if side == "r" else "left",
                no_wrap=side == "r" or i == 0,
                overflow="fold",
            )
        styles = {BEST: "bold", SECOND: "underline", None: ""}
        for row in self.rows:
            found.add_row(*(Text.assemble((c.text, styles[c.mark])) for c in row))
        # Above, not a title: that would be wrapped to the width of the columns.
        above = [Text(self.caption, style="bold")] if self.caption else []
        return Group(*above, found)

    def write(self, folder: Path) -> None:
        """As Markdown, LaTeX and CSV, under the table's name."""
        folder.mkdir(parents=True, exist_ok=True)
        forms = {"md": self.to_markdown, "tex": self.to_latex, "csv": self.to_csv}
        for ending, make in forms.items():
            write_text(folder / f"{self.name}.{ending}", make())


class ShowsTables:
    """An answer that prints as its tables, and is shown as them in a notebook."""

    table: Callable[..., Table]  # of an answer that has no others

    def tables(self) -> list[Table]:
        """All of it."""
        return [self.table()]

    def __str__(self) -> str:
        return "\n".join(table.to_markdown() for table in self.tables())

    def _repr_html_(self) -> str:
        return notebook_html(*self.tables())


_TEX = {"±": r"$\pm$", "×": r"$\times$", "†": r"$\dagger$", "²": "$^2$", "–": "--"}


def tex(text: str) -> str:
    """Text with what LaTeX would misread escaped."""
    text = text.replace("\\", r"\textbackslash ")
    text = re.sub(r"([&%$#_{}])", r"\\\1", text)
    return "".join(_TEX.get(c, c) for c in text)


def mark_best(
    values: Sequence[float | None], *, lowest: bool = False
) -> list[str | None]:
    """Best and second best of a column; equal values share a place."""
    sign = 1 if lowest else -1
    places = sorted({sign * round(v, 6) for v in values if v is not None})
    names: dict[float, str] = dict(zip(places, (BEST, SECOND), strict=False))
    return [None if v is None else names.get(sign * round(v, 6)) for v in values]
