"""Tables that page.js sorts by any column and filters by cluster."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

LONG = 16  # rows; a longer table scrolls by itself


class Cell(NamedTuple):
    """What is written, what it sorts by, and the cluster it leads to."""

    text: str
    value: float | None = None
    cluster: int | None = None


def number(value: float, form: str = ",.0f", unit: str = "") -> Cell:
    """A number as text with its unit; sorts by its value."""
    return Cell(f"{value:{form}}{unit}".replace("-", "−"), float(value))


def percent(share: float, form: str = "z.1f") -> Cell:
    """A share of 1 as a percentage."""
    return number(100 * share, form, " %")


def cluster_cell(cluster: int) -> Cell:
    """A cluster's number, as a button that filters the page."""
    return Cell(str(cluster), float(cluster), cluster)


def write_table(
    caption: str,
    columns: Sequence[str],
    rows: Sequence[Sequence[Cell | str]],
    *,
    name: str = "",
    about_clusters: bool = True,
) -> str:
    """A table as HTML; a row belongs to the cluster of its first cluster cell."""
    cells = [[c if isinstance(c, Cell) else Cell(c) for c in row] for row in rows]
    right = [
        bool(cells)
        and all(row[j].value is not None and row[j].cluster is None for row in cells)
        for j in range(len(columns))
    ]
    head = "".join(_head(c, r) for c, r in zip(columns, right, strict=True))
    body = "\n".join(_row(row, right, about_clusters) for row in cells)
    mark = f' id="{escape(name)}"' if name else ""
    size = "wide long" if len(cells) > LONG else "wide"
    return (
        f'<div class="{size}" tabindex="0" role="region" '
        f'aria-label="{escape(caption)}">'
        f'<table class="sortable"{mark}>'
        f"<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table></div>\n"
    )


def _head(title: str, right: bool) -> str:
    side = ' class="number"' if right else ""
    button = f'<button type="button" class="sort">{escape(title)}</button>'
    return f'<th scope="col"{side}>{button}</th>'


def _row(cells: Sequence[Cell], right: Sequence[bool], about_clusters: bool) -> str:
    own = next((c.cluster for c in cells if c.cluster is not None), None)
    mark = f' data-cluster="{own}"' if about_clusters and own is not None else ""
    parts = [_cell(c, r) for c, r in zip(cells, right, strict=True)]
    return f"<tr{mark}>{''.join(parts)}</tr>"


def _cell(cell: Cell, right: bool) -> str:
    side = ' class="number"' if right else ""
    value = "" if cell.value is None else f' data-value="{cell.value!r}"'
    text = escape(cell.text)
    if cell.cluster is not None:
        text = (
            f'<button type="button" class="pick" data-pick="{cell.cluster}" '
            f'aria-pressed="false" aria-label="Cluster {cell.cluster}">'
            f'<span class="dot" data-dot="{cell.cluster}"></span>{text}</button>'
        )
    return f"<td{side}{value}>{text}</td>"
