"""The comparison table: every method, scores and cost, the row orders side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from manyview.experiments import paper_tables
from manyview.experiments.data_set import DataSet
from manyview.experiments.estimators import ORACLE, PUBLISHED, REFERENCE, method_names
from manyview.experiments.planned_run import Record, Run
from manyview.experiments.seed_summary import SCORES, Summary, by, summarise
from manyview.present.table import Cell, Table, mark_best

COST_COLUMNS = ("wall s", "CPU s", "peak MB", "speed")
IN_WORDS = {
    "file": "rows as in the file",
    "sorted": "rows sorted by class",
    "shuffled": "rows shuffled",
}
IN_THE_PAPER = ", paper"
SIDE_BY_SIDE = ("ACC", "NMI", "ARI")


def runs(
    data: Iterable[DataSet],
    *,
    methods: Sequence[str] | None = None,
    orders: Sequence[str] = ("file", "shuffled"),
    n_seeds: int = 5,
) -> list[Run]:
    """Every method (default: all, with the published setting and the oracle)."""
    wanted = list(methods) if methods else [*method_names(), PUBLISHED]
    return [
        Run(d, order, method, {}, seed)
        for d in data
        for method in [*wanted, ORACLE]
        for order in orders
        for seed in range(n_seeds)
    ]


def tables(records: Iterable[Record]) -> list[Table]:
    """One table per data set and order in the paper's form, one of all orders."""
    out = []
    for data, group in by(summarise(records), lambda s: s.data).items():
        orders = by(group, lambda s: s.order)
        out += [_block(data, order, found) for order, found in orders.items()]
        if len(orders) > 1:
            out.append(_side_by_side(data, group, list(orders)))
    return out


def _block(data: str, order: str, group: list[Summary]) -> Table:
    """The form of the paper's Table 3 for one data set in one order."""
    n_seeds = max(len(s.records) for s in group)
    table = Table(
        name=f"compare-{data}-{order}",
        caption=f"{data}, {IN_WORDS[order]}, {n_seeds} seeds, default settings: "
        "mean ± standard deviation",
        columns=["method", *SCORES, *COST_COLUMNS],
    )
    ours = [s for s in group if s.method != ORACLE]
    reference = next((s.mean("cpu_s") for s in ours if s.method == REFERENCE), None)
    marks = {name: mark_best([s.mean(name) for s in ours]) for name in SCORES}
    for cost in ("wall_s", "cpu_s", "peak_bytes"):
        marks[cost] = mark_best([s.mean(cost) for s in ours], lowest=True)
    for i, s in enumerate(ours):
        scores = [Cell(s.show(n), marks[n][i]) for n in SCORES]
        table.add(s.method, *scores, *_costs(s, reference, marks, i))
        if order != "shuffled":
            _add_paper_row(table, data, s.method)
    _add_oracle(table, group, reference)
    table.notes += _notes(table, ours)
    return table


def _costs(
    s: Summary, reference: float | None, marks: dict[str, list[str | None]], i: int
) -> list[Cell]:
    """Time and memory of the process, and its speed against k-means (CPU)."""
    wall, cpu, peak = (s.mean(n) for n in ("wall_s", "cpu_s", "peak_bytes"))
    if wall is None or cpu is None or peak is None:
        return [Cell("–")] * len(COST_COLUMNS)
    speed = f"{reference / max(cpu, 1e-9):.2g}×" if reference else "–"
    mark = {n: m[i] if i < len(m) else None for n, m in marks.items()}
    return [
        Cell(f"{wall:.2f}", mark["wall_s"]),
        Cell(f"{cpu:.2f}", mark["cpu_s"]),
        Cell(f"{peak / 1e6:.0f}", mark["peak_bytes"]),
        Cell(speed),
    ]


def _add_paper_row(table: Table, data: str, method: str) -> None:
    rows = paper_tables.results()
    row, base = rows.get((data, method)), rows.get((data, REFERENCE))
    if row is None or base is None:
        return
    scores = [
        f"{row.scores[n]:.3f}" + ("†" if n in row.suspicious else "") for n in SCORES
    ]
    speed = f"{base.cpu_s / row.cpu_s:.2g}×"
    table.add(f"{method}{IN_THE_PAPER}", *scores, "–", f"{row.cpu_s:.2f}", "–", speed)


def _add_oracle(table: Table, group: list[Summary], reference: float | None) -> None:
    """k-means on the view that the known labels like best: a bound, no method."""
    for s in group:
        if s.method != ORACLE:
            continue
        none: dict[str, list[str | None]] = {
            n: [] for n in ("wall_s", "cpu_s", "peak_bytes")
        }
        costs = _costs(s, reference, none, 0)
        table.add(ORACLE, *(s.show(n) for n in SCORES), *costs)


def _notes(table: Table, group: list[Summary]) -> list[str]:
    notes = [
        "Best in bold, second best underlined. Time and memory are those of the "
        "process that ran the method; speed is CPU time of k-means over that of "
        "the method. The oracle picks its view by the known labels and takes no part."
    ]
    cells = [c.text for row in table.rows for c in row]
    if any(c.endswith(IN_THE_PAPER) for c in cells):
        notes.append(
            f"Paper: {paper_tables.SOURCE}, rows sorted by class, other "
            "hardware; its k-means row matches k-means on one unscaled view."
        )
    if any(c.endswith("†") for c in cells):
        notes.append("† cannot be right as printed, or repeats another row.")
    if any(r.get("anchors") for s in group for r in s.ok):
        notes.append("The published setting uses the authors' anchors.")
    notes += [f"{s.method} failed: {_first_line(s.error)}" for s in group if s.error]
    return notes


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0][:200]


def _side_by_side(data: str, group: list[Summary], orders: list[str]) -> Table:
    """What each method scores in every row order."""
    columns = [f"{score} {order}" for score in SIDE_BY_SIDE for order in orders]
    table = Table(
        name=f"orders-{data}",
        caption=f"{data}, the row orders side by side "
        f"({', '.join(IN_WORDS[o] for o in orders)}): mean ± standard deviation",
        columns=["method", *columns],
    )
    methods = by((s for s in group if s.method != ORACLE), lambda s: s.method)
    found = {(s.method, s.order): s for s in group}
    marks = {
        (score, order): mark_best(
            [_mean(found.get((m, order)), score) for m in methods]
        )
        for score in SIDE_BY_SIDE
        for order in orders
    }
    for i, method in enumerate(methods):
        cells = []
        for (score, order), column in marks.items():
            s = found.get((method, order))
            cells.append(Cell(s.show(score), column[i]) if s else Cell("–"))
        table.add(method, *cells)
    return table


def _mean(s: Summary | None, score: str) -> float | None:
    return None if s is None else s.mean(score)
