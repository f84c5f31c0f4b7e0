"""``manyview compare, ablation, sensitivity, process, scaling, reproduce, audit``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from typer import Argument, Option

import manyview
from manyview.cli import options, terminal
from manyview.cli.estimator_options import make_estimator, parse_settings
from manyview.cli.read_input import read_views
from manyview.errors import FileError, InputError, ManyviewError
from manyview.running.progress import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from manyview.experiments.data_set import DataSet
    from manyview.experiments.execute import Limits
    from manyview.experiments.planned_run import Record, Run
    from manyview.present.table import Table

Data = Annotated[
    list[str],
    Argument(metavar="DATA...", help="Data files or names of known data sets."),
]
Out = Annotated[
    str, Option("--out", "-o", metavar="DIR", help="Folder; finished runs are kept.")
]
Seeds = Annotated[int, Option(min=1, help="Number of seeds of every run.")]
Jobs = Annotated[int, Option(min=1, help="Processes side by side.")]
Seconds = Annotated[float, Option(min=1, help="Most seconds of one run.")]
Retry = Annotated[bool, Option("--retry", help="Run failed runs again.")]
Methods = Annotated[
    str | None,
    Option(metavar="A,B,...", help="Methods, default all; see manyview methods."),
]
Orders = Annotated[
    str,
    Option(metavar="ORDER", help="file, sorted, shuffled, several of them, or all."),
]
Order = Annotated[Literal["file", "sorted", "shuffled"], Option(help="Of the rows.")]
Preparation = Annotated[
    str,
    Option(metavar="HOW", help="Of the views: the method's (authors), own, or both."),
]
Method = Annotated[str, Option(metavar="NAME", help="S2MVTC for the default setting.")]


def compare(
    data: Data,
    methods: Methods = None,
    seeds: Seeds = 5,
    order: Orders = "file,shuffled",
    preparation: Preparation = "authors",
    out: Out = "results",
    jobs: Jobs = 1,
    time_limit: Seconds = 1800.0,
    memory_limit: options.MemoryLimit = None,
    retry: Retry = False,
) -> None:
    """Compare methods: seven scores, time and memory in several row orders.

    \b
    Example:
      manyview compare CCV --methods S2MVTC,ConcatKMeans --seeds 3 --order all
    """
    from manyview.experiments import compare as experiment

    bench = _Bench(_sets(data), out, _limits(time_limit, memory_limit, retry, jobs))
    runs = experiment.runs(
        bench.sets,
        methods=None if methods is None else methods.split(","),
        orders=_orders(order),
        n_seeds=seeds,
        preparation=preparation,
    )
    bench.show("Results", experiment.tables(bench.run(runs)))


def ablation(
    data: Data,
    seeds: Seeds = 5,
    order: Orders = "file,shuffled",
    out: Out = "results",
    jobs: Jobs = 1,
    time_limit: Seconds = 1800.0,
    memory_limit: options.MemoryLimit = None,
    retry: Retry = False,
) -> None:
    """Leave out one part of S2MVTC at a time, as published and by default.

    \b
    Example:
      manyview ablation CCV --seeds 3
    """
    from manyview.experiments import ablation as experiment

    bench = _Bench(_sets(data), out, _limits(time_limit, memory_limit, retry, jobs))
    runs = experiment.runs(bench.sets, orders=_orders(order), n_seeds=seeds)
    bench.show("Ablation", experiment.tables(bench.run(runs)))


def sensitivity(
    data: Data,
    order: Order = "file",
    seed: options.Seed = 0,
    out: Out = "results",
    jobs: Jobs = 1,
    time_limit: Seconds = 1800.0,
    memory_limit: options.MemoryLimit = None,
    retry: Retry = False,
) -> None:
    """Scores over lam and beta, and over the numbers of anchors and frequencies.

    \b
    Example:
      manyview sensitivity CCV
    """
    from manyview.experiments import sensitivity as experiment

    bench = _Bench(_sets(data), out, _limits(time_limit, memory_limit, retry, jobs))
    records = bench.run(experiment.runs(bench.sets, order=order, seed=seed))
    bench.show("Sensitivity", experiment.tables(records), experiment.figures(records))


def process(
    data: Data,
    order: Order = "file",
    seed: options.Seed = 0,
    method: Method = "S2MVTC as published",
    out: Out = "results",
    time_limit: Seconds = 1800.0,
    memory_limit: options.MemoryLimit = None,
    retry: Retry = False,
) -> None:
    """Draw how the embeddings form through the rounds, by t-SNE.

    \b
    Example:
      manyview process CCV --order shuffled
    """
    from manyview.experiments import learning_process as experiment

    bench = _Bench(_sets(data), out, _limits(time_limit, memory_limit, retry))
    records = bench.run(
        experiment.runs(bench.sets, order=order, seed=seed, method=method)
    )
    figures = experiment.figures(records, bench.results, bench.sets)
    bench.show("Learning process", [], figures)
    for record in records:
        if record["status"] != "ok":
            terminal.note(f"{record['data']}: {record['error']}")


def scaling(
    along: Annotated[
        str, Option(help="rows, anchors, components, views or rounds.")
    ] = "rows",
    method: Method = "S2MVTC as published",
    seeds: Seeds = 1,
    out: Out = "results",
    time_limit: Seconds = 1800.0,
    memory_limit: options.MemoryLimit = None,
    retry: Retry = False,
) -> None:
    """Measure time and memory along one size, beside the paper's claims.

    \b
    Example:
      manyview scaling --along anchors
    """
    from manyview.experiments import growth_of_cost as experiment

    bench = _Bench([], out, _limits(time_limit, memory_limit, retry))
    records = bench.run(experiment.runs(along, method=method, n_seeds=seeds))
    figures = experiment.figures(along, records)
    bench.show("Cost", experiment.tables(along, records), figures)


def reproduce(
    data: Annotated[
        list[str] | None,
        Option(metavar="DATA", help="May be repeated; default all that is found."),
    ] = None,
    methods: Methods = None,
    seeds: Seeds = 5,
    order: Orders = "file,shuffled",
    out: Out = "reproduction",
    jobs: Jobs = 1,
    time_limit: Seconds = 1800.0,
    memory_limit: options.MemoryLimit = None,
    retry: Retry = False,
    scale: Annotated[
        bool, Option(help="Measure the cost along every size, too.")
    ] = True,
) -> None:
    """All tables and figures of the paper, for every data set that is found.

    Stopped and started again, it goes on where it was.

    \b
    Example:
      manyview reproduce --data CCV --seeds 5 --out ccv
    """
    from manyview.experiments.reproduce import reproduce as run_all

    bench = _Bench(_sets(data), out, _limits(time_limit, memory_limit, retry, jobs))
    with terminal.with_remaining_time():
        page = run_all(
            bench.sets,
            bench.results.folder,
            n_seeds=seeds,
            orders=_orders(order),
            methods=None if methods is None else methods.split(","),
            limits=bench.limits,
            scale=scale,
        )
    terminal.say_written(page, "Tables and figures")


class _Bench:
    """What an experiment runs on, where its runs are kept and what they may take."""

    def __init__(self, sets: list[DataSet], out: str, limits: Limits) -> None:
        from manyview.experiments.results_file import Results

        self.sets, self.limits = sets, limits
        self.results = Results(Path(out).expanduser())
        terminal.say_written(self.results.path, "Every finished run is", terminal.note)

    def run(self, runs: Sequence[Run]) -> list[Record]:
        """The records of all runs; those that are there already are not run again."""
        from manyview.experiments.execute import execute

        with terminal.with_remaining_time():
            records = execute(runs, self.results, self.limits)
        if records and all(r["status"] == "failed" for r in records):
            raise ManyviewError(
                f"Not one run ended well. {records[0]['method']} failed on "
                f"{records[0]['data']}: {records[0]['error']} When that is mended, "
                "--retry runs failed runs again."
            )
        return records

    def show(
        self, part: str, tables: list[Table], figures: dict[str, Figure] | None = None
    ) -> None:
        """Print the tables; write them, the figures and the page of both."""
        from manyview.experiments.index_page import IndexPage
        from manyview.experiments.reproduce import WORDS

        names = ", ".join(d.name for d in self.sets) or "generated rows"
        intro = "Time and memory are those of the process that ran the method."
        index = IndexPage(self.results.folder, f"{part}: {names}", intro)
        written = index.add(part, WORDS[part], tables, figures)
        for table in tables:
            terminal.say(table.to_markdown())
        for path in written:
            terminal.say_written(path, "Figure")
        if tables:
            terminal.say_written(self.results.folder / "tables", "Tables")
        terminal.say_written(index.path, "Page")


def _sets(data: Sequence[str] | None) -> list[DataSet]:
    """The named data sets, or all that are found; a missing file is refused now."""
    from manyview.datasets.registry import none_found, unknown
    from manyview.experiments.data_set import DataSet, found, told_apart

    for given in data or ():
        path = DataSet.of(given).path()
        if path is not None and not path.exists():
            raise unknown(given)
    sets = told_apart(map(DataSet.of, data)) if data else found()
    if not sets:
        raise FileError(
            f"No data set was found. {none_found()}Set MANYVIEW_DATA to the folder "
            "that has them, or name files with --data."
        )
    return sets


def _limits(seconds: float, memory: str | None, retry: bool, jobs: int = 1) -> Limits:
    from manyview.engine.resources import parse_size
    from manyview.experiments.execute import Limits

    n_bytes = None if memory is None else parse_size(memory)
    return Limits(seconds=seconds, memory=n_bytes, jobs=jobs, retry_failed=retry)


def _orders(text: str) -> tuple[str, ...]:
    from manyview.experiments.data_set import ORDERS
    from manyview.views.arguments import check_choice

    wanted = ORDERS if text == "all" else tuple(t.strip() for t in text.split(","))
    for order in wanted:
        check_choice(order, "--order", ORDERS)
    return wanted


def audit(
    files: options.Files,
    clusters: Annotated[
        int | None,
        Option("--clusters", "-k", metavar="K", help="Default: the number of classes."),
    ] = None,
    method: options.Method = "S2MVTC",
    settings: options.Settings = None,
    seed: options.Seed = 0,
    labels: options.LabelSource = None,
    view: options.ViewNames = None,
    join: options.Join = None,
    figure: options.FigurePath = None,
    as_json: options.AsJson = False,
) -> None:
    """Find out how much of a partition comes from the order of the rows.

    \b
    Example:
      manyview audit CCV
      manyview audit data.npz -k 8 --method SequenceS2MVTC --figure order
    """
    views = read_views(files, view, labels, join=join)
    if clusters is None and views.labels is None:
        raise InputError(
            "The data has no classes to count. Say how many clusters with --clusters."
        )
    if clusters is None:
        there = manyview.metrics.has_class(views.labels)
        clusters = len(set(views.labels[there].tolist()))
    model = make_estimator(method, str(clusters), seed, parse_settings(settings))
    with shown(True, "Auditing the row order"):
        found = manyview.audit_order(
            views, clusters, estimator=model, random_state=seed
        )
    if as_json:
        known = {"trustworthy": found.trustworthy, "dependence": found.dependence}
        terminal.say_json({"sentence": found.sentence, **known, "runs": found.scores})
    else:
        terminal.say(found.table.to_markdown())
        terminal.say(found.sentence)
    terminal.draw(found.figure, figure)
