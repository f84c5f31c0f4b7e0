"""One page that shows the tables and figures of a folder."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from manyview.files.atomic import write_text
from manyview.present.style import page
from manyview.present.table import BEST, SECOND, Cell, Table

MANY_COLUMNS = 8


class Section(NamedTuple):
    """A part of the page: figures by the stem of their files, with their titles."""

    title: str
    lead: str
    tables: tuple[Table, ...]
    figures: Mapping[str, str]


def write_page(path: Path, title: str, intro: str, sections: Sequence[Section]) -> None:
    """The sections with their tables written in and the figures beside the page."""
    body = [f'<p class="lead">{escape(intro)}</p>']
    if len(sections) > 1:
        body.append(_contents(sections))
    body += [_section(i, section) for i, section in enumerate(sections)]
    write_text(path, page(title, "\n".join(body)))


def _contents(sections: Sequence[Section]) -> str:
    links = "".join(
        f'<li><a href="#part{i}">{escape(s.title)}</a></li>'
        for i, s in enumerate(sections)
    )
    return f'<nav aria-label="On this page"><ul class="legend">{links}</ul></nav>'


def _section(number: int, section: Section) -> str:
    parts = [_figure(stem, title) for stem, title in section.figures.items()]
    parts += [_table(t) for t in section.tables]
    empty = '<p class="note">Nothing to show: no run of this part has finished.</p>'
    shown = "\n".join(parts) or empty
    return (
        f'<section id="part{number}"><h2>{escape(section.title)}</h2>\n'
        f'<p class="lead">{escape(section.lead)}</p>\n'
        f"{shown}\n</section>"
    )


def _table(table: Table) -> str:
    head = "".join(
        f'<th scope="col"{_side(j)}><button type="button" class="sort">'
        f"{escape(c)}</button></th>"
        for j, c in enumerate(table.columns)
    )
    rows = "\n".join(f"<tr>{_row(row)}</tr>" for row in table.rows)
    notes = "".join(f'<p class="note">{escape(n)}</p>' for n in table.notes)
    links = ", ".join(
        f'<a href="tables/{quote(table.name)}.{ending}">{kind}</a>'
        for ending, kind in (("md", "Markdown"), ("tex", "LaTeX"), ("csv", "CSV"))
    )
    # Outside the table, or it would scroll away with the columns.
    name = f"caption-{quote(table.name)}"
    dense = ' class="dense"' if len(table.columns) > MANY_COLUMNS else ""
    return (
        f'<p class="caption" id="{name}">{escape(table.caption)}</p>\n'
        f'<div class="wide" tabindex="0"><table{dense} aria-labelledby="{name}">\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>"
        f'</table></div>\n{notes}<p class="note">This table as {links}.</p>'
    )


def _row(cells: Iterable[Cell]) -> str:
    return "".join(f"<td{_side(j)}>{_cell(c)}</td>" for j, c in enumerate(cells))


def _side(column: int) -> str:
    return ' class="number"' if column else ""


def _cell(cell: Cell) -> str:
    form = {BEST: "<strong>{}</strong>", SECOND: "<u>{}</u>", None: "{}"}[cell.mark]
    return form.format(escape(cell.text))


def _figure(stem: str, title: str) -> str:
    link = f"figures/{quote(stem)}"
    return (
        f'<figure><a href="{link}.png"><img src="{link}.png" alt="{escape(title)}"></a>'
        f'<figcaption class="note">This figure as <a href="{link}.png">PNG</a>, '
        f'<a href="{link}.svg">SVG</a>.</figcaption></figure>'
    )
