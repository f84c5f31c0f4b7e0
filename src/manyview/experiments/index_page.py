"""One page that shows the tables and figures of a folder."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from pathlib import Path
from urllib.parse import quote

from .table import BEST, SECOND, Cell, Table, write_text

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff;
       max-width: 75rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: 1.5rem 0 .5rem; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #ddd; }
th:first-child, td:first-child { text-align: left; }
.wide { overflow-x: auto; }
figure { margin: 2rem 0; } img { max-width: 100%; height: auto; }
.note { color: #555; font-size: .9rem; margin: .3rem 0; }
"""


def write_page(
    folder: Path, title: str, intro: str, tables: Iterable[Table], figures: list[str]
) -> Path:
    """``index.html`` with the tables written in and the figures beside it."""
    body = [f"<h1>{escape(title)}</h1>", f"<p>{escape(intro)}</p>"]
    body += [_table(t) for t in tables]
    body += [_figure(name) for name in figures]
    text = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )
    path = folder / "index.html"
    write_text(path, text)
    return path


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(c)}</th>' for c in table.columns)
    rows = "\n".join(
        "<tr>" + "".join(f"<td>{_cell(c)}</td>" for c in row) + "</tr>"
        for row in table.rows
    )
    notes = "".join(f'<p class="note">{escape(n)}</p>' for n in table.notes)
    links = " ".join(
        f'<a href="tables/{quote(table.name)}.{e}">{e}</a>'
        for e in ("md", "tex", "csv")
    )
    return (
        f'<div class="wide"><table><caption>{escape(table.caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody></table></div>\n"
        f'{notes}<p class="note">{links}</p>'
    )


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
