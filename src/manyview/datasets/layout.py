"""Which of the variables found in a file are views, and which are labels.

Readers of formats without a fixed scheme (MATLAB, npz, HDF5, Zarr) list what
they found; the rules for the layouts seen in the field live here, once.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.datasets.raw_data import (
    NDArray,
    RawData,
    Request,
    clean_name,
    distinct,
    in_memory,
    name_list,
    transpose,
)
from manyview.errors import FileError

# Names met in published multi-view data sets.
VIEW_NAMES = ("x", "data", "fea", "feas", "features", "views", "view", "xs", "v")
LABEL_NAMES = (
    "y", "gt", "truth", "truelabel", "truelabels", "labels", "label", "gnd",
    "groundtruth", "ground_truth", "target", "targets", "class", "classes",
    "y_true", "labels_true",
)  # fmt: skip
_NUMBERED = re.compile(r"(.*?)[_\-]?([0-9]{1,6})")
_MOST_LISTED = 30  # variables named in a message


def arrange(
    found: Mapping[str, Any], request: Request, skipped: Mapping[str, str] | None = None
) -> RawData:
    """Views and labels out of the numeric variables of a file, by name.

    A list of matrices is a MATLAB cell. `skipped` says why others were not read,
    for the message when nothing fits.
    """
    file = _Content(found, skipped or {})
    label_name, labels = _choose_labels(file, request)
    views = _choose_views(file, request, label_name, labels)
    arrays = _samples_on_rows(views, labels, file)
    n_samples = arrays[0].shape[0]
    if labels is not None and len(labels) != n_samples:
        raise file.error(
            f"The labels {label_name!r} have {len(labels)} entries but the views have "
            f"{n_samples} rows.",
            "Name other labels with labels= (--labels), or pass labels=False "
            "(--labels none) to leave them out.",
        )
    left = [
        name
        for name, item in found.items()
        if name != label_name and getattr(item, "shape", 0) == (n_samples,)
        if holds_fractions(np.asarray(in_memory(item)))
    ]
    note = (
        f"One number per row is no view, so {name_list(left)} was left out. Write such "
        "numbers as the columns of a matrix if they are to count."
    )
    return RawData(
        views=arrays,
        names=distinct([clean_name(n) for n in views]),
        labels=labels,
        notes=(note,) if left and request.views is None else (),
        present=_find_present(found, (n_samples, len(arrays))),
    )


class _Content:
    """The variables of a file, and errors that list them."""

    def __init__(self, found: Mapping[str, Any], skipped: Mapping[str, str]) -> None:
        self.found, self.skipped = found, skipped

    def error(self, problem: str, advice: str = "") -> FileError:
        listed = [f"{clean_name(n)} ({_shape_of(a)})" for n, a in self.found.items()]
        if len(listed) > _MOST_LISTED:
            listed[_MOST_LISTED:] = [f"and {len(listed) - _MOST_LISTED} more"]
        text = f"{problem} Found: {', '.join(listed) or 'nothing numeric'}."
        if self.skipped:
            left = [f"{clean_name(n)} ({why})" for n, why in self.skipped.items()]
            text += f" Not read: {', '.join(left[:_MOST_LISTED])}."
        return FileError(f"{text} {advice}".rstrip())


def _shape_of(item: Any) -> str:
    if isinstance(item, list):
        return f"cell of {len(item)}: {', '.join([_shape_of(a) for a in item[:6]])}"
    return " × ".join(str(s) for s in item.shape)


def _base(name: str) -> str:
    return name.rsplit("/", 1)[-1].lower()


def _is_vector(item: Any) -> bool:
    """n, n × 1 or 1 × n; a cell counts when all its members do."""
    if isinstance(item, list):
        return bool(item) and all(_is_vector(a) for a in item)
    return len(item.shape) == 1 or (len(item.shape) == 2 and 1 in item.shape)


def _is_matrix(item: Any) -> bool:
    """Could it be a view, or a cell of views?"""
    if isinstance(item, list):
        return bool(item) and all(_is_matrix(a) for a in item)
    return len(item.shape) == 2 and 0 not in item.shape


def _as_labels(item: Any) -> NDArray | None:
    """One label per row; None when it is no vector or the members of a cell differ."""
    if not _is_vector(item):
        return None
    if isinstance(item, list):
        members: list[Any] = [_as_labels(a) for a in item]
        same = all(np.array_equal(m, members[0]) for m in members)
        return members[0] if same else None
    dense = item.toarray() if sp.issparse(item) else np.asarray(in_memory(item))
    return tidy_labels(dense.ravel())


def tidy_labels(vector: NDArray) -> NDArray:
    """Whole numbers as int64; text and other values as they are."""
    if vector.dtype.kind in "iub":
        return vector.astype(np.int64)
    if vector.dtype.kind == "f" and vector.size and np.isfinite(vector).all():
        whole = np.rint(vector)
        if np.array_equal(whole, vector) and np.abs(whole).max() < 2**53:
            return whole.astype(np.int64)
    return vector


def holds_fractions(vector: NDArray) -> bool:
    """Are some of the values fractions, so that they measure rather than name?"""
    if vector.dtype.kind != "f":
        return False
    known = vector[np.isfinite(vector)]
    return bool((np.rint(known) != known).any())


def _choose_labels(
    file: _Content, request: Request
) -> tuple[str | None, NDArray | None]:
    if request.labels is False:
        return None, None
    if isinstance(request.labels, str):
        return request.labels, _named_labels(file, request.labels)
    candidates = {
        name: labels
        for name, item in file.found.items()
        if _base(name) in LABEL_NAMES and name not in (request.views or ())
        if (labels := _as_labels(item)) is not None
    }
    if not candidates:
        return None, None
    (name, labels), *others = candidates.items()
    if any(not np.array_equal(other, labels) for _, other in others):
        raise file.error(
            f"Several variables could be the labels: {', '.join(candidates)}.",
            "Say which with labels= (--labels).",
        )
    return name, labels


def _named_labels(file: _Content, name: str) -> NDArray:
    if name not in file.found:
        raise file.error(
            f"There are no labels named {name!r} in the file.",
            "Name others with labels= (--labels).",
        )
    labels = _as_labels(file.found[name])
    if labels is None:
        raise file.error(
            f"{name!r} cannot be labels: labels are one number per row, not "
            f"{_shape_of(file.found[name])}.",
            "Name another with labels= (--labels).",
        )
    return labels


def _choose_views(
    file: _Content, request: Request, label_name: str | None, labels: NDArray | None
) -> dict[str, Any]:
    if request.views is not None:
        return _named_views(file, request)
    usable = {
        name: item
        for name, item in file.found.items()
        if name != label_name and _base(name) != "present" and _is_matrix(item)
        if not (_base(name) in LABEL_NAMES and _is_vector(item))
    }
    cells = {n: _members(n, c) for n, c in usable.items() if isinstance(c, list)}
    groups = cells or _numbered(usable)
    usual = [g for n, g in groups.items() if _base(n) in VIEW_NAMES]
    choice = list(groups.values()) if len(groups) == 1 else usual
    if len(choice) == 1:
        return choice[0]
    if not usable:
        raise file.error(
            "No view was found: a view is a matrix of numbers.",
            "Name the variables with views= (--view) if one of these is meant.",
        )
    if groups or (len(usable) > 1 and not _share_rows(usable, labels)):
        raise file.error(
            "It is not clear which variables are the views: "
            f"{name_list(groups or usable, len(usable))} could be.",
            "Say which with views=[...] (--view NAME, once per view).",
        )
    return usable


def _named_views(file: _Content, request: Request) -> dict[str, Any]:
    views: dict[str, Any] = {}
    for name in request.views or ():
        if name not in file.found:
            raise file.error(
                f"There is no variable {name!r} in the file.",
                "Name others with views= (--view).",
            )
        item = file.found[name]
        if not _is_matrix(item):
            raise file.error(
                f"{name!r} cannot be a view: a view is a matrix, not "
                f"{_shape_of(item)}.",
                "Name others with views= (--view).",
            )
        views |= _members(name, item) if isinstance(item, list) else {name: item}
    return views


def _members(name: str, cell: list[Any]) -> dict[str, Any]:
    return {f"{name}{i}": item for i, item in enumerate(cell, start=1)}


def _numbered(usable: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Series of matrices: X1, X2, … or view0, view1, …, by number."""
    groups: dict[str, list[tuple[int, str]]] = {}
    for name in usable:
        if match := _NUMBERED.fullmatch(name):
            groups.setdefault(match[1], []).append((int(match[2]), name))
    return {
        prefix: {name: usable[name] for _, name in sorted(members)}
        for prefix, members in groups.items()
        if len(members) > 1 or prefix.lower() in VIEW_NAMES
    }


