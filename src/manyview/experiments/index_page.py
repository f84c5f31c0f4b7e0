"""One page that shows the tables and figures of a folder."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from urllib.parse import quote

from ..report.style import page
from .table import BEST, SECOND, Cell, Table, write_text


def write_page(
    folder: Path, title: str, intro: str, tables: Iterable[Table], figures: list[str]
) -> Path:
    """``index.html`` with the tables written in and the figures beside it."""
    body = [f"<p>{escape(intro)}</p>"]
    body += [_table(t) for t in tables]
    body += [_figure(name) for name in figures]
    text = page(title, "\n".join(body))
    path = folder / "index.html"
    write_text(path, text)
    return path


def _table(table: Table) -> str:
    head = "".join(
        f'<th scope="col"{_side(j)}><button type="button" class="sort">'
        f"{escape(c)}</button></th>"
        for j, c in enumerate(table.columns)
    )
    rows = "\n".join(f"<tr>{_row(row)}</tr>" for row in table.rows)
    notes = "".join(f'<p class="note">{escape(n)}</p>' for n in table.notes)
    links = " ".join(
        f'<a href="tables/{quote(table.name)}.{e}">{e}</a>'
        for e in ("md", "tex", "csv")
    )
    return (
        f'<div class="wide" tabindex="0"><table><caption>{escape(table.caption)}'
        f"</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>"
        f'</table></div>\n{notes}<p class="note">{links}</p>'
    )


def _row(cells: Iterable[Cell]) -> str:
    return "".join(f"<td{_side(j)}>{_cell(c)}</td>" for j, c in enumerate(cells))


def _side(column: int) -> str:
    return ' class="number"' if column else ""


def _cell(cell: Cell) -> str:
    form = {BEST: "<strong>{}</strong>", SECOND: "<u>{}</u>", None: "{}"}[cell.mark]
    return form.format(escape(cell.text))


def _figure(name: str) -> str:
    link = f"figures/{quote(name)}"
    return (
        f'<figure><img src="{link}.png" alt="{escape(name)}">'
        f'<figcaption class="note">{escape(name)} '
        f'(<a href="{link}.svg">svg</a>)</figcaption></figure>'
    )
