"""The table of methods, from their tags, their run on CCV and the benchmark.

    python docs/method_table.py

writes docs/measured/methods.md. What was measured on CCV comes from
docs/measured/compare-ccv-shuffled.csv (docs/ccv_tables.py brings it there), means over
the data sets that every method has finished from the benchmark, where there is one.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

from manyview import all_methods
from manyview.experiments.estimators import NOTES
from manyview.methods import Method
from manyview.present.table import Cell, Table, mark_best

DOCS = Path(__file__).parent
PAGE = DOCS / "measured" / "methods.md"
ON_CCV = DOCS / "measured" / "compare-ccv-shuffled.csv"
YES, NO = "yes", "–"
# The parameter that takes a method's rows elsewhere.
PLACES = {"disk": "memory_limit", "GPU": "device", "Dask": "engine"}


def find_benchmark() -> Path | None:
    """The folder of the honest benchmark, if one lies in the repository."""
    found = sorted(DOCS.parent.glob("benchmarks/**/honest.json"))
    return found[0].parent if found else None


def measured(folder: Path) -> tuple[dict[str, tuple[float, float]], int]:
    """Mean accuracy and CPU seconds by method, and over how many data sets."""
    entries = json.loads((folder / "honest.json").read_text("utf-8"))["shuffled"]
    entries = [e for e in entries if not e["setting"]]
    methods = {m.name for m in all_methods()} & {e["method"] for e in entries}
    done: dict[str, dict[str, Any]] = {}
    for e in entries:
        if e["method"] in methods and e["scores"]["ACC"] and not e["error"]:
            done.setdefault(e["data"], {})[e["method"]] = e
    common = [found for found in done.values() if set(found) == methods]
    if not common:
        return {}, 0
    return {m: (_accuracy(m, common), _cost(m, common)) for m in methods}, len(common)


def on_ccv() -> dict[str, list[str]]:
    """Accuracy, CPU seconds and peak memory of every method on shuffled CCV."""
    with ON_CCV.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    shown = ("ACC", "CPU s", "peak MB")
    return {r["method"]: [r[c].partition(" ")[0] for c in shown] for r in rows}


def _accuracy(method: str, common: list[dict[str, Any]]) -> float:
    values = [found[method]["scores"]["ACC"] for found in common]
    return sum(sum(v) / len(v) for v in values) / len(values)


def _cost(method: str, common: list[dict[str, Any]]) -> float:
    return float(sum(found[method]["cpu_s"] for found in common) / len(common))


def method_table() -> Table:
    """One row per method."""
    folder = find_benchmark()
    figures, n_sets = measured(folder) if folder else ({}, 0)
    methods, single = all_methods(), on_ccv()
    table = Table(
        name="methods",
        caption="Every method of the package",
        columns=[
            *("method", "rows beyond memory", "order of the rows", "missing views"),
            *("new rows", "chooses k", "deterministic"),
            *("CCV: ACC", "CCV: CPU s", "CCV: peak MB"),
            *(("all sets: ACC", "all sets: CPU s") if figures else ()),
        ],
    )
    best = mark_best([figures.get(m.name, (None,))[0] for m in methods])
    for method, mark in zip(methods, best, strict=True):
        cells = [Cell(cell) for cell in _describe(method)]
        cells += [Cell(x) for x in single.get(method.name, [NO] * 3)]
        if figures:
            found = figures.get(method.name)
            cells += [
                Cell(f"{found[0]:.3f}" if found else NO, mark),
                Cell(f"{found[1]:.1f}" if found else NO),
            ]
        table.add(*cells)
    table.notes.append("Measured on shuffled rows with default settings.")
    table.notes.append(NOTES["SMERAMVC"])
    if figures:
        table.notes.append(
            f"All sets: means over the {n_sets} data sets that every method named "
            "there finished. Best in bold, second best underlined."
        )
    return table


def _describe(method: Method) -> list[str]:
    tags, estimator = method.tags, method.estimator
    known = estimator().get_params()
    return [
        f"`{method.name}`",
        ", ".join(where for where, name in PLACES.items() if name in known) or NO,
        "matters" if tags.order_dependent else "ignored",
        *(YES if has else NO for has in (tags.missing_views, tags.predicts)),
        YES if estimator.chooses_n_clusters else NO,
        YES if tags.deterministic else NO,
    ]


if __name__ == "__main__":
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(method_table().to_markdown(), "utf-8")
