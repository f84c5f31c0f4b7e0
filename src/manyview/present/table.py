"""A table and its three forms: Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from manyview.files.atomic import write_text

BEST, SECOND = "best", "second"


class Cell(NamedTuple):
    """What is written, and whether it stands out (best, second best)."""

    text: str
    mark: str | None = None


@dataclass
class Table:
    """Cells in rows, with a caption that says how they came about.

    Attributes
    ----------
    name : str
        Stem of its files.
    caption : str
    columns : list of str
    rows : list of list of Cell
    notes : list of str
        Lines below the table.
    """

    name: str
    caption: str
    columns: list[str]
    rows: list[list[Cell]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, *cells: Cell | str) -> None:
        """One more row."""
        self.rows.append([c if isinstance(c, Cell) else Cell(c) for c in cells])

    def to_markdown(self) -> str:
        """A pipe table below its caption; best bold, second best underlined."""
        marks = {BEST: "**{}**", SECOND: "<u>{}</u>", None: "{}"}
        cells = [[Cell(c) for c in self.columns], *self.rows]
        head, *rows = (
            [marks[c.mark].format(c.text.replace("|", "\\|")) for c in row]
            for row in cells
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
            f"\\begin{{tabular}}{{l{'r' * (len(self.columns) - 1)}}}\n\\toprule\n"
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

    def write(self, folder: Path) -> None:
        """All three forms under the table's name."""
        folder.mkdir(parents=True, exist_ok=True)
        forms = {"md": self.to_markdown, "tex": self.to_latex, "csv": self.to_csv}
        for ending, make in forms.items():
            write_text(folder / f"{self.name}.{ending}", make())


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