def _share_rows(usable: Mapping[str, Any], labels: NDArray | None) -> bool:
    """Do all have as many rows (or columns), as many as the labels if there are any?"""
    sides = [{int(a.shape[side]) for a in usable.values()} for side in (0, 1)]
    if labels is not None:
        return {len(labels)} in sides
    return any(len(lengths) == 1 for lengths in sides)


def _samples_on_rows(
    views: Mapping[str, Any], labels: NDArray | None, file: _Content
) -> list[Any]:
    """Transpose all views when the samples stand on columns."""
    arrays = list(views.values())
    rows = {int(a.shape[0]) for a in arrays}
    columns = {int(a.shape[1]) for a in arrays}
    wanted = None if labels is None else len(labels)
    if not (len(rows) == 1 and (wanted in (None, *rows) or columns != {wanted})):
        if len(columns) != 1:
            shapes = [f"{clean_name(n)} is {_shape_of(a)}" for n, a in views.items()]
            raise file.error(
                "The views do not share a number of samples, neither on rows nor on "
                f"columns: {', '.join(shapes)}.",
                "Name the views that belong together with views= (--view).",
            )
        arrays = [transpose(a) for a in arrays]
    return [sp.csr_array(a) if sp.issparse(a) else a for a in arrays]


def _find_present(found: Mapping[str, Any], shape: tuple[int, int]) -> NDArray | None:
    for name, item in found.items():
        if _base(name) == "present" and getattr(item, "shape", None) == shape:
            return np.asarray(in_memory(item)).astype(bool)
    return None
