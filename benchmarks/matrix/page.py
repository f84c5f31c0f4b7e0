"""The matrix as the documentation shows it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchmarks import figures

from . import ROOT
from .cells import INPUTS, PLACES, USES, Cell
from .verdict import FAILED, REFUSED, SAME

PAGE = ROOT / "docs" / "matrix.md"
Record = Mapping[str, Any]


def render(cells: Sequence[Cell], records: Mapping[str, Record]) -> str:
    """Counts, grids, what was held, what is refused, and every cell."""
    known = [(c, records[c.key]) for c in cells if c.key in records]
    same = [(c, r) for c, r in known if r["outcome"] == SAME]
    parts = [
        _summary(cells, known),
        "### Place and input\n\nCells with the labels of the plain fit, and the least "
        "agreement among them (adjusted Rand index).",
        _grid(same, "input", INPUTS, "place", PLACES),
        "### Method and use",
        _grid(same, "estimator", _order(same), "use", USES),
        "### Memory\n\nThe most that was held in any cell, of the limit it had.",
        figures.table(_memory(same)),
        "### What is refused\n\nBefore any work, in these words.",
        figures.table(_refused(known)),
        "### Every cell\n\nBut those that are refused; `code` is the digest of the "
        "package and the matrix that the cell ran with.",
        figures.table([_row(c, r) for c, r in known if r["outcome"] != REFUSED]),
    ]
    return "\n\n".join(parts)


def _summary(cells: Sequence[Cell], known: Sequence[tuple[Cell, Record]]) -> str:
    counts = {
        outcome: sum(r["outcome"] == outcome for _, r in known)
        for outcome in (SAME, REFUSED, FAILED)
    }
    missing = [c for c in cells if c not in {known_cell for known_cell, _ in known}]
    on_gpu = sum(c.needs_gpu for c in missing)
    lines = [
        f"{len(cells)} cells: {counts[SAME]} give the labels of the plain fit, "
        f"{counts[REFUSED]} are refused by name, {counts[FAILED]} fail; "
        f"{on_gpu} more need a GPU and {len(missing) - on_gpu} others were not run."
    ]
    seconds = defaultdict(list)
    for _, record in known:
        whence = (record["machine"], record["digest"])
        seconds[whence].append(record["cpu"] or 0.0)
    for (machine, digest), each in seconds.items():
        lines.append(
            f"* {machine} {len(each)} cells with code {digest} took "
            f"{sum(each) / 60:.0f} minutes of one core."
        )
    return "\n".join([lines[0], "", *lines[1:]])


def _order(known: Iterable[tuple[Cell, Record]]) -> list[str]:
    return list(dict.fromkeys(cell.estimator for cell, _ in known))


def _grid(
    known: Sequence[tuple[Cell, Record]],
    down: str,
    rows: Iterable[str],
    across: str,
    columns: Iterable[str],
) -> str:
    found = defaultdict(list)
    for cell, record in known:
        found[getattr(cell, down), getattr(cell, across)].append(record["ari"])
    used = [c for c in columns if any((r, c) in found for r in rows)]
    table = []
    for r in rows:
        line: dict[str, Any] = {down: r}
        for c in used:
            ari = found.get((r, c))
            line[c] = f"{len(ari)} ({min(ari):.4f})" if ari else None
        table.append(line)
    return figures.table(table)


def _memory(known: Sequence[tuple[Cell, Record]]) -> list[dict[str, Any]]:
    worst: dict[tuple[str, int], tuple[float, Record]] = {}
    for cell, record in known:
        if record["limit"]:
            share = record["held"] / record["limit"]
            key = (cell.place, cell.rows)
            worst[key] = max(worst.get(key, (0.0, {})), (share, record), key=_first)
    return [
        {
            "place": place,
            "rows": f"{rows:,}",
            "held GB": record["held"] / 1e9,
            "limit GB": record["limit"] / 1e9,
        }
        for (place, rows), (_, record) in sorted(worst.items())
    ]


def _first(pair: tuple[float, Record]) -> float:
    return pair[0]


def _refused(known: Sequence[tuple[Cell, Record]]) -> list[dict[str, Any]]:
    """One line per level and wording, the methods' own names left out."""
    found = defaultdict(list)
    for cell, record in known:
        if record["outcome"] == REFUSED:
            asked = _asked(cell)
            said = record["said"].partition(". ")[0].replace(cell.estimator, "…")
            found[asked, said].append(cell.estimator)
    return [
        {"asked for": asked, "refused by": ", ".join(dict.fromkeys(who)), "said": said}
        for (asked, said), who in found.items()
    ]


def _asked(cell: Cell) -> str:
    plain = {"memory", "narrow dense", "fit"}
    levels = (cell.place, cell.input, cell.use)
    return ", ".join(level for level in levels if level not in plain)


def _row(cell: Cell, record: Record) -> dict[str, Any]:
    held = None
    if record["limit"] and record["held"]:
        held = f"{record['held'] / 1e9:.2f} of {record['limit'] / 1e9:.2f}"
    ari = record["ari"]
    return {
        "method": cell.estimator,
        "place": cell.place,
        "input": cell.input,
        "rows": f"{cell.rows:,}",
        "use": cell.use,
        "ARI": None if ari is None else f"{ari:.4f}",
        "GB held": held,
        "CPU s": record["cpu"],
        "code": record["digest"],
        "outcome": record["outcome"],
    }
