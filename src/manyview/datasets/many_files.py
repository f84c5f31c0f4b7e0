"""Several files, one data set: one view per file, rows matched by name."""

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from manyview.datasets.layout import LABEL_NAMES
from manyview.datasets.raw_data import NDArray, RawData, distinct
from manyview.errors import FileError
from manyview.views.containers import place_rows

_PER_VIEW = (".npy", ".csv", ".tsv", ".parquet")


def files_in(folder: Path) -> list[Path]:
    """The per-view files of a folder, numbers in their names in order."""
    files = [p for p in folder.iterdir() if p.suffix.lower() in _PER_VIEW]
    return sorted(files, key=_numbers_by_size)


def _numbers_by_size(path: Path) -> list[tuple[int, int, str]]:
    parts = re.split(r"([0-9]+)", path.name)
    return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in parts if p]


def is_label_file(path: Path) -> bool:
    """Is the file named like labels (``labels.npy``, ``y.csv``)?"""
    return path.stem.lower() in LABEL_NAMES


def combine(parts: Sequence[RawData]) -> RawData:
    """All views of all parts over the same rows.

    Rows are matched by name where every part has distinct row names and they
    differ; a row that a part lacks is marked missing there.
    """
    if len(parts) == 1:
        return parts[0]
    if not any(part.views for part in parts):
        raise FileError("The files hold labels only. Give at least one file of views.")
    row_names, maps = _match_rows(parts)
    if maps is not None:
        parts = [_place(p, m) for p, m in zip(parts, maps, strict=True)]
    labels = [part.labels for part in parts if part.labels is not None]
    if any(not np.array_equal(other, labels[0]) for other in labels[1:]):
        raise FileError(
            "Several of the files bring labels, and they differ. Keep one, or pass "
            "labels=False (--labels none) or the labels themselves."
        )
    features = [f for p in parts for f in p.feature_names or [None] * len(p.views)]
    n_rows = next((len(p.present) for p in parts if p.present is not None), None)
    masks = [] if n_rows is None else [_mask(part, n_rows) for part in parts]
    return RawData(
        views=[view for part in parts for view in part.views],
        names=distinct([name for part in parts for name in part.names]),
        feature_names=features if any(f is not None for f in features) else None,
        present=np.hstack(masks) if masks else None,
        labels=labels[0] if labels else None,
        row_names=row_names,
    )


def _match_rows(
    parts: Sequence[RawData],
) -> tuple[list[str] | None, list[NDArray] | None]:
    """Common row names, and for each part its row per common row (None: as it is)."""
    named = [p.row_names for p in parts if p.row_names is not None]
    if not named or all(names == named[0] for names in named):
        return (named[0] if named else None), None
    if len(named) < len(parts) or any(len(set(n)) < len(n) for n in named):
        raise FileError(
            "The files name their rows differently, and not every file has distinct "
            "row names, so rows cannot be matched. Name the rows in all files or none."
        )
    union = list(dict.fromkeys(name for names in named for name in names))
    places = [{name: i for i, name in enumerate(names)} for names in named]
    return union, [np.array([p.get(n, -1) for n in union]) for p in places]


def _place(part: RawData, rows: NDArray) -> RawData:
    """The part over the common rows, zero and marked where it lacks them."""
    here = rows >= 0
    labels = part.labels
    if labels is not None and not here.all():
        raise FileError(
            "The file with the labels lacks some rows of the other files. Give labels "
            "for every row, or pass labels=False (--labels none)."
        )
    own = True if part.present is None else part.present[rows]
    return RawData(
        views=[place_rows(view, rows) for view in part.views],
        names=part.names,
        feature_names=part.feature_names,
        present=here[:, None] & np.broadcast_to(own, (len(rows), len(part.views))),
        labels=None if labels is None else labels[rows],
    )


def _mask(part: RawData, n_rows: int) -> NDArray:
    every = np.ones((n_rows, len(part.views)), bool)
    return every if part.present is None else part.present
