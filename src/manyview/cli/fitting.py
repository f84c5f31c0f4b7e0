"""``manyview fit`` and ``manyview methods``."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview.cli import terminal
from manyview.cli.cluster import (
    CheckpointFolder,
    Engine,
    Scheduler,
    cluster,
    place_settings,
)
from manyview.cli.reading import Files, Fill, LabelSource, ViewNames, read_views
from manyview.running.progress import shown

if TYPE_CHECKING:
    from manyview.base import MultiViewClusterer
    from manyview.files.run_folder import Run
    from manyview.views.views import Views


def fit(
    files: Files,
    clusters: Annotated[
        str,
        typer.Option(
            "--clusters", "-k", metavar="K", help="Number of clusters, or auto."
        ),
    ],
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="DIR", help="Folder for the results.")
    ],
    method: Annotated[
        str, typer.Option(metavar="NAME", help="See manyview methods.")
    ] = "S2MVTC",
    smoothing: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="What S2MVTC smooths along: graph, sequence (the order of the rows), "
            "graph+sequence or none.",
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all random choices.")] = 0,
    labels: LabelSource = None,
    view: ViewNames = None,
    fill: Fill = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="NAME=VALUE",
            help="Any parameter of the method; may be repeated.",
        ),
    ] = None,
    engine: Engine = "local",
    scheduler: Scheduler = None,
    checkpoint: CheckpointFolder = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier run in DIR.")
    ] = False,
) -> None:
    """Cluster the rows of a data set; write labels, embedding, model and a record.

    \b
    Example:
      manyview fit pixels.npy profiles.npy --clusters 10 --out runs/first
      manyview fit data.mat -k 20 --set n_anchors=500 --labels Y -o runs/second
    """
    from manyview.cli.settings import make_estimator, parse_settings, parse_value
    from manyview.engine.contract import views_elsewhere
    from manyview.files.run_folder import MODEL, check_target, writing

    given = parse_settings(settings or [])
    given |= place_settings(engine, scheduler, checkpoint)
    if smoothing is not None:
        given["smoothing"] = parse_value(smoothing)
    model = make_estimator(method, clusters, seed, given)
    check_target(out, force=force)
    start = time.perf_counter()
    with cluster(scheduler):
        if scheduler is None:
            views = read_views(files, view, labels, fill)
        else:
            views = views_elsewhere(files)
        reading = time.perf_counter() - start
        run = _fit(model, views, files, reading)
        with writing(out, run, force=force) as unfinished:
            model.save(unfinished / MODEL)
    folder = Path(out).expanduser().absolute()
    _report(run, views)
    terminal.say_written(folder, "Labels, model and record")


def _fit(
    model: MultiViewClusterer, views: Views, files: list[str], reading: float
) -> Run:
    import numpy as np

    from manyview.files.run_folder import Run
    from manyview.metrics import clustering_scores

    name = type(model).__name__
    start = time.perf_counter()
    with shown(True, f"Fitting {name}"):
        model.fit(views)
    fitting = time.perf_counter() - start
    found, scores = np.asarray(model.labels_), None
    if views.labels is not None:
        scores = clustering_scores(views.labels, found)
    embedding = getattr(model, "embedding_", None)
    return Run(
        labels=found,
        method=name,
        settings=model.get_params(),
        data={"files": files, **_facts(views)},
        timings={"reading": reading, "fitting": fitting},
        embedding=None if embedding is None else np.asarray(embedding),
        row_names=views.row_names,
        scores=scores,
        extra={"command": "fit"},
    )


def _facts(views: Views) -> dict[str, Any]:
    from manyview.datasets import summary

    return summary(views)


def _report(run: Run, views: Views) -> None:
    import numpy as np

    sizes = np.unique(run.labels, return_counts=True)[1]
    terminal.say(
        f"{run.method}: {len(views)} rows, {views.n_views} views, {len(sizes)} "
        f"clusters of {sizes.min()} to {sizes.max()} rows, "
        f"{run.timings['fitting']:.1f} s"
    )
    if run.scores is not None:
        terminal.show_scores(run.scores)


def methods(
    cite: Annotated[
        bool, typer.Option("--cite", help="Show the papers to cite instead.")
    ] = False,
) -> None:
    """List the methods that fit and compare know.

    \b
    Example:
      manyview methods --cite
    """
    from manyview.methods import all_methods

    found = all_methods()
    if cite:
        rows = [(m.name, m.citation) for m in found]
        terminal.show_table("Methods", ("name", "paper"), rows)
        return
    header = ("name", "what it does", "row order", "missing views", "new rows")
    table = [
        (
            m.name,
            m.summary,
            "used" if m.tags.order_dependent else "not used",
            "yes" if m.tags.missing_views else "no",
            "yes" if m.tags.predicts else "no",
        )
        for m in found
    ]
    terminal.show_table("Methods", header, table)
