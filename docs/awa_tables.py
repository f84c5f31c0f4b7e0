"""The tables and figures of the page on AwA.

    MANYVIEW_DATA=... python docs/awa_tables.py awa

runs what the folder `awa` does not hold yet, one run at a time, and writes what the
page shows. A grid coarser than the paper's, and one seed of what is no main result:
30,475 rows of 8,252 features take their time.
"""

from __future__ import annotations

import sys
from pathlib import Path

from manyview.experiments import ablation, compare, learning_process, sensitivity
from manyview.experiments.data_set import DataSet
from manyview.experiments.estimators import PUBLISHED
from manyview.experiments.execute import execute
from manyview.experiments.planned_run import Record, Run
from manyview.experiments.results_file import Results
from manyview.files.atomic import write_text
from manyview.present.plot import save

MEASURED = Path(__file__).parent / "measured"
# Rows in another order change no labels of these.
IN_ANY_ORDER = ("BMVC", "FPMVSCAG", "FSMSC", "AnchorSpectral", "S2MVTC")
ORDERS, N_SEEDS = ("file", "shuffled"), 3
# Every second of the paper's powers of ten.
GRID = {"lam-beta": dict.fromkeys(("lam", "beta"), (1e-4, 1e-2, 1.0, 100.0))}


def main_runs(data: DataSet) -> list[Run]:
    """The paper's Table 3: both orders where the order matters."""
    pairs = [(m, "shuffled") for m in IN_ANY_ORDER] + [(PUBLISHED, o) for o in ORDERS]
    return [Run(data, o, m, {}, seed) for m, o in pairs for seed in range(N_SEEDS)]


def ablation_runs(data: DataSet) -> list[Run]:
    """The paper's Table 4, as published, one seed."""
    found = ablation.runs([data], orders=ORDERS, n_seeds=1)
    return [run for run in found if run.method == PUBLISHED]


def write(data: DataSet, results: Results) -> None:
    """Run what is missing, then write tables and figures."""

    def found(runs: list[Run]) -> list[Record]:
        return execute(runs, results)

    tables = compare.tables(found(main_runs(data)))
    tables += ablation.tables(found(ablation_runs(data)))[:1]
    figures = learning_process.figures(
        found(learning_process.runs([data])), results, [data]
    )
    for order in ORDERS:
        runs = sensitivity.runs([data], order=order, surfaces=GRID)
        figures |= sensitivity.figures(found(runs))
    for table in tables:
        write_text(MEASURED / f"{table.name}.md".lower(), table.to_markdown())
    for name, figure in figures.items():
        save(figure, MEASURED / name.lower(), ("png",))


if __name__ == "__main__":
    write(DataSet.of("AwA"), Results(sys.argv[1]))
