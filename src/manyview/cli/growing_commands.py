"""``manyview grow``, ``refit``, ``drift`` and ``tree``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from typer import Option

import manyview
from manyview.cli import options, terminal
from manyview.cli.cluster_commands import run_of
from manyview.cli.estimator_options import (
    make_estimator,
    parse_clusters,
    parse_settings,
)
from manyview.cli.read_input import read_labels, read_model, read_views, record_of
from manyview.cli.run_output import RunOutput
from manyview.errors import InputError
from manyview.running.progress import shown


def grow(
    files: options.Files,
    out: options.OutFolder,
    onto: Annotated[
        str | None, Option(metavar="MODEL", help="What to add to; default a new model.")
    ] = None,
    clusters: Annotated[
        str | None,
        Option("--clusters", "-k", metavar="K", help="Of a new model: a number, auto."),
    ] = None,
    method: options.Method = "S2MVTC",
    seed: options.Seed = 0,
    labels: options.KnownClasses = None,
    view: options.ViewNames = None,
    fill: options.Fill = None,
    join: options.Join = None,
    settings: options.Settings = None,
    force: options.Force = False,
) -> None:
    """Cluster rows that come in pieces: begin a model, or add rows to it.

    The labels written are of all rows so far, in the order they came. Up to 8,192 rows
    the model file holds the rows themselves.

    \b
    Example:
      manyview grow monday.mat -k 20 -o runs/monday
      manyview grow tuesday.mat --onto runs/monday -o runs/tuesday
    """  # fmt: skip
    from manyview.files.json_value import json_value

    model = _to_grow(onto, clusters, method, seed, settings)
    result = RunOutput(out, files, force=force)
    remembers = hasattr(model, "fill_values_")
    with result.timed("reading"):
        views = read_views(files, view, labels, None if remembers else fill, join)
    views.labels = None  # of this piece alone
    with result.timed("fitting"), shown(True, "Adding the rows"):
        model.partial_fit(views)
    changes = [] if onto is None else model.changes_.events
    extra = {"command": "grow", "onto": onto, "rows_kept": model.n_rows_kept_}
    extra["changes"] = [json_value(event._asdict()) for event in changes]
    names, views.row_names = _names_of_all(onto, views.row_names), None
    source = {"added": record_of(files, labels, fill, join)}
    run = run_of(model, views, source, result.timings, extra)
    data = {**run.data, "rows": len(run.labels)}
    result.write(replace(run, row_names=names, data=data), model)
    if onto is not None:
        terminal.show_table(model.changes_.table())
    kept = model.n_rows_kept_
    held = f"its file holds {kept:,} of them" if kept else "its file holds none of them"
    terminal.say(f"{run.method}: {len(run.labels):,} rows so far; {held}")
    result.say(run, "Labels, model and record")


def _to_grow(
    onto: str | None,
    clusters: str | None,
    method: str,
    seed: int,
    settings: list[str] | None,
) -> Any:
    """The model to add to, or a new one; it must be able to grow."""
    if (onto is None) == (clusters is None):
        seen = "neither" if onto is None else "both"
        raise InputError(
            "grow begins a model with --clusters K, or adds rows to one with --onto "
            f"MODEL; got {seen}. Give one of them."
        )
    if onto is None:
        model: Any = make_estimator(
            method, str(clusters), seed, parse_settings(settings)
        )
    else:
        model = read_model(onto)
    _ = model.partial_fit  # a method without it says so
    return model


def _names_of_all(onto: str | None, names: Any) -> Any:
    """Names of the rows so far, where they are known; else they are numbered."""
    from manyview.files.run_folder import META

    if onto is None or names is None:
        return names
    if not (Path(onto).expanduser() / META).is_file():
        return None
    return [*(read_labels(onto).names or []), *names]


def refit(
    model: options.ModelFile,
    files: options.Files,
    out: options.OutFolder,
    clusters: Annotated[
        str | None,
        Option(
            "--clusters",
            "-k",
            metavar="K",
            help="Another number of clusters, or auto; default that of the model.",
        ),
    ] = None,
    labels: options.LabelSource = None,
    view: options.ViewNames = None,
    fill: options.Fill = None,
    join: options.Join = None,
    figure: options.FigurePath = None,
    write_back: options.WriteBack = None,
    force: options.Force = False,
) -> None:
    """Fit a model to grown or changed data; clusters that live on keep their numbers.

    FILE holds all rows that the model is to know from now on, old and new.

    \b
    Example:
      manyview fit data.mat -k 20 -o runs/monday
      manyview refit runs/monday more.mat -o runs/tuesday
    """  # fmt: skip
    from manyview.files.json_value import json_value

    fitted: Any = read_model(model)
    require(fitted, "refit")
    wanted = None if clusters is None else parse_clusters(clusters)
    result = RunOutput(out, files, write_back, force=force)
    with result.timed("reading"):
        views = read_views(files, view, labels, fill, join)
    with result.timed("fitting"), shown(True, f"Fitting {type(fitted).__name__}"):
        fitted.refit(views, n_clusters=wanted)
    changes = [json_value(event._asdict()) for event in fitted.changes_.events]
    extra = {"command": "refit", "model": model, "changes": changes}
    source = record_of(files, labels, fill, join)
    run = run_of(fitted, views, source, result.timings, extra)
    result.write(run, fitted)
    terminal.show_table(fitted.changes_.table())
    terminal.draw(fitted.changes_.figure, figure)
    result.say(run, "Labels, model and record")


def drift(
    model: options.ModelFile,
    files: options.Files,
    rate: Annotated[
        float, Option(metavar="SHARE", help="Checks that may sound a false alarm.")
    ] = 0.01,
    labels: options.KnownClasses = None,
    view: options.ViewNames = None,
    fill: options.Fill = None,
    join: options.Join = None,
    figure: options.FigurePath = None,
    as_json: options.AsJson = False,
) -> None:
    """Tell which views and clusters of new rows no longer fit a model.

    \b
    Example:
      manyview drift runs/first more.mat
      manyview drift runs/first more.mat --rate 0.001 --figure drift --json
    """
    fitted: Any = read_model(model)
    require(fitted, "drift")
    views = read_views(files, view, labels, fill, join)
    with shown(True, "Comparing the rows"):
        found = manyview.drift(fitted, views, rate=rate)
    if as_json:
        terminal.say_json(_plain(found))
    else:
        for table in found.tables():
            terminal.show_table(table)
    terminal.draw(found.figure, figure)


def tree(
    model: options.ModelFile,
    files: options.Files,
    labels: options.KnownClasses = None,
    view: options.ViewNames = None,
    fill: options.Fill = None,
    join: options.Join = None,
    cut: Annotated[
        list[int] | None,
        Option(min=1, metavar="K", help="A level to write to --out; may be repeated."),
    ] = None,
    leaves: Annotated[
        int | None, Option(min=1, help="Leaves, at most; default four per cluster.")
    ] = None,
    splits: Annotated[int, Option(min=1, help="Splits to show.")] = 20,
    out: Annotated[
        str | None,
        Option("--out", "-o", metavar="FILE", help="CSV with the leaf of every row."),
    ] = None,
    figure: options.FigurePath = None,
    force: options.ForceFile = False,
) -> None:
    """Show the clusters of a model as a tree, coarse to fine, and why it divides.

    Give the data that the model was fitted on. PATH of the figure gets the endings
    -dendrogram and -icicle.

    \b
    Example:
      manyview tree runs/first data.mat --figure tree
      manyview tree runs/first data.mat --cut 3 --cut 12 -o levels.csv
    """
    from manyview.files.atomic import require_free

    if out is not None:
        target = require_free(out, overwrite=force)
    fitted: Any = read_model(model)
    require(fitted, "tree")
    views = read_views(files, view, labels, fill, join)
    with shown(True, "Growing the tree"):
        found = manyview.hierarchy(fitted, views, n_leaves=leaves)
    terminal.show_table(found.table(splits))
    if out is not None:
        write_levels(target, found, cut or [], views.row_names)
        terminal.say_written(out, "Levels")
    for ending in ("dendrogram", "icicle") if figure else ():
        path = Path(str(figure))
        path = path.with_stem(f"{path.stem}-{ending}")
        terminal.draw(getattr(found, ending), str(path))


def write_levels(path: Path, found: Any, cuts: list[int], names: Any) -> None:
    """A line for every row: its leaf, and its cluster at every level."""
    from manyview.files.atomic import write_text
    from manyview.present.table import Table

    columns = {"row": range(len(found.leaves)) if names is None else names}
    columns["leaf"] = found.leaves.tolist()
    columns |= {f"{k} clusters": found.cut(k).tolist() for k in cuts}
    table = Table("levels", "", list(columns))
    for row in zip(*columns.values(), strict=True):
        table.add(*map(str, row))
    write_text(path, table.to_csv())


def require(fitted: Any, what: str) -> None:
    """The model must be of a method that can place new rows by its passes."""
    if not hasattr(fitted, "refit"):
        raise InputError(
            f"{type(fitted).__name__} keeps nothing to hold rows against, so it has no "
            f"{what}. Fit S2MVTC, SequenceS2MVTC or AnchorSpectral."
        )


def _plain(found: manyview.growing.Drift) -> dict[str, Any]:
    from dataclasses import asdict

    from manyview.files.json_value import json_value

    told = ("drifted", "sentence", "views", "unseen", "clusters", "shares")
    verdict = {name: getattr(found, name) for name in told}
    return {**verdict, **json_value(asdict(found), lambda a: json_value(a.tolist()))}
