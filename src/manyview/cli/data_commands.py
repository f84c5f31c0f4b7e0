"""``manyview info``, ``convert``, ``datasets`` and ``plan``."""

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

import manyview
from manyview.cli import options, terminal
from manyview.cli.read_input import choose_labels, read_views
from manyview.errors import InputError
from manyview.present.table import Table
from manyview.running.progress import shown


def info(
    files: options.Files,
    labels: options.LabelSource = None,
    view: options.ViewNames = None,
    join: options.Join = None,
    as_json: options.AsJson = False,
) -> None:
    """Show what a data file holds: rows, views, classes, row order.

    \b
    Example:
      manyview info data.mat
    """
    views = read_views(files, view, labels, join=join)
    if as_json:
        terminal.say_json(manyview.datasets.summary(views))
    else:
        terminal.say("\n".join(manyview.datasets.summary_lines(views)))


def convert(
    file: Annotated[
        str, Argument(metavar="FILE", help="A data file, folder or known name.")
    ],
    out: Annotated[str, Argument(metavar="OUT", help="The folder to write.")],
    labels: options.LabelSource = None,
    view: options.ViewNames = None,
    join: options.Join = None,
    overwrite: Annotated[
        bool, Option("--overwrite", help="Replace an earlier conversion.")
    ] = False,
) -> None:
    """Write a data set into the folder layout that is read block by block.

    \b
    Example:
      manyview convert data.mat data.manyview-data
    """
    known = choose_labels(labels)
    with shown(True, f"Converting {Path(file).name}"):
        folder = manyview.datasets.convert(
            file, out, overwrite=overwrite, views=view or None, labels=known, join=join
        )
    terminal.say_written(folder, "Data")


def datasets(
    check: Annotated[
        bool, Option("--check", help="Open every set that is found and look at it.")
    ] = False,
) -> None:
    """List the known data sets and which of them are found under MANYVIEW_DATA.

    \b
    Example:
      MANYVIEW_DATA=~/data manyview datasets --check
    """
    from manyview.datasets.registry import none_found

    with shown(True, "Looking at data sets"):
        rows = manyview.datasets.describe(read=check)
    columns = ["name", "found", "rows", "classes", "row order", "features of the views"]
    table = Table("datasets", "Known data sets", columns, align="llrrll")
    for row in rows:
        table.add(*_data_row(row))
    terminal.show_table(table)
    for row in rows:
        if row["problem"]:
            terminal.note(f"{row['name']}: {row['problem']}")
    if not any(row["found"] for row in rows):
        why = none_found()
        terminal.note(f"{why}Set MANYVIEW_DATA to the folder that has the data sets.")


def _data_row(row: dict[str, Any]) -> tuple[str, ...]:
    found = "problem" if row["problem"] else "yes" if row["found"] else "no"
    features = ", ".join(map(str, row["features"]))
    classes = str(row["classes"]) if row["classes"] else "none"
    name = f"{row['name']} (paper)" if row["paper"] else row["name"]
    return name, found, f"{row['rows']:,}", classes, row["order"] or "", features


def plan(
    files: Annotated[
        list[str] | None,
        Argument(metavar="[FILE...]", help="The data; or say --rows and --columns."),
    ] = None,
    clusters: Annotated[
        int, Option("--clusters", "-k", min=1, help="Number of clusters.")
    ] = 8,
    memory_limit: options.MemoryLimit = None,
    labels: options.KnownClasses = None,
    view: options.ViewNames = None,
    join: options.Join = None,
    rows: Annotated[
        int | None, Option(min=1, help="Rows of data that is yet to come.")
    ] = None,
    columns: Annotated[
        str | None, Option(metavar="N,N,...", help="Columns of every view of it.")
    ] = None,
    workers: Annotated[
        int | None, Option(min=1, help="Workers of a Dask cluster, of one core each.")
    ] = None,
) -> None:
    """Say what a fit will keep, spill or make again, its passes, time and memory.

    \b
    Example:
      manyview plan data.manyview-data --clusters 20 --memory-limit 2GB
      manyview plan --rows 1000000000 --columns 64,64,64 --workers 100
    """
    model = manyview.S2MVTC(clusters, memory_limit=memory_limit)
    shape = _shape(files, rows, columns)
    data = shape or read_views(files or [], view, labels, join=join)
    terminal.say(str(model.plan(data, workers=workers)))


def _shape(
    files: list[str] | None, rows: int | None, columns: str | None
) -> tuple[int, list[int]] | None:
    """Rows and columns that stand for data; None where files are given."""
    if files and rows is None and columns is None:
        return None
    widths = (columns or "").split(",")
    if files or rows is None or not all(w.strip().isdigit() for w in widths):
        raise InputError(
            f"A plan is of files, or of --rows and --columns together; seen: files "
            f"{files or 'none'}, --rows {rows}, --columns {columns}. Give for instance "
            "manyview plan --rows 1000000 --columns 64,32."
        )
    return rows, [int(w) for w in widths]
