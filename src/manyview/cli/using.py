"""``manyview predict``, ``manyview explain`` and ``manyview choose-k``."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview.cli import terminal
from manyview.cli.reading import Files, Fill, LabelSource, ViewNames, read_views
from manyview.running.progress import shown

if TYPE_CHECKING:
    from manyview.base import MultiViewClusterer
    from manyview.explain import Explanation

ModelFile = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A model file, or the folder of a run."),
]


def predict(
    model: ModelFile,
    files: Files,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="DIR", help="Folder for the results.")
    ],
    labels: LabelSource = None,
    view: ViewNames = None,
    force: Annotated[
        bool, typer.Option("--force", help="Replace an earlier run in DIR.")
    ] = False,
) -> None:
    """Put new rows into the clusters of a model; each row by itself.

    \b
    Example:
      manyview fit data.mat -k 20 -o runs/first
      manyview predict runs/first more.mat -o runs/more
    """
    from manyview.errors import InputError
    from manyview.files.run_folder import Run, check_target, write_run
    from manyview.metrics import clustering_scores

    fitted: Any = _load(model)
    if not hasattr(fitted, "predict"):
        raise InputError(
            f"{type(fitted).__name__} cannot place new rows. Fit another method; see "
            "manyview methods."
        )
    check_target(out, force=force)
    views = read_views(files, view, labels)
    start = time.perf_counter()
    with shown(True, "Placing the rows"):
        found = fitted.predict(views)
    scores = None
    if views.labels is not None:
        scores = clustering_scores(views.labels, found)
    run = Run(
        labels=found,
        method=type(fitted).__name__,
        settings=fitted.get_params(),
        data={"files": files, "rows": len(views)},
        timings={"predicting": time.perf_counter() - start},
        row_names=views.row_names,
        scores=scores,
        extra={"command": "predict", "model": model},
    )
    folder = write_run(out, run, force=force)
    if scores is not None:
        terminal.show_scores(scores)
    terminal.say_written(folder, "Labels and record")


def explain(
    model: ModelFile,
    files: Files,
    view: ViewNames = None,
    fill: Fill = None,
    features: Annotated[
        int, typer.Option(min=1, help="Features to name for each cluster.")
    ] = 5,
    rows: Annotated[
        int, typer.Option(min=1, help="Rows to name for each cluster.")
    ] = 3,
    leave_out: Annotated[
        bool,
        typer.Option(help="Fit again without each view, to see what changes."),
    ] = True,
    out: Annotated[
        str | None,
        typer.Option("--out", "-o", metavar="DIR", help="Write the tables there."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show which views, rows and features stand behind the clusters of a model.

    Give the data that the model was fitted on.

    \b
    Example:
      manyview explain runs/first data.mat
      manyview explain runs/first data.mat --no-leave-out --json
    """
    from manyview.explain import explain as find_reasons

    fitted = _load(model)
    views = read_views(files, view, "none", fill)
    with shown(True, "Explaining the clusters"):
        found = find_reasons(
            fitted, views, n_features=features, n_rows=rows, leave_out=leave_out
        )
    if as_json:
        terminal.say(json.dumps(_plain(found)))
    else:
        for table in found.tables():
            cells = [[cell.text for cell in row] for row in table.rows]
            terminal.show_table(table.caption, table.columns, cells)
    if out is not None:
        for table in found.tables():
            table.write(Path(out).expanduser())
        terminal.say_written(out, "Tables")


def choose_k(
    files: Files,
    least: Annotated[int, typer.Option("--from", min=2, help="Fewest clusters.")] = 2,
    most: Annotated[
        int | None,
        typer.Option("--to", min=2, help="Most clusters; default 25, or fewer."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random choices.")] = 0,
    view: ViewNames = None,
    fill: Fill = None,
    figure: Annotated[
        str | None,
        typer.Option("--figure", metavar="PATH", help="Draw it: PATH.png, PATH.svg."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find out how many clusters the rows fall into, without known classes.

    \b
    Example:
      manyview choose-k data.mat --to 15 --figure clusters
    """
    from manyview.files.run_folder import plain
    from manyview.selection import choose_n_clusters, default_candidates

    views = read_views(files, view, "none", fill)
    last = default_candidates(len(views))[-1] if most is None else most
    with shown(True, "Trying numbers of clusters"):
        found = choose_n_clusters(views, range(least, last + 1), random_state=seed)
    if as_json:
        terminal.say(json.dumps({"sentence": found.sentence, **plain(found._asdict())}))
    else:
        table = found.table()
        cells = [[cell.text for cell in row] for row in table.rows]
        terminal.show_table("", table.columns, cells, right=table.columns)
        terminal.say(found.sentence)
    for path in found.plot(figure) if figure else ():
        terminal.say_written(path, "Figure")


def _load(model: str) -> MultiViewClusterer:
    from manyview.files.model_file import load
    from manyview.files.run_folder import MODEL

    path = Path(model).expanduser()
    return load(path / MODEL if path.is_dir() else path)


def _plain(found: Explanation) -> dict[str, Any]:
    from manyview.files.run_folder import plain

    effects = [plain(effect._asdict()) for effect in found.effects]
    rows = [found.cluster_influence, found.view_agreement]
    return {
        "views": list(found.view_names),
        "sizes": plain(found.sizes),
        "view_influence": plain(found.view_influence),
        "cluster_influence": rows[0].tolist(),
        "view_agreement": rows[1].tolist(),
        "change_without_view": plain(found.left_out),
        "typical": [r.tolist() for r in found.typical],
        "doubtful": [r.tolist() for r in found.doubtful],
        "features": effects,
    }
