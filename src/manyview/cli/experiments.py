"""``manyview compare, ablation, sensitivity, process, scaling, reproduce``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from manyview.cli import terminal
from manyview.cli.remaining import with_remaining_time

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from manyview.experiments.data_set import DataSet
    from manyview.experiments.execute import Limits
    from manyview.experiments.results_file import Results
    from manyview.present.table import Table

Data = Annotated[
    list[str],
    typer.Argument(metavar="DATA...", help="Data files or names of known data sets."),
]
Out = Annotated[
    str,
    typer.Option("--out", "-o", metavar="DIR", help="Folder; finished runs are kept."),
]
Seeds = Annotated[int, typer.Option(min=1, help="Number of seeds of every run.")]
Jobs = Annotated[int, typer.Option(min=1, help="Processes side by side.")]
Seconds = Annotated[
    float, typer.Option("--time-limit", min=1, help="Most seconds of one run.")
]
Memory = Annotated[
    str | None,
    typer.Option("--memory-limit", metavar="SIZE", help="Most memory of a run: 8GB."),
]
Retry = Annotated[bool, typer.Option("--retry", help="Run failed runs again.")]
Methods = Annotated[
    str | None,
    typer.Option(metavar="A,B,...", help="Methods, default all; see manyview methods."),
]
Order = Annotated[
    str,
    typer.Option(
        metavar="ORDER", help="file, sorted, shuffled, several of them, or all."
    ),
]


def compare(
    data: Data,
    methods: Methods = None,
    seeds: Seeds = 5,
    order: Order = "file,shuffled",
    out: Out = "results",
    jobs: Jobs = 1,
    time_limit: Seconds = 1800.0,
    memory_limit: Memory = None,
    retry: Retry = False,
) -> None:
    """Compare methods: seven scores, time and memory in several row orders.

    \b
    Example:
      manyview compare CCV --methods S2MVTC,ConcatKMeans --seeds 3 --order all
    """
    from manyview.experiments import compare as experiment
    from manyview.experiments.execute import execute

    sets, results = _sets(data), _results(out)
    runs = experiment.runs(
        sets, methods=_methods(methods), orders=_orders(order), n_seeds=seeds
    )
    with with_remaining_time():
        records = execute(runs, results, _limits(time_limit, memory_limit, jobs, retry))
    _show(results, "Results", sets, experiment.tables(records))


def ablation(
    data: Data,
    seeds: Seeds = 5,
    order: Order = "file,shuffled",
    out: Out = "results",
    jobs: Jobs = 1,
    time_limit: Seconds = 1800.0,
    memory_limit: Memory = None,
    retry: Retry = False,
) -> None:
    """Leave out one part of S2MVTC at a time, as published and by default.

    \b
    Example:
      manyview ablation CCV --seeds 3
    """
    from manyview.experiments import ablation as experiment
    from manyview.experiments.execute import execute

    sets, results = _sets(data), _results(out)
    runs = experiment.runs(sets, orders=_orders(order), n_seeds=seeds)
    with with_remaining_time():
        records = execute(runs, results, _limits(time_limit, memory_limit, jobs, retry))
    _show(results, "Ablation", sets, experiment.tables(records))


def sensitivity(
    data: Data,
    order: Annotated[str, typer.Option(help="file, sorted or shuffled.")] = "file",
    seed: Annotated[int, typer.Option(min=0, help="Seed of every cell.")] = 0,
    out: Out = "results",
    jobs: Jobs = 1,
    time_limit: Seconds = 1800.0,
    memory_limit: Memory = None,
    retry: Retry = False,
) -> None:
    """Scores over lam and beta, and over the numbers of anchors and frequencies.

    \b
    Example:
      manyview sensitivity CCV
    """
    from manyview.experiments import sensitivity as experiment
    from manyview.experiments.execute import execute

    sets, results = _sets(data), _results(out)
    runs = experiment.runs(sets, order=_orders(order)[0], seed=seed)
    with with_remaining_time():
        records = execute(runs, results, _limits(time_limit, memory_limit, jobs, retry))
    tables, figures = experiment.tables(records), experiment.figures(records)
    _show(results, "Sensitivity", sets, tables, figures)


def process(
    data: Data,
    order: Annotated[str, typer.Option(help="file, sorted or shuffled.")] = "file",
    seed: Annotated[int, typer.Option(min=0, help="Seed of the fit.")] = 0,
    method: Annotated[
        str, typer.Option(metavar="NAME", help="S2MVTC for the default setting.")
    ] = "S2MVTC as published",
    out: Out = "results",
    time_limit: Seconds = 1800.0,
    memory_limit: Memory = None,
    retry: Retry = False,
) -> None:
    """Draw how the embeddings form through the rounds, by t-SNE.

    \b
    Example:
      manyview process CCV --order shuffled
    """
    from manyview.experiments import learning_process as experiment
    from manyview.experiments.execute import execute

    sets, results = _sets(data), _results(out)
    runs = experiment.runs(sets, order=_orders(order)[0], seed=seed, method=method)
    with with_remaining_time():
        records = execute(runs, results, _limits(time_limit, memory_limit, 1, retry))
    figures = experiment.figures(records, results, sets)
    _show(results, "Learning process", sets, [], figures)
    for record in records:
        if record["status"] != "ok":
            terminal.note(f"{record['data']}: {record['error']}")


def scaling(
    along: Annotated[
        str, typer.Option(help="rows, anchors, components, views or rounds.")
    ] = "rows",
    method: Annotated[
        str, typer.Option(metavar="NAME", help="S2MVTC for the default setting.")
    ] = "S2MVTC as published",
    seeds: Seeds = 1,
    out: Out = "results",
    time_limit: Seconds = 1800.0,
    memory_limit: Memory = None,
    retry: Retry = False,
) -> None:
    """Measure time and memory along one size, beside the paper's claims.

    \b
    Example:
      manyview scaling --along anchors
    """
    from manyview.experiments import growth_of_cost as experiment
    from manyview.experiments.execute import execute

    results = _results(out)
    runs = experiment.runs(along, method=method, n_seeds=seeds)
    with with_remaining_time():
        records = execute(runs, results, _limits(time_limit, memory_limit, 1, retry))
    tables = experiment.tables(along, records)
    figures = experiment.figures(along, records)
    _show(results, "Cost", [], tables, figures)


def reproduce(
    data: Annotated[
        list[str] | None,
        typer.Option(
            "--data", metavar="DATA", help="May be repeated; default all that is found."
        ),
    ] = None,
    methods: Methods = None,
    seeds: Seeds = 5,
    order: Order = "file,shuffled",
    out: Out = "reproduction",
    jobs: Jobs = 1,
    time_limit: Seconds = 1800.0,
    memory_limit: Memory = None,
    retry: Retry = False,
    scale: Annotated[
        bool, typer.Option(help="Measure the cost along every size, too.")
    ] = True,
) -> None:
    """All tables and figures of the paper, for every data set that is found.

    Stopped and started again, it goes on where it was.

    \b
    Example:
      manyview reproduce --data CCV --seeds 5 --out ccv
    """
    from manyview.experiments.reproduce import reproduce as run_all

    sets = _sets(data) if data else _all_found()
    results = _results(out)
    with with_remaining_time():
        page = run_all(
            sets,
            results.folder,
            n_seeds=seeds,
            orders=_orders(order),
            methods=_methods(methods),
            limits=_limits(time_limit, memory_limit, jobs, retry),
            scale=scale,
        )
    terminal.say_written(page, "Tables and figures")


def _sets(data: Sequence[str]) -> list[DataSet]:
    from manyview.experiments.data_set import DataSet

    sets = [DataSet.of(d) for d in data]
    for s in sets:
        path = s.path()
        if path is not None and not path.exists():
            from manyview.datasets.registry import unknown

            raise unknown(s.source)
    return sets


def _all_found() -> list[DataSet]:
    from manyview.errors import FileError
    from manyview.experiments.data_set import found

    sets = found()
    if not sets:
        raise FileError(
            "No data set was found. Set MANYVIEW_DATA to the folder that has them, or "
            "name files with --data."
        )
    return sets


def _results(out: str) -> Results:
    from manyview.experiments.results_file import Results

    results = Results(Path(out).expanduser())
    terminal.note(f"Every finished run is kept in {results.path}.")
    return results


def _limits(seconds: float, memory: str | None, jobs: int, retry: bool) -> Limits:
    from manyview.engine.resources import parse_size
    from manyview.experiments.execute import Limits

    n_bytes = None if memory is None else parse_size(memory)
    return Limits(seconds=seconds, memory=n_bytes, jobs=jobs, retry_failed=retry)


def _orders(text: str) -> tuple[str, ...]:
    from manyview.errors import InputError
    from manyview.experiments.data_set import ORDERS

    wanted = ORDERS if text == "all" else tuple(t.strip() for t in text.split(","))
    for order in wanted:
        if order not in ORDERS:
            raise InputError(
                f"--order {order!r} is unknown; choose from {', '.join(ORDERS)} or all."
            )
    return wanted


def _methods(text: str | None) -> list[str] | None:
    """Names as the package spells them; an unknown one is refused before any run."""
    from manyview.experiments.estimators import PUBLISHED
    from manyview.methods import find_method

    if text is None:
        return None
    names = [t.strip() for t in text.split(",")]
    return [n if n == PUBLISHED else find_method(n).name for n in names]


def _show(
    results: Results,
    part: str,
    data: Sequence[DataSet],
    tables: list[Table],
    figures: dict[str, Figure] | None = None,
) -> None:
    """Print the tables; write them, the figures and the page of both."""
    from manyview.experiments.report import Report
    from manyview.experiments.reproduce import WORDS

    names = ", ".join(d.name for d in data) or "generated rows"
    intro = "Time and memory are those of the process that ran the method."
    report = Report(results.folder, f"{part}: {names}", intro)
    written = report.add(part, WORDS[part], tables, figures)
    for table in tables:
        terminal.say(table.to_markdown())
    for path in written:
        terminal.say_written(path, "Figure")
    if tables:
        terminal.say_written(results.folder / "tables", "Tables")
    terminal.say_written(report.page, "Page")
