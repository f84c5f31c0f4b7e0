"""Reading what a command was given: views, a model, or labels alone."""

from __future__ import annotations

import copy
import csv
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import manyview
from manyview.cli import terminal
from manyview.errors import FileError, InputError
from manyview.files.failures import FilesTold
from manyview.running.progress import shown

if TYPE_CHECKING:
    from manyview.base import MultiViewClusterer

_TEXT = (".csv", ".tsv", ".txt")
_DELIMITERS = (",", "\t", ";")
_FOUND_NAMES = ("cluster", "clusters", "y_pred", "labels_pred", "prediction")


def read_views(
    files: list[str],
    names: list[str] | None = None,
    labels: str | None = None,
    fill: str | None = None,
    join: str | None = None,
    *,
    by_rows: bool = False,
) -> manyview.Views:
    """The views of one source, or of one file per view; holes filled if asked for.

    With `by_rows` they stay on disk, and whoever needs rows reads them.
    """
    source = files[0] if len(files) == 1 else files
    apart = _label_file(labels)
    known: Any = False if labels == "none" or apart is not None else labels
    with shown(True, f"Reading {Path(files[0]).name}"):
        views: manyview.Views
        if by_rows:
            views = _open_by_rows(files, names or None, known, join)
        else:
            views = manyview.datasets.load(
                source, views=names or None, labels=known, join=join
            )
    if apart is not None:
        views = _with_labels(views, apart)
    if views.labels is None and labels not in (None, "none"):
        raise FileError(
            f"No labels named {labels!r} were found: it is neither a label file nor "
            "part of the data. Name another with --labels, or leave it away."
        )
    return views if fill is None else views.filled(fill)


def _with_labels(views: manyview.Views, apart: LabelFile) -> manyview.Views:
    """The views with the labels of a file, by name where both name their rows."""
    from manyview.views.parsing import check_per_row

    rows = None if views.row_names is None else [str(n) for n in views.row_names]
    found = match_rows(LabelFile(None, rows), apart)
    kept = copy.copy(views)
    kept.labels = check_per_row(found, len(views), "labels")
    return kept


def _open_by_rows(
    files: list[str], names: list[str] | None, labels: Any, join: str | None
) -> Any:
    """The views on disk; `labels` as of `load`."""
    from manyview.datasets.on_disk import open_on_disk

    if join is not None:
        raise InputError(
            "--join brings rows together in memory, and workers read the files by "
            "rows. Join them first: manyview convert FOLDER OUT --join."
        )
    return open_on_disk(*files, views=names, labels=labels)


def record_of(
    files: list[str],
    labels: str | None,
    fill: str | None = None,
    join: str | None = None,
) -> dict[str, Any]:
    """What a run keeps of its input, to read it again from whatever folder."""
    return {
        "files": [from_anywhere(f) for f in files],
        "labels": None if labels is None else from_anywhere(labels),
        "fill": fill,
        "join": join,
    }


def recorded_input(source: str | Path) -> dict[str, Any]:
    """What the run that a model is from has kept of its input; nothing of a file."""
    from manyview.files.run_folder import META, read_meta

    folder = Path(source).expanduser()
    known = read_meta(folder).get("data") if (folder / META).is_file() else None
    return known or {}


def from_anywhere(name: str) -> str:
    """The name of a file as other folders know it; any other name as it is."""
    path = Path(name).expanduser()
    return str(path.absolute()) if path.exists() else name


def choose_labels(labels: str | None) -> Any:
    """The option as `load` takes it: a name, False or the labels themselves."""
    apart = _label_file(labels)
    return False if labels == "none" else labels if apart is None else apart.labels


def _label_file(labels: str | None) -> LabelFile | None:
    """The content of a file of labels, if the option names one."""
    if labels in (None, "none") or not Path(str(labels)).expanduser().is_file():
        return None
    return read_labels(str(labels))


def read_model(source: str | Path) -> MultiViewClusterer:
    """The fitted model of a file, or of the folder of a run."""
    from manyview.files.run_folder import MODEL

    path = Path(source).expanduser()
    if not (path.is_file() or (path / MODEL).is_file()):
        where = (
            f"the folder has no {MODEL}" if path.is_dir() else "there is no such path"
        )
        raise FileError(
            f"{source} is no model: {where}. Give the folder that manyview fit wrote, "
            "or a model file."
        )
    return manyview.load_model(path / MODEL if path.is_dir() else path)


def known_scores(views: manyview.Views, found: Any) -> dict[str, float] | None:
    """The clusters scored against the known classes, where there are any."""
    metrics = manyview.metrics
    if views.labels is None or not (there := metrics.has_class(views.labels)).any():
        return None
    if not there.all():
        terminal.note(f"{(~there).sum():,} rows without a class are not scored.")
    return metrics.clustering_scores(views.labels[there], found[there])


