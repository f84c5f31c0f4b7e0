"""The options that say what to read, and reading it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from manyview.errors import FileError
from manyview.running.progress import shown

if TYPE_CHECKING:
    from manyview.views.views import Views

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...",
        help="A data file, a folder, one file per view, or a known data set's name.",
    ),
]
ViewNames = Annotated[
    list[str] | None,
    typer.Option("--view", metavar="NAME", help="A view to use; may be repeated."),
]
LabelSource = Annotated[
    str | None,
    typer.Option(
        "--labels",
        metavar="NAME",
        help="Variable, column or file with the known classes; 'none' for no classes. "
        "They are used for scores only.",
    ),
]
Fill = Annotated[
    str | None,
    typer.Option(
        "--fill",
        metavar="mean",
        help="Replace single missing values by the mean of their feature.",
    ),
]


def read_views(
    files: list[str],
    names: list[str] | None = None,
    labels: str | None = None,
    fill: str | None = None,
) -> Views:
    """The views of one source, or of one file per view; holes filled if asked for."""
    from manyview.datasets import load

    source = files[0] if len(files) == 1 else files
    with shown(True, f"Reading {Path(files[0]).name}"):
        views = load(source, views=names or None, labels=choose_labels(labels))
    if views.labels is None and labels not in (None, "none"):
        raise FileError(
            f"No labels named {labels!r} were found: it is neither a label file nor "
            "part of the data. Name another with --labels, or leave it away."
        )
    return views if fill is None else views.filled(fill)


def choose_labels(labels: str | None) -> Any:
    """The option as `load` takes it: a name, False or the labels themselves."""
    if labels is None:
        return None
    if labels == "none":
        return False
    if Path(labels).expanduser().is_file():
        from manyview.cli.label_files import read_labels

        return read_labels(labels).labels
    return labels
