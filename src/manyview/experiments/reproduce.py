"""Everything for every data set that is found, in one folder.

tables/         Markdown, LaTeX and CSV
figures/        PNG and SVG
results.jsonl   one record per run
index.html      all of it on one page
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from . import ablation, compare, process, scaling, sensitivity
from .data_set import DataSet
from .execute import Limits, execute
from .figures import save
from .index_page import write_page
from .results import Results
from .run import Run
from .table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass
class Report:
    """A folder that fills with tables and figures."""

    folder: Path
    tables: list[Table] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)

    def add_tables(self, tables: Sequence[Table]) -> None:
        """Write and remember."""
        for table in tables:
            table.write(self.folder / "tables")
        self.tables += tables

    def add_figures(self, figures: dict[str, Figure]) -> None:
        """Write and remember."""
        for name, figure in figures.items():
            stem = "".join(c if c.isalnum() or c in "-_." else "-" for c in name)
            save(figure, self.folder / "figures" / stem)
            self.figures.append(stem)

    def write_page(self, title: str, intro: str) -> Path:
        """The index page."""
        return write_page(self.folder, title, intro, self.tables, self.figures)


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
    """Run all experiments and write the folder; its index page.

    What has a result in the folder is not run again.
    """
    results, report = Results(folder), Report(Path(folder))

    def do(runs: list[Run], *tables: Callable[..., list[Table]]) -> None:
        records = execute(runs, results, limits)
        for make in tables:
            report.add_tables(make(records))
        report.write_page(*_words(data, n_seeds))

    do(compare.runs(data, methods=methods, orders=orders, n_seeds=n_seeds),
       compare.tables)  # fmt: skip
    do(ablation.runs(data, orders=tuple(orders), n_seeds=n_seeds), ablation.tables)
    surfaces = sensitivity.runs(data)
    do(surfaces, sensitivity.tables)
    report.add_figures(sensitivity.figures(results.of(surfaces)))
    traced = process.runs(data)
    do(traced)
    report.add_figures(process.figures(results.of(traced), results, data))
    for along in scaling.STEPS if scale else ():
        steps = scaling.runs(along)
        do(steps)
        report.add_tables(scaling.tables(along, results.of(steps)))
        report.add_figures(scaling.figures(along, results.of(steps)))
    return report.write_page(*_words(data, n_seeds))


def _words(data: Sequence[DataSet], n_seeds: int) -> tuple[str, str]:
    names = ", ".join(d.name for d in data)
    return (
        "S²MVTC and the compared methods",
        f"Data: {names}. {n_seeds} seeds per run, one per cell of a surface. Every "
        "run had a process of its own; its time and memory are measured there.",
    )
