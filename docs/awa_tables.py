"""The tables and figures of the page on AwA.

    MANYVIEW_DATA=... python docs/awa_tables.py awa

runs what the folder `awa` does not hold yet, one run at a time, and writes what the
page shows. The grid is coarser than the paper's, and all but the main table has one
seed: 30,475 rows of 8,252 features take their time.
"""

from __future__ import annotations

import sys
from pathlib import Path

from manyview.experiments import ablation, learning_process, paper_tables, sensitivity
from manyview.experiments.compare import IN_WORDS, SIDE_BY_SIDE
from manyview.experiments.data_set import DataSet
from manyview.experiments.estimators import PUBLISHED
from manyview.experiments.execute import execute
from manyview.experiments.planned_run import Record, Run
from manyview.experiments.results_file import Results
from manyview.experiments.seed_summary import most_seeds, summarise
from manyview.files.atomic import write_text
from manyview.present.plot import save
from manyview.present.table import Table

MEASURED = Path(__file__).parent / "measured"
# Rows in another order change no labels of these.
IN_ANY_ORDER = ("BMVC", "FPMVSCAG", "FSMSC", "AnchorSpectral", "S2MVTC")
ORDERS, N_SEEDS = ("file", "shuffled"), 3
# In place of the authors' last step, whose labels are fixed before the rounds.
OTHER_ENDS = ({"assign": "correlation"}, {"assign": "kmeans"})
# Every second of the paper's powers of ten.
GRID = {"lam-beta": dict.fromkeys(("lam", "beta"), (1e-4, 1e-2, 1.0, 100.0))}


def main_runs(data: DataSet) -> list[Run]:
    """The paper's Table 3: both orders where the order matters."""
    pairs = [(m, "shuffled") for m in IN_ANY_ORDER] + [(PUBLISHED, o) for o in ORDERS]
    found = [Run(data, o, m, {}, seed) for m, o in pairs for seed in range(N_SEEDS)]
    return [*found, *(Run(data, "file", PUBLISHED, e, 0) for e in OTHER_ENDS)]


def ablation_runs(data: DataSet) -> list[Run]:
    """The paper's Table 4, as published, one seed."""
    found = ablation.runs([data], orders=ORDERS, n_seeds=1)
    return [run for run in found if run.method == PUBLISHED]


def main_table(records: list[Record]) -> Table:
    """Every method here, on five views, and in the paper, on six."""
    found, paper = summarise(records), paper_tables.results()
    table = Table(
        name="awa",
        caption=f"AwA, five views, {most_seeds(found)} seeds (mean ± standard "
        "deviation), beside the paper's six views",
        columns=["method", "rows", *SIDE_BY_SIDE]
        + [f"{score}, paper" for score in SIDE_BY_SIDE]
        + ["CPU s"],
        notes=[f"Paper: {paper_tables.SOURCE}, Table 3, rows sorted by class."],
    )
    for s in found:
        printed = paper.get(("AwA", s.method))
        theirs = [f"{printed.scores[n]:.3f}" if printed else "–" for n in SIDE_BY_SIDE]
        ours = [s.show(n) for n in SIDE_BY_SIDE]
        cost = s.mean("cpu_s") or 0.0
        method = f"{s.method}, {s.setting['assign']}" if s.setting else s.method
        table.add(method, IN_WORDS[s.order], *ours, *theirs, f"{cost:.0f}")
    return table


def write(data: DataSet, results: Results) -> None:
    """Run what is missing, then write tables and figures."""

    def found(runs: list[Run]) -> list[Record]:
        return execute(runs, results)

    tables = [main_table(found(main_runs(data)))]
    tables += ablation.tables(found(ablation_runs(data)))[:1]
    traced = found(learning_process.runs([data]))
    figures = learning_process.figures(traced, results, [data])
    for order in ORDERS:
        runs = sensitivity.runs([data], order=order, surfaces=GRID)
        figures |= sensitivity.figures(found(runs))
    for table in tables:
        write_text(MEASURED / f"{table.name}.md".lower(), table.to_markdown())
    for name, figure in figures.items():
        save(figure, MEASURED / name.lower(), ("png",))


if __name__ == "__main__":
    write(DataSet.of("AwA"), Results(sys.argv[1]))