class LabelFile(NamedTuple):
    """Labels, and the rows' names where the file has them."""

    labels: Any
    names: list[str] | None


def read_labels(source: str) -> LabelFile:
    """Labels from any of the places they may be in."""
    from manyview.files.run_folder import META

    path = Path(source).expanduser()
    if (path / META).is_file():
        path = path / "labels.csv"
    suffix = path.suffix.lower()
    if not path.is_file() or suffix not in (*_TEXT, ".npy"):
        return _from_data(source)
    advice, kinds = (
        "Give labels as UTF-8 text or .npy.",
        (UnicodeDecodeError, csv.Error),
    )
    with FilesTold(f"{path} could not be read", advice, *kinds):
        return _from_npy(path) if suffix == ".npy" else _from_text(path)


def _from_data(source: str) -> LabelFile:
    data = manyview.datasets.load(source)
    if data.labels is None:
        raise FileError(
            f"{source} has no labels. Give a file with one label per row (.csv, .txt, "
            ".npy) or data with labels."
        )
    names = None if data.row_names is None else [str(n) for n in data.row_names]
    return LabelFile(data.labels, names)


def _from_npy(path: Path) -> LabelFile:
    from manyview.files.npy_file import map_array

    array = map_array(path)
    if array.ndim == 0 or array.size != max(array.shape):
        raise FileError(
            f"{path.name} holds an array of shape {array.shape}, not labels. Give "
            "a vector with one entry per row."
        )
    return LabelFile(array.ravel(), None)


def _from_text(path: Path) -> LabelFile:
    text = path.read_text(encoding="utf-8-sig")
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise FileError(f"{path.name} is empty. Write one label per row into it.")
    delimiter = max(_DELIMITERS, key=lines[0].count)
    if delimiter not in lines[0]:
        values = lines[0].split() if len(lines) == 1 else [x.strip() for x in lines]
        return LabelFile(values[int(_has_header(values)) :], None)
    table = [[c.strip() for c in r] for r in csv.reader(lines, delimiter=delimiter)]
    return LabelFile(table[0], None) if len(table) == 1 else _from_table(path, table)


def _from_table(path: Path, table: list[list[str]]) -> LabelFile:
    width = len(table[0])
    ragged = next((i for i, row in enumerate(table) if len(row) != width), None)
    if ragged is not None:
        raise FileError(
            f"{path.name} has {width} columns in its first line but "
            f"{len(table[ragged])} in line {ragged + 1}. Give every row the same."
        )
    usual = [i for i, name in enumerate(table[0]) if _is_usual(name)]
    if not usual and width > 2:
        raise FileError(
            f"{path.name} has {width} columns ({', '.join(table[0][:8])}), none of "
            "them named label or cluster. Give a file with one column of labels."
        )
    at = usual[0] if usual else width - 1
    begin = int(bool(usual) or _has_header([row[at] for row in table]))
    labels = [row[at] for row in table[begin:]]
    return _by_number(labels, [row[0] for row in table[begin:]] if at else None)


def _by_number(labels: list[str], names: list[str] | None) -> LabelFile:
    """Rows that are named by their numbers, in the order of these."""
    found = dict(zip(names or [], labels, strict=False))
    counted = [str(i) for i in range(len(labels))]
    if found.keys() != set(counted):
        return LabelFile(labels, names)
    return LabelFile([found[number] for number in counted], counted)


def _has_header(values: Sequence[str]) -> bool:
    """Is the first entry a usual name, or the only one that is no number?"""
    from manyview.datasets.formats.tabular import is_number

    if _is_usual(values[0]):
        return True
    return len(values) > 1 and not is_number(values[0]) and is_number(values[1])


def _is_usual(name: str) -> bool:
    """Is a column of this name one of labels or clusters?"""
    from manyview.datasets.layout import LABEL_NAMES

    return name.lower() in (*LABEL_NAMES, *_FOUND_NAMES)


def match_rows(true: LabelFile, found: LabelFile) -> Any:
    """The found labels in the order of the true ones, by row name where they differ."""
    if true.names is None or found.names is None or true.names == found.names:
        return found.labels
    place = {name: i for i, name in enumerate(found.names)}
    if len(place) == len(found.names) and place.keys() >= set(true.names):
        return [found.labels[place[name]] for name in true.names]
    counted = [str(i) for i in range(len(found.names))]
    if len(true.names) == len(found.names) and counted in (true.names, found.names):
        return found.labels
    raise FileError(
        "The two files name their rows differently, for instance "
        f"{true.names[0]!r} and {found.names[0]!r}. Give the same rows in both, or "
        "labels without row names in the same order."
    )
