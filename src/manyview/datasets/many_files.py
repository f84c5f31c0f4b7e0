"""Several files, one data set: one view per file, rows matched by name."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from manyview.datasets.raw_data import NDArray, RawData, distinct
from manyview.errors import FileError
from manyview.views.containers import place_rows
from manyview.views.joining import join_rows, places_of

_PER_VIEW = (".npy", ".csv", ".tsv", ".parquet")
# What Dask, Spark and Arrow call the pieces of one table.
_PIECE = re.compile(r"part[-._][0-9]+.*\.parquet")


def files_in(folder: Path) -> list[Path]:
    """The per-view files of a folder, numbers in their names in order."""
    files = [p for p in folder.iterdir() if p.suffix.lower() in _PER_VIEW]
    if len(files) > 1 and all(_PIECE.fullmatch(p.name) for p in files):
        raise FileError(
            f"{folder} holds one table in {len(files)} pieces (such as "
            f"{files[0].name}), not one file per view. Join them into one file, or "
            "give the folder itself to fit or predict: there it is one view."
        )
    return sorted(files, key=by_number)


def by_number(path: Path) -> list[tuple[int, int, str]]:
    """A key that sorts names with their numbers in order: 9 before 10."""
    parts = re.split(r"([0-9]+)", path.name)
    return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in parts if p]


def combine(parts: Sequence[RawData], join: str | None = None) -> RawData:
    """All views of all parts over the same rows, matched by name where they have names.

    Different rows are refused, unless `join` says which to keep; a row that a part
    lacks is then marked missing there.
    """
    if len(parts) == 1:
        return _complete_rows(parts[0]) if join == "inner" else parts[0]
    viewed = [part for part in parts if part.views]
    if not viewed:
        raise FileError("The files hold labels only. Give at least one file of views.")
    names = distinct([part.names[0] for part in viewed])
    joined = join_rows(names, [part.row_names for part in viewed], join)
    alone = [part for part in parts if not part.views]
    if joined.names is not None:
        alone = [_follow(part, joined.names) for part in alone]
    if joined.places is not None:
        viewed = [_place(p, m) for p, m in zip(viewed, joined.places, strict=True)]
    labels = [p.labels for p in (*viewed, *alone) if p.labels is not None]
    if any(not np.array_equal(other, labels[0]) for other in labels[1:]):
        raise FileError(
            "Several of the files bring labels, and they differ. Keep one, or pass "
            "labels=False (--labels none) or the labels themselves."
        )
    features = [f for p in viewed for f in p.feature_names or [None] * len(p.views)]
    n_rows = next((len(p.present) for p in viewed if p.present is not None), None)
    masks = [] if n_rows is None else [_mask(part, n_rows) for part in viewed]
    return RawData(
        views=[view for part in viewed for view in part.views],
        names=distinct([name for part in viewed for name in part.names]),
        feature_names=features if any(f is not None for f in features) else None,
        present=np.hstack(masks) if masks else None,
        labels=labels[0] if labels else None,
        row_names=None if joined.names is None else list(joined.names),
        notes=tuple(note for part in parts for note in part.notes),
    )


def _complete_rows(part: RawData) -> RawData:
    """The rows that every view of a part has."""
    if part.present is None or part.present.all():
        return part
    rows = np.flatnonzero(part.present.all(axis=1))
    if not rows.size:
        raise FileError(
            f"None of the {len(part.present)} rows is in all views. Leave --join inner "
            "out, or choose other views."
        )
    names = part.row_names
    return replace(
        _place(part, rows),
        row_names=None if names is None else [names[i] for i in rows],
    )


def _follow(part: RawData, names: Sequence[str]) -> RawData:
    """Labels of a file of their own in the order of the rows, where it names them."""
    if part.row_names is None or list(part.row_names) == list(names):
        return part
    return _place(part, places_of(names, part.row_names))


def _place(part: RawData, rows: NDArray) -> RawData:
    """The part over the common rows, zero and marked where it lacks them."""
    here = rows >= 0
    labels = part.labels
    if labels is not None and not here.all():
        raise FileError(
            f"The file with the labels lacks {int((~here).sum())} of the {len(rows)} "
            "rows of the other files. Give labels for every row, or pass labels=False "
            "(--labels none)."
        )
    own = True if part.present is None else part.present[rows]
    return replace(
        part,
        views=[place_rows(view, rows) for view in part.views],
        present=here[:, None] & np.broadcast_to(own, (len(rows), len(part.views))),
        labels=None if labels is None else labels[rows],
        row_names=None,
    )


def _mask(part: RawData, n_rows: int) -> NDArray:
    every = np.ones((n_rows, len(part.views)), bool)
    return every if part.present is None else part.present
