"""The comparison table: every method, scores and cost, the row orders side by side."""

from collections.abc import Iterable, Sequence
from typing import Any

from manyview.experiments import paper_tables
from manyview.experiments.data_set import DataSet
from manyview.experiments.estimators import (
    ON_OUR_SCALING,
    ORACLE,
    PUBLISHED,
    REFERENCE,
    full_name,
    method_names,
    names_by_authors,
    names_on_our_scaling,
    notes_on,
)
from manyview.experiments.planned_run import Record, Run
from manyview.experiments.seed_summary import (
    COSTS,
    SCORES,
    Summary,
    by,
    cells,
    figure_cells,
    most_seeds,
    summarise,
)
from manyview.present.table import Cell, Table
from manyview.views.arguments import check_choice

COST_COLUMNS = ("wall s", "CPU s", "peak MB", "speed")
IN_WORDS = {
    "file": "rows as in the file",
    "sorted": "rows sorted by class",
    "shuffled": "rows shuffled",
}
IN_THE_PAPER = ", paper"
PREPARATIONS = ("authors", "own", "both")
SIDE_BY_SIDE = ("ACC", "NMI", "ARI")


def runs(
    data: Iterable[DataSet],
    *,
    methods: Sequence[str] | None = None,
    orders: Sequence[str] = ("file", "shuffled"),
    n_seeds: int = 5,
    preparation: str = "authors",
) -> list[Run]:
    """Every method (default: all, in both protocols, and the oracle).

    The `preparation` of the views is what the method itself does (``"authors"``), our
    scaling before it (``"own"``, for methods that do something else), or ``"both"``.
    """
    check_choice(preparation, "preparation", PREPARATIONS)
    usual = [*method_names(), *names_by_authors(), PUBLISHED]
    theirs = usual if methods is None else [full_name(m) for m in methods]
    ours = [m + ON_OUR_SCALING for m in theirs]
    ours = [m for m in ours if m in names_on_our_scaling()]
    wanted = {"authors": theirs, "own": ours, "both": [*theirs, *ours]}[preparation]
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
    table = Table(
        name=f"compare-{data}-{order}",
        caption=f"{data}, {IN_WORDS[order]}, {most_seeds(group)} seeds, default "
        "settings: mean ± standard deviation",
        columns=["method", *SCORES, *COST_COLUMNS],
    )
    ours = [s for s in group if s.method != ORACLE]
    # A bound, no method: k-means on the view that the known labels like best.
    oracle = [s for s in group if s.method == ORACLE]
    reference = next((s.mean("cpu_s") for s in ours if s.method == REFERENCE), None)
    for s, *shown in _rows(ours, reference):
        table.add(s.method, *shown)
        if order != "shuffled":
            _add_paper_row(table, data, s.method)
    for _, *shown in _rows(oracle, reference):
        table.add(ORACLE, *(c.text for c in shown))
    table.notes += _notes(table, ours)
    return table


def _rows(group: list[Summary], reference: float | None) -> Iterable[tuple[Any, ...]]:
    """Every summary with its scores, time, memory and speed against k-means (CPU)."""
    wall, cpu, peak = ([s.mean(n) for s in group] for n in COSTS[:3])
    megabytes = [None if x is None else x / 1e6 for x in peak]
    speed = [
        Cell(f"{reference / max(x, 1e-9):.2g}×" if reference and x is not None else "–")
        for x in cpu
    ]
    return zip(
        group,
        *(cells(group, score) for score in SCORES),
        figure_cells(wall, ".2f", lowest=True),
        figure_cells(cpu, ".2f", lowest=True),
        figure_cells(megabytes, ".0f", lowest=True),
        speed,
        strict=True,
    )


def _add_paper_row(table: Table, data: str, method: str) -> None:
    rows = paper_tables.results()
    row, base = rows.get((data, method)), rows.get((data, REFERENCE))
    if row is None or base is None:
        return
    marks = ("†" if n in row.suspicious else "" for n in SCORES)
    scores = (f"{row.scores[n]:.3f}{m}" for n, m in zip(SCORES, marks, strict=True))
    speed = f"{base.cpu_s / row.cpu_s:.2g}×"
    table.add(f"{method}{IN_THE_PAPER}", *scores, "–", f"{row.cpu_s:.2f}", "–", speed)


def _notes(table: Table, group: list[Summary]) -> list[str]:
    notes = [
        "Best in bold, second best underlined. Time and memory are those of the "
        "process that ran the method; speed is CPU time of k-means over that of "
        "the method. The oracle picks its view by the known labels and takes no part."
    ]
    texts = [c.text for row in table.rows for c in row]
    if any(t.endswith(IN_THE_PAPER) for t in texts):
        notes.append(
            f"Paper: {paper_tables.SOURCE}, rows sorted by class, other "
            "hardware; its k-means row matches k-means on one unscaled view."
        )
    if any(t.endswith("†") for t in texts):
        notes.append("† cannot be right as printed, or repeats another row.")
    if any(r.get("anchors") for s in group for r in s.ok):
        notes.append("The published setting uses the authors' anchors.")
    notes += notes_on(s.method for s in group)
    return notes + failures((s.method, s) for s in group)


def failures(found: Iterable[tuple[str, Summary | None]]) -> list[str]:
    """A line for every name with a run that failed."""
    return [f"{name} {s.failure}" for name, s in found if s and s.failure]


def _side_by_side(data: str, group: list[Summary], orders: list[str]) -> Table:
    """What each method scores in every row order."""
    pairs = [(score, order) for score in SIDE_BY_SIDE for order in orders]
    table = Table(
        name=f"orders-{data}",
        caption=f"{data}, the row orders side by side "
        f"({', '.join(IN_WORDS[o] for o in orders)}): mean ± standard deviation",
        columns=["method", *(f"{score} {order}" for score, order in pairs)],
    )
    found = {(s.method, s.order): s for s in group if s.method != ORACLE}
    methods = list(dict.fromkeys(method for method, _ in found))
    table.notes += notes_on(methods)
    shown = [cells([found.get((m, o)) for m in methods], score) for score, o in pairs]
    for row in zip(methods, *shown, strict=True):
        table.add(*row)
    return table
