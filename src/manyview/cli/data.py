"""``manyview info``, ``manyview convert`` and ``manyview datasets``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from manyview.cli import terminal
from manyview.cli.reading import (
    Files,
    LabelSource,
    ViewNames,
    choose_labels,
    read_views,
)
from manyview.running.progress import shown


def info(
    files: Files,
    labels: LabelSource = None,
    view: ViewNames = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a data file holds: rows, views, classes, row order.

    \b
    Example:
      manyview info data.mat
    """
    from manyview.datasets import summary, summary_lines

    views = read_views(files, view, labels)
    if as_json:
        terminal.say(json.dumps(summary(views)))
    else:
        terminal.say("\n".join(summary_lines(views)))


def convert(
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="A data file, folder or known name.")
    ],
    out: Annotated[str, typer.Argument(metavar="OUT", help="The folder to write.")],
    labels: LabelSource = None,
    view: ViewNames = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace an earlier conversion.")
    ] = False,
) -> None:
    """Write a data set into the folder layout that is read block by block.

    \b
    Example:
      manyview convert data.mat data.manyview-data
    """
    from manyview.datasets import convert as convert_data

    with shown(True, f"Converting {Path(file).name}"):
        folder = convert_data(
            file,
            out,
            overwrite=overwrite,
            views=view or None,
            labels=choose_labels(labels),
        )
    terminal.say_written(folder, "Data")


def datasets(
    check: Annotated[
        bool,
        typer.Option("--check", help="Open every set that is found and look at it."),
    ] = False,
) -> None:
    """List the known data sets and which of them are found under MANYVIEW_DATA.

    \b
    Example:
      MANYVIEW_DATA=~/data manyview datasets --check
    """
    from manyview.datasets import describe

    with shown(True, "Looking at data sets"):
        rows = describe(read=check)
    header = ("name", "found", "rows", "classes", "row order", "features of the views")
    table = [_data_row(row) for row in rows]
    terminal.show_table("Known data sets", header, table, right=("rows", "classes"))
    for row in rows:
        if row["problem"]:
            terminal.note(f"{row['name']}: {row['problem']}")
    if not any(row["found"] for row in rows):
        terminal.note("None was found. Set MANYVIEW_DATA to the folder that has them.")


def _data_row(row: dict[str, Any]) -> tuple[str, ...]:
    found = "problem" if row["problem"] else "yes" if row["found"] else "no"
    features = ", ".join(map(str, row["features"]))
    classes = str(row["classes"]) if row["classes"] else "none"
    name = f"{row['name']} (paper)" if row["paper"] else row["name"]
    return name, found, f"{row['rows']:,}", classes, row["order"] or "", features
