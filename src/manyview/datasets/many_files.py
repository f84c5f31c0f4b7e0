"""Several files, one data set: one view per file, rows matched by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.datasets.formats.raw import NDArray, RawData, distinct
from manyview.datasets.layout import LABEL_NAMES
from manyview.errors import FileError

_PER_VIEW = (".npy", ".csv", ".tsv", ".parquet")


def files_in(folder: Path) -> list[Path]:
    """The per-view files of a folder, numbers in their names in order."""
    files = [p for p in folder.iterdir() if p.suffix.lower() in _PER_VIEW]
    return sorted(files, key=_natural)


def _natural(path: Path) -> list[tuple[int, int, str]]:
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
    row_names, maps = _match_rows(parts)
    views, names, features, masks = [], [], [], []
    for part, rows in zip(parts, maps, strict=True):
        views += [_spread(v, rows) for v in part.views]
        names += part.names
        features += part.feature_names or [None] * len(part.views)
        masks += _masks(part, rows)
    labels = [
        _spread_labels(p.labels, rows)
        for p, rows in zip(parts, maps, strict=True)
        if p.labels is not None
    ]
    _require_views(views, labels)
    known = [m for m in masks if m is not None]
    present = None
    if known:
        present = np.stack(
            [np.ones(len(known[0]), bool) if m is None else m for m in masks], axis=1
        )
    return RawData(
        views=views,
        names=distinct(names),
        feature_names=features if any(f is not None for f in features) else None,
        present=present,
        labels=labels[0] if labels else None,
        row_names=row_names,
    )


def _require_views(views: list[Any], labels: list[NDArray]) -> None:
    if not views:
        raise FileError("The files hold labels only. Give at least one file of views.")
    if any(not np.array_equal(other, labels[0]) for other in labels[1:]):
        raise FileError(
            "Several of the files bring labels, and they differ. Keep one, or pass "
            "labels=False (--labels none) or the labels themselves."
        )


def _match_rows(
    parts: Sequence[RawData],
) -> tuple[list[str] | None, list[NDArray | None]]:
    """Common row names, and for each part its row per common row (None: as it is)."""
    named = [p.row_names for p in parts if p.row_names is not None]
    same = all(names == named[0] for names in named)
    if not named or same:
        return (named[0] if named else None), [None] * len(parts)
    if len(named) < len(parts) or any(len(set(n)) < len(n) for n in named):
        raise FileError(
            "The files name their rows differently, and not every file has distinct "
            "row names, so rows cannot be matched. Name the rows in all files or none."
        )
    union = list(dict.fromkeys(name for names in named for name in names))
    maps: list[NDArray | None] = []
    for names in named:
        place = {name: i for i, name in enumerate(names)}
        maps.append(np.array([place.get(n, -1) for n in union], dtype=np.int64))
    return union, maps


def _masks(part: RawData, rows: NDArray | None) -> list[NDArray | None]:
    masks = []
    for v in range(len(part.views)):
        own = None if part.present is None else part.present[:, v]
        if rows is not None:
            here = rows >= 0
            own = here if own is None else here & own[rows]
        masks.append(own)
    return masks


def _spread(view: Any, rows: NDArray | None) -> Any:
    """The rows at their common places, zero where the part lacks them."""
    if rows is None:
        return view
    here = np.flatnonzero(rows >= 0)
    if sp.issparse(view):
        ones = np.ones(len(here), view.dtype)
        place = sp.csr_array((ones, (here, rows[here])), (len(rows), view.shape[0]))
        return sp.csr_array(place @ view)
    full = np.zeros((len(rows), view.shape[1]), dtype=view.dtype)
    full[here] = view[rows[here]]
    return full


def _spread_labels(labels: NDArray, rows: NDArray | None) -> NDArray:
    if rows is None:
        return labels
    if (rows < 0).any():
        raise FileError(
            "The file with the labels lacks some rows of the other files. Give labels "
            "for every row, or pass labels=False (--labels none)."
        )
    return labels[rows]
