"""``manyview fit``, ``choose-k``, ``score`` and ``methods``."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import manyview
from manyview.cli import options, terminal
from manyview.cli.estimator_options import (
    choose_smoothing,
    connected,
    make_estimator,
    parse_settings,
    place_settings,
)
from manyview.cli.known_rows import KnownRows
from manyview.cli.read_input import (
    known_scores,
    match_rows,
    read_labels,
    read_views,
    record_of,
)
from manyview.cli.run_output import RunOutput
from manyview.errors import InputError
from manyview.present.table import Table
from manyview.running.progress import shown

if TYPE_CHECKING:
    from manyview.base import MultiViewClusterer
    from manyview.files.run_folder import Run
    from manyview.selection import Choice


def fit(
    files: options.Files,
    clusters: Annotated[
        str,
        Option("--clusters", "-k", metavar="K", help="Number of clusters, or auto."),
    ],
    out: options.OutFolder,
    method: options.Method = "S2MVTC",
    smoothing: options.Smoothing = None,
    seed: Annotated[int, Option(help="Seed of all random choices.")] = 0,
    labels: options.LabelSource = None,
    known: options.KnownRows = None,
    must_link: options.MustLink = None,
    cannot_link: options.CannotLink = None,
    cluster_sizes: options.ClusterSizes = None,
    min_cluster_size: options.MinClusterSize = None,
    view: options.ViewNames = None,
    fill: options.Fill = None,
    join: options.Join = None,
    settings: options.Settings = None,
    engine: options.Engine = "local",
    scheduler: options.Scheduler = None,
    memory_limit: options.MemoryLimit = None,
    checkpoint: options.CheckpointFolder = None,
    write_back: options.WriteBack = None,
    force: options.Force = False,
) -> None:
    """Cluster the rows of a data set; write labels, embedding, model and a record.

    \b
    Example:
      manyview fit pixels.npy profiles.npy --clusters 10 --out runs/first
      manyview fit data.mat -k 20 --set n_anchors=500 --labels Y -o runs/second
      manyview fit cells.h5mu -k 12 --write-back clusters -o runs/cells
      manyview fit a.npy b.npy -k 4 --known some_labels.csv -o runs/third
    """
    method, smooth = choose_smoothing(method, smoothing)
    place = place_settings(engine, scheduler, checkpoint, memory_limit)
    given = smooth | parse_settings(settings) | place
    model = make_estimator(method, clusters, seed, given)
    sizes = {"cluster_sizes": cluster_sizes, "min_cluster_size": min_cluster_size}
    told = KnownRows(model, known, must_link, cannot_link, **sizes)
    result = RunOutput(out, files, write_back, force=force)
    with connected(scheduler):
        far = scheduler is not None
        with result.timed("reading"):
            views = read_views(files, view, labels, fill, join, by_rows=far)
        if checkpoint is not None:
            terminal.say_written(checkpoint, "Every finished round is", terminal.note)
        run = _fit(model, views, record_of(files, labels, fill, join), result, told)
        result.write(run, model)
    _say(run, views, model)
    told.say(model)
    result.say(run, "Labels, model and record")


def _fit(
    model: MultiViewClusterer,
    views: manyview.Views,
    source: dict[str, Any],
    result: RunOutput,
    told: KnownRows,
) -> Run:
    known = told.of(views)
    with result.timed("fitting"), shown(True, f"Fitting {type(model).__name__}"):
        model.fit(views, **known)
    extra: dict[str, Any] = {"command": "fit", **told.record(model)}
    if hasattr(model, "choice_"):
        extra["choice"] = _choice(model.choice_)
    return run_of(model, views, source, result.timings, extra)


def _say(run: Run, views: manyview.Views, model: Any) -> None:
    """The fit in a line, and one for the number of clusters where it was chosen."""
    sizes = Counter(run.labels.tolist()).values()
    terminal.say(
        f"{run.method}: {len(views)} rows, {views.n_views} views, {len(sizes)} "
        f"clusters of {min(sizes)} to {max(sizes)} rows, "
        f"{run.timings['fitting']:.1f} s"
    )
    if hasattr(model, "choice_"):
        terminal.say(f"Chosen: {model.choice_.sentence}")


def run_of(
    model: MultiViewClusterer,
    views: manyview.Views,
    source: dict[str, Any],
    timings: dict[str, float],
    extra: dict[str, Any],
) -> Run:
    """What a fit of the model to these views leaves behind."""
    from manyview.arrays.ops import to_host
    from manyview.files.run_folder import Run

    embedding = getattr(model, "embedding_", None)
    certainty = getattr(model, "certainty_", None)
    return Run(
        labels=to_host(model.labels_),
        method=type(model).__name__,
        settings=model.get_params(),
        data={**source, **manyview.datasets.summary(views)},
        timings=timings,
        embedding=None if embedding is None else to_host(embedding),
        certainty=None if certainty is None else to_host(certainty),
        row_names=views.row_names,
        scores=known_scores(views, model.labels_),
        extra=extra,
    )


def _choice(found: Choice) -> dict[str, Any]:
    """How many clusters, and how sure that is, for programs."""
    from manyview.files.json_value import json_value

    verdict = {"sentence": found.sentence, "tied": found.tied, "edge": found.edge}
    return {**verdict, **json_value(found._asdict())}


def choose_k(
    files: options.Files,
    least: Annotated[int, Option("--from", min=2, help="Fewest clusters.")] = 2,
    most: Annotated[
        int | None, Option("--to", min=2, help="Most clusters; default 25, or fewer.")
    ] = None,
    seed: options.Seed = 0,
    labels: options.KnownClasses = None,
    view: options.ViewNames = None,
    fill: options.Fill = None,
    join: options.Join = None,
    figure: options.FigurePath = None,
    as_json: options.AsJson = False,
) -> None:
    """Find out how many clusters the rows fall into, without known classes.

    \b
    Example:
      manyview choose-k data.mat --to 15 --figure clusters
    """
    views = read_views(files, view, labels, fill, join)
    last = most or manyview.selection.default_candidates(len(views))[-1]
    wanted = range(least, last + 1)
    with shown(True, "Trying numbers of clusters"):
        found = manyview.choose_n_clusters(views, wanted, random_state=seed)
    if as_json:
        terminal.say_json(_choice(found))
    else:
        table = found.table()
        align = "r" * len(table.columns)
        terminal.show_table(replace(table, caption="", align=align))
        terminal.say(found.sentence)
    terminal.draw(found.figure, figure)


def score(
    true: Annotated[
        str,
        Argument(
            metavar="TRUE", help="Known classes: a label file or data with labels."
        ),
    ],
    found: Annotated[
        str,
        Argument(metavar="PRED", help="Clusters: a label file or the folder of a run."),
    ],
    as_json: options.AsJson = False,
) -> None:
    """Score clusters against known classes with seven measures.

    Label files are text with one label per row, CSV with a column of labels, .npy,
    or any data file that holds labels. Rows are matched by name where both have names.

    \b
    Example:
      manyview score classes.csv runs/first
      manyview score classes.npy runs/first/labels.npy --json
    """
    known, clusters = read_labels(true), read_labels(found)
    if len(known.labels) != len(clusters.labels):
        raise InputError(
            f"{true} has {len(known.labels)} labels and {found} has "
            f"{len(clusters.labels)}. Give one label per row in both."
        )
    matched = match_rows(known, clusters)
    scores = manyview.metrics.clustering_scores(known.labels, matched)
    (terminal.say_json if as_json else terminal.show_scores)(scores)


def methods(
    cite: Annotated[
        bool, Option("--cite", help="Show the papers to cite instead.")
    ] = False,
) -> None:
    """List the methods that fit and compare know.

    \b
    Example:
      manyview methods --cite
    """
    columns = ["what it does", "row order", "missing views", "new rows"]
    columns = ["name", *(["paper"] if cite else columns)]
    table = Table("methods", "Methods", columns, align="l" * len(columns))
    for m in manyview.all_methods():
        order = "used" if m.tags.order_dependent else "not used"
        can = ("yes" if x else "no" for x in (m.tags.missing_views, m.tags.predicts))
        table.add(m.name, *((m.citation,) if cite else (m.summary, order, *can)))
    terminal.show_table(table)
