"""``manyview predict``, ``explain``, ``outliers`` and ``report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import manyview
from manyview.cli import options, terminal
from manyview.cli.read_input import (
    known_scores,
    read_model,
    read_views,
    record_of,
    recorded_input,
)
from manyview.cli.run_output import RunOutput
from manyview.errors import FileError, InputError
from manyview.running.progress import shown

if TYPE_CHECKING:
    from manyview.explain import Explanation
    from manyview.growing import Hierarchy
    from manyview.order_audit import OrderAudit
    from manyview.predicting import Placed


def predict(
    model: options.ModelFile,
    files: options.Files,
    out: options.OutFolder,
    labels: options.LabelSource = None,
    view: options.ViewNames = None,
    fill: options.Fill = None,
    join: options.Join = None,
    memory_limit: options.MemoryLimit = None,
    write_back: options.WriteBack = None,
    force: options.Force = False,
) -> None:
    """Put new rows into the clusters of a model; each row by itself.

    A model that was fitted with --fill fills holes with the means of its own rows.

    \b
    Example:
      manyview fit data.mat -k 20 -o runs/first
      manyview predict runs/first more.mat -o runs/more
    """
    from manyview.files.run_folder import Run

    fitted: Any = read_model(model)
    if not hasattr(fitted, "predict"):
        raise InputError(
            f"{type(fitted).__name__} cannot place new rows. Fit another method; see "
            "manyview methods."
        )
    if memory_limit is not None:
        fitted.set_params(memory_limit=memory_limit)
    result = RunOutput(out, files, write_back, force=force)
    remembers = hasattr(fitted, "fill_values_")
    views = read_views(files, view, labels, None if remembers else fill, join)
    with result.timed("predicting"), shown(True, "Placing the rows"):
        placed = fitted.place(views) if hasattr(fitted, "place") else None
        found = fitted.predict(views) if placed is None else placed.labels
    run = Run(
        labels=found,
        method=type(fitted).__name__,
        settings=fitted.get_params(),
        data={**record_of(files, labels, None, join), "rows": len(views)},
        timings=result.timings,
        row_names=views.row_names,
        scores=known_scores(views, found),
        certainty=None if placed is None else placed.certainty,
        extra={"command": "predict", "model": model, **_outside(fitted, placed)},
    )
    result.write(run)
    result.say(run, "Labels and record")


def _outside(fitted: Any, placed: Placed | None) -> dict[str, Any]:
    """How many rows lie outside all that the model has seen, in all and by view."""
    if placed is None:
        return {}
    by_view = placed.outside.sum(axis=0).tolist()
    return {
        "rows_outside": int(placed.outside.any(axis=1).sum()),
        "outside_by_view": dict(zip(fitted.view_names_, by_view, strict=True)),
    }


def explain(
    model: options.ModelFile,
    files: options.Files,
    labels: options.KnownClasses = None,
    view: options.ViewNames = None,
    fill: options.Fill = None,
    join: options.Join = None,
    features: Annotated[
        int, Option(min=1, help="Features to name for each cluster.")
    ] = 5,
    rows: Annotated[int, Option(min=1, help="Rows to name for each cluster.")] = 3,
    leave_out: Annotated[
        bool, Option(help="Fit again without each view, to see what changes.")
    ] = True,
    out: Annotated[
        str | None, Option("--out", "-o", metavar="DIR", help="Write the tables there.")
    ] = None,
    as_json: options.AsJson = False,
) -> None:
    """Show which views, rows and features stand behind the clusters of a model.

    Give the data that the model was fitted on.

    \b
    Example:
      manyview explain runs/first data.mat
      manyview explain runs/first data.mat --no-leave-out --json
    """
    fitted, known = read_model(model), recorded_input(model)
    given = (labels or known.get("labels"), fill or known.get("fill"))
    views = read_views(files, view, *given, join or known.get("join"))
    with shown(True, "Explaining the clusters"):
        found = manyview.explain.explain(
            fitted, views, n_features=features, n_rows=rows, leave_out=leave_out
        )
    if as_json:
        terminal.say_json(_plain(found))
    else:
        for table in found.tables():
            terminal.show_table(table)
    if out is not None:
        for table in found.tables():
            table.write(Path(out).expanduser())
        terminal.say_written(out, "Tables")


def _plain(found: Explanation) -> dict[str, Any]:
    from manyview.files.json_value import json_value

    return {
        "views": list(found.view_names),
        "sizes": json_value(found.sizes),
        "view_influence": json_value(found.view_influence),
        "cluster_influence": found.cluster_influence.tolist(),
        "view_agreement": found.view_agreement.tolist(),
        "change_without_view": json_value(found.left_out),
        "typical": [r.tolist() for r in found.typical],
        "doubtful": [r.tolist() for r in found.doubtful],
        "features": [json_value(effect._asdict()) for effect in found.effects],
    }


def outliers(
    model: options.ModelFile,
    files: options.Files,
    view: options.ViewNames = None,
    fill: options.Fill = None,
    join: options.Join = None,
    share: Annotated[
        float, Option(min=0.0, max=0.5, help="Share of the rows to set aside at most.")
    ] = 0.05,
    rows: Annotated[int, Option(min=1, help="Rows to name.")] = 12,
    figure: options.FigurePath = None,
    out: Annotated[
        str | None,
        Option("--out", "-o", metavar="FILE", help="CSV of every row's scores."),
    ] = None,
    force: options.ForceFile = False,
) -> None:
    """Find rows that fit nowhere, or that the views place differently.

    Give the data that the model was fitted on.

    \b
    Example:
      manyview outliers runs/first data.mat
      manyview outliers runs/first data.mat --share 0.02 -o strange.csv
    """
    from manyview.files.atomic import require_free, write_text

    if out is not None:
        target = require_free(out, overwrite=force)
    fitted, known = read_model(model), recorded_input(model)
    given = (known.get("labels"), fill or known.get("fill"))
    views = read_views(files, view, *given, join or known.get("join"))
    with shown(True, "Looking for outliers"):
        found = fitted.find_outliers(views, label_outliers=share)
    terminal.show_table(found.table(rows))
    terminal.draw(found.figure, figure)
    if out is not None:
        write_text(target, found.to_csv())
        terminal.say_written(out, "Scores")


def report(
    run: Annotated[
        str, Argument(metavar="RUN", help="A folder written by manyview fit.")
    ],
    data: Annotated[
        list[str] | None,
        Option(metavar="FILE", help="The data of the run, if moved; may be repeated."),
    ] = None,
    labels: options.LabelSource = None,
    fill: options.Fill = None,
    audit: Annotated[
        bool, Option("--audit", help="Add an order audit; fits the method again.")
    ] = False,
    tree: Annotated[
        bool, Option("--tree", help="Add the clusters as a tree, coarse to fine.")
    ] = False,
    layout: Annotated[
        str, Option(metavar="HOW", help="Maps by auto, tsne or pca.")
    ] = "auto",
    out: Annotated[
        str | None,
        Option("--out", "-o", metavar="FILE", help="Default: RUN/report.html."),
    ] = None,
    force: options.ForceFile = False,
) -> None:
    """Write one page about a run that any browser opens, without a network.

    \b
    Example:
      manyview report runs/first
      manyview report runs/first --labels classes.csv --audit -o first.html
    """
    from manyview.files.atomic import require_free
    from manyview.files.run_folder import REPORT, read_meta

    folder = Path(run).expanduser()
    meta = read_meta(folder)
    target = require_free(out or folder / REPORT, overwrite=force)
    views = _views_of(meta, data, labels, fill)
    given: dict[str, Any] = {
        "audit": _audit(run, views) if audit else None,
        "tree": _tree(run, views) if tree else None,
    }
    with shown(True, "Drawing the maps"):
        path = manyview.report.write_run_report(
            folder, target, views, **given, layout=layout, overwrite=force
        )
    terminal.say_written(path.absolute(), "Report")


def _views_of(
    meta: dict[str, Any], data: list[str] | None, labels: str | None, fill: str | None
) -> manyview.Views | None:
    """The data as the run read it; None, and a note, where it is not found."""
    known = meta.get("data") or {}
    files = data or known.get("files") or []
    classes, fill = labels or known.get("labels"), fill or known.get("fill")
    join = known.get("join")
    names = [v["name"] for v in known.get("views") or []]
    try:
        if not files:
            raise FileError(
                "The run does not say which files it read. Name them with --data."
            )
        views = read_views(files, None, classes, fill, join)
        same = not names or list(views.names) == names
        return views if same else read_views(files, names, classes, fill, join)
    except FileError as error:
        if data or labels:
            raise
        terminal.note(
            f"{error} The page does without the views, features and known classes; "
            "say where the data is with --data."
        )
        return None


def _audit(run: str, views: manyview.Views | None) -> OrderAudit:
    given = _required(run, views, "An audit")
    model = read_model(run)
    with shown(True, "Auditing the row order"):
        return manyview.audit_order(given, model.n_clusters_, estimator=model)


def _tree(run: str, views: manyview.Views | None) -> Hierarchy:
    given = _required(run, views, "A tree")
    with shown(True, "Growing the tree"):
        return manyview.hierarchy(read_model(run), given)


def _required(run: str, views: manyview.Views | None, what: str) -> manyview.Views:
    if views is None:
        raise FileError(
            f"{what} needs the data of {run}, which was not found. Say where it is "
            "with --data."
        )
    return views
