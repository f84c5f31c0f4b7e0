"""Reading the data that a command was given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import manyview
from manyview.cli.label_files import read_labels
from manyview.errors import FileError
from manyview.files.run_folder import MODEL
from manyview.running.progress import shown

if TYPE_CHECKING:
    from manyview.base import MultiViewClusterer


def read_views(
    files: list[str],
    names: list[str] | None = None,
    labels: str | None = None,
    fill: str | None = None,
) -> manyview.Views:
    """The views of one source, or of one file per view; holes filled if asked for."""
    source = files[0] if len(files) == 1 else files
    with shown(True, f"Reading {Path(files[0]).name}"):
        views = manyview.datasets.load(
            source, views=names or None, labels=choose_labels(labels)
        )
    if views.labels is None and labels not in (None, "none"):
        raise FileError(
            f"No labels named {labels!r} were found: it is neither a label file nor "
            "part of the data. Name another with --labels, or leave it away."
        )
    return views if fill is None else views.filled(fill)


def choose_labels(labels: str | None) -> Any:
    """The option as `load` takes it: a name, False or the labels themselves."""
    if labels == "none":
        return False
    if labels is not None and Path(labels).expanduser().is_file():
        return read_labels(labels).labels
    return labels


def read_model(source: str | Path) -> MultiViewClusterer:
    """The fitted model of a file, or of the folder of a run."""
    path = Path(source).expanduser()
    return manyview.load_model(path / MODEL if path.is_dir() else path)


def known_scores(views: manyview.Views, found: Any) -> dict[str, float] | None:
    """The clusters scored against the known classes, where there are any."""
    if views.labels is None:
        return None
    return manyview.metrics.clustering_scores(views.labels, found)
