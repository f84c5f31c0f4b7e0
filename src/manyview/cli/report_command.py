"""``manyview report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import manyview
from manyview.cli import options, terminal
from manyview.cli.read_input import read_model, read_views
from manyview.errors import FileError
from manyview.files.run_folder import REPORT, read_meta
from manyview.running.progress import shown

if TYPE_CHECKING:
    from manyview.order_audit import OrderAudit


def report(
    run: Annotated[
        str, Argument(metavar="RUN", help="A folder written by manyview fit.")
    ],
    data: Annotated[
        list[str] | None,
        Option(
            metavar="FILE",
            help="The data of the run, where it has moved; may be repeated.",
        ),
    ] = None,
    labels: options.LabelSource = None,
    fill: options.Fill = None,
    audit: Annotated[
        bool, Option("--audit", help="Add an order audit; fits the method again.")
    ] = False,
    layout: Annotated[
        str, Option(metavar="HOW", help="Maps by auto, tsne or pca.")
    ] = "auto",
    out: Annotated[
        str | None,
        Option("--out", "-o", metavar="FILE", help="Default: RUN/report.html."),
    ] = None,
) -> None:
    """Write one page about a run that any browser opens, without a network.

    \b
    Example:
      manyview report runs/first
      manyview report runs/first --labels classes.csv --audit -o first.html
    """
    folder = Path(run).expanduser()
    views = _views_of(read_meta(folder), data, labels, fill)
    found = _audit(run, views) if audit else None
    target = Path(out).expanduser() if out else folder / REPORT
    with shown(True, "Drawing the maps"):
        path = manyview.report.write_run_report(
            folder, target, views, audit=found, layout=layout
        )
    terminal.say_written(path.absolute(), "Report")


def _views_of(
    meta: dict[str, Any], data: list[str] | None, labels: str | None, fill: str | None
) -> manyview.Views | None:
    """The data as the run read it; None, and a note, where it is not found."""
    known = meta.get("data") or {}
    files = data or known.get("files") or []
    names = [v["name"] for v in known.get("views") or []]
    try:
        if not files:
            raise FileError(
                "The run does not say which files it read. Name them with --data."
            )
        views = read_views(files, None, labels, fill)
        same = not names or list(views.names) == names
        return views if same else read_views(files, names, labels, fill)
    except FileError as error:
        if data or labels:
            raise
        terminal.note(
            f"{error} The page does without the views, features and known classes; "
            "say where the data is with --data."
        )
        return None


def _audit(run: str, views: manyview.Views | None) -> OrderAudit:
    if views is None:
        raise FileError(
            f"An audit needs the data of {run}, which was not found. Say where it is "
            "with --data."
        )
    model = read_model(run)
    with shown(True, "Auditing the row order"):
        return manyview.audit_order(views, model.n_clusters_, estimator=model)
