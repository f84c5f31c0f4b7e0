"""Everything for every data set that is found, in one folder.

tables/ (Markdown, LaTeX, CSV) and figures/ (PNG, SVG) hold what index.html shows
on one page, results.jsonl one record per run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from manyview.datasets import summary
from manyview.experiments import (
    ablation,
    compare,
    growth_of_cost,
    learning_process,
    sensitivity,
)
from manyview.experiments.data_set import DataSet
from manyview.experiments.execute import Limits, execute
from manyview.experiments.index_page import IndexPage
from manyview.experiments.results_file import Results
from manyview.present.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    Figures = dict[str, Figure]

# What the sections say above their tables and figures.
WORDS = {
    "Data": "Most files of the field are sorted by class: a method that looks at row "
    "numbers can read the classes there.",
    "Results": "Every method with its default setting, scored against the known "
    "classes, which no method sees. What a method loses when the rows are shuffled "
    "came from their order.",
    "Ablation": "S²MVTC without one part at a time, as published and by default.",
    "Sensitivity": "S²MVTC as published over two of its settings at a time; one seed "
    "per cell.",
    "Learning process": "The embeddings of S²MVTC as published through its rounds.",
    "Cost": "Time and memory of a fit along one size, on generated rows, beside what "
    "the paper claims.",
}


def reproduce(
    data: Sequence[DataSet],
    folder: Path,
    *,
    n_seeds: int = 5,
    orders: Sequence[str] = ("file", "shuffled"),
    methods: Sequence[str] | None = None,
    limits: Limits | None = None,
    scale: bool = True,
) -> Path:
    """Run all that has no result in the folder yet and write it; its index page."""
    limits, results = limits or Limits(), Results(folder)
    names = ", ".join(d.name for d in data)
    index = IndexPage(
        Path(folder),
        "S²MVTC and the compared methods",
        f"Data: {names}. {n_seeds} seeds per run, one per cell of a surface. Time and "
        "memory are those of the process that ran the method.",
    )

    def add(
        title: str, tables: Sequence[Table], figures: Figures | None = None
    ) -> None:
        index.add(title, WORDS[title], tables, figures)

    runs = compare.runs(data, methods=methods, orders=orders, n_seeds=n_seeds)
    add("Data", [data_table(data)])
    add("Results", compare.tables(execute(runs, results, limits)))
    runs = ablation.runs(data, orders=tuple(orders), n_seeds=n_seeds)
    add("Ablation", ablation.tables(execute(runs, results, limits)))
    records = execute(sensitivity.runs(data), results, limits)
    add("Sensitivity", sensitivity.tables(records), sensitivity.figures(records))
    records = execute(learning_process.runs(data), results, limits)
    add("Learning process", [], learning_process.figures(records, results, data))
    if scale:
        add("Cost", *_cost(results, limits))
    return index.path


def data_table(data: Iterable[DataSet]) -> Table:
    """The paper's Table 2, with the order of the rows."""
    table = Table(
        name="datasets",
        caption="The data sets as they are filed",
        columns=["data", "rows", "features of the views", "classes", "smallest class",
                 "largest class", "row order", "changes of class"],
        notes=["Changes of class: rows whose class is another than that of the row "
               "before; classes - 1 of them where a file is sorted."],
    )  # fmt: skip
    for d in data:
        facts = summary(d.load())
        features = ", ".join(f"{v['features']:,}" for v in facts["views"])
        low, high = facts["class_sizes"] or ("–", "–")
        shown = (facts["classes"], low, high, facts["order"], facts["label_changes"])
        known = ("–" if x is None else f"{x}" for x in shown)
        table.add(d.name, f"{facts['rows']:,}", features, *known)
    return table


def _cost(results: Results, limits: Limits) -> tuple[list[Table], Figures]:
    """Along every size; one run at a time, or they would slow each other down."""
    tables: list[Table] = []
    figures: Figures = {}
    for along in growth_of_cost.STEPS:
        records = execute(growth_of_cost.runs(along), results, replace(limits, jobs=1))
        tables += growth_of_cost.tables(along, records)
        figures |= growth_of_cost.figures(along, records)
    return tables, figures
