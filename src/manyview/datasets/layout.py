"""Which of the variables found in a file are views, and which are labels.

Readers of formats without a fixed scheme (MATLAB, npz, HDF5, Zarr) list what
they found; the rules for the layouts seen in the field live here, once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.datasets.formats.raw import (
    NDArray,
    RawData,
    Request,
    clean_name,
    distinct,
    in_memory,
    transpose,
)
from manyview.errors import FileError

VIEW_NAMES = ("x", "data", "fea", "feas", "features", "views", "view", "xs", "v")
LABEL_NAMES = (
    "y", "gt", "truth", "truelabel", "truelabels", "labels", "label", "gnd",
    "groundtruth", "ground_truth", "target", "targets", "class", "classes",
    "y_true", "labels_true",
)  # fmt: skip
_NUMBERED = re.compile(r"(.*?)[_\-]?([0-9]{1,6})")


def arrange(
    found: Mapping[str, Any],
    request: Request,
    skipped: Mapping[str, str] | None = None,
) -> RawData:
    """Views and labels out of the variables of a file.

    Parameters
    ----------
    found : mapping of name to array, sparse matrix, lazy array or list of them
        The numeric variables; a list is a MATLAB cell.
    request : Request
        What the caller named; the rest is decided by the rules.
    skipped : mapping of name to reason
        Variables that were not read, for the message when nothing fits.
    """
    listing = _Listing(found, skipped or {})
    label_name, labels = _choose_labels(found, request, listing)
    views = _choose_views(found, request, label_name, labels, listing)
    arrays = _samples_on_rows(views, labels, listing)
    n_samples = arrays[0].shape[0]
    if labels is not None and len(labels) != n_samples:
        raise FileError(
            f"The labels {label_name!r} have {len(labels)} entries but the views have "
            f"{n_samples} rows. {listing} Name other labels with labels= (--labels), "
            "or pass labels=False (--labels none) to leave them out."
        )
    return RawData(
        views=arrays,
        names=distinct([clean_name(n) for n in views]),
        labels=labels,
        present=_find_present(found, n_samples, len(arrays)),
    )


class _Listing:
    """What a file holds, in words; made only when a message needs it."""

    def __init__(self, found: Mapping[str, Any], skipped: Mapping[str, str]) -> None:
        self.found, self.skipped = found, skipped

    def __str__(self) -> str:
        parts = [f"{clean_name(n)} ({_shape_of(a)})" for n, a in self.found.items()]
        if len(parts) > 30:
            parts = [*parts[:30], f"and {len(parts) - 30} more"]
        text = f"Found: {', '.join(parts) or 'nothing numeric'}."
        if self.skipped:
            left = [f"{clean_name(n)} ({why})" for n, why in self.skipped.items()]
            text += f" Not read: {', '.join(left[:30])}."
        return text


def _shape_of(item: Any) -> str:
    if isinstance(item, list):
        shapes = [_shape_of(a) for a in item[:6]]
        return f"cell of {len(item)}: {', '.join(shapes)}"
    return " × ".join(str(s) for s in item.shape)


def _is_vector(item: Any) -> bool:
    """n, n × 1 or 1 × n; a cell counts when all its members do."""
    if isinstance(item, list):
        return bool(item) and all(_is_vector(a) for a in item)
    if len(item.shape) == 1:
        return True
    return len(item.shape) == 2 and 1 in item.shape


def _as_labels(item: Any) -> NDArray | None:
    """One label per row; None when the members of a cell disagree."""
    if isinstance(item, list):
        first, *others = [_as_labels(a) for a in item]
        same = first is not None and all(
            v is not None and np.array_equal(v, first) for v in others
        )
        return first if same else None
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


def _choose_labels(
    found: Mapping[str, Any], request: Request, listing: _Listing
) -> tuple[str | None, NDArray | None]:
    if request.labels is False:
        return None, None
    if isinstance(request.labels, str):
        return request.labels, _named_labels(found, request.labels, listing)
    taken = set(request.views or ())
    candidates = {
        name: vector
        for name, item in found.items()
        if _base(name) in LABEL_NAMES and name not in taken and _is_vector(item)
        for vector in [_as_labels(item)]
        if vector is not None
    }
    if not candidates:
        return None, None
    name, labels = next(iter(candidates.items()))
    if any(not np.array_equal(v, labels) for v in candidates.values()):
        raise FileError(
            f"Several variables could be the labels: {', '.join(candidates)}. "
            f"{listing} Say which with labels= (--labels)."
        )
    return name, labels


def _named_labels(found: Mapping[str, Any], name: str, listing: _Listing) -> NDArray:
    if name not in found:
        raise FileError(f"There are no labels named {name!r} in the file. {listing}")
    labels = _as_labels(found[name]) if _is_vector(found[name]) else None
    if labels is None:
        raise FileError(
            f"{name!r} cannot be labels: labels are one number per row, not "
            f"{_shape_of(found[name])}. {listing} Name another with labels= (--labels)."
        )
    return labels


def _base(name: str) -> str:
    return name.rsplit("/", 1)[-1].lower()


def _choose_views(
    found: Mapping[str, Any],
    request: Request,
    label_name: str | None,
    labels: NDArray | None,
    listing: _Listing,
) -> dict[str, Any]:
    if request.views is not None:
        return _named_views(found, request.views, listing)
    usable = {
        name: item
        for name, item in found.items()
        if name != label_name and _base(name) != "present" and _could_be_view(item)
        if not (_base(name) in LABEL_NAMES and _is_vector(item))
    }
    for rule in (_cells, _series):
        groups = rule(usable)
        if groups:
            return _only(groups, listing)
    if not usable:
        raise FileError(
            f"No view was found: a view is a matrix of numbers. {listing} "
            "Name the variables with views= (--view) if one of these is meant."
        )
    if len(usable) > 1 and not _share_rows(usable, labels):
        raise _ambiguous(usable, listing)
    return usable


def _could_be_view(item: Any) -> bool:
    if isinstance(item, list):
        return bool(item) and all(_could_be_view(a) for a in item)
    return len(item.shape) == 2 and 0 not in item.shape


def _named_views(
    found: Mapping[str, Any], names: Sequence[str], listing: _Listing
) -> dict[str, Any]:
    views: dict[str, Any] = {}
    for name in names:
        if name not in found:
            raise FileError(f"There is no variable {name!r} in the file. {listing}")
        item = found[name]
        if not _could_be_view(item):
            raise FileError(
                f"{name!r} cannot be a view: a view is a matrix, not "
                f"{_shape_of(item)}. {listing} Name others with views= (--view)."
            )
        views.update(_members(name, item) if isinstance(item, list) else {name: item})
    return views


def _members(name: str, cell: list[Any]) -> dict[str, Any]:
    return {f"{name}{i + 1}": item for i, item in enumerate(cell)}


def _cells(usable: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {n: _members(n, c) for n, c in usable.items() if isinstance(c, list)}


def _series(usable: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Numbered matrices: X1, X2, … or view0, view1, …, by number."""
    groups: dict[str, list[tuple[int, str]]] = {}
    for name in usable:
        match = _NUMBERED.fullmatch(name)
        if match:
            groups.setdefault(match[1], []).append((int(match[2]), name))
    return {
        prefix: {name: usable[name] for _, name in sorted(members)}
        for prefix, members in groups.items()
        if len(members) > 1 or prefix.lower() in VIEW_NAMES
    }


def _only(groups: dict[str, dict[str, Any]], listing: _Listing) -> dict[str, Any]:
    """The one group there is, or the one with a usual name."""
    usual = [g for n, g in groups.items() if _base(n) in VIEW_NAMES]
    choice = list(groups.values()) if len(groups) == 1 else usual
    if len(choice) != 1:
        raise _ambiguous(groups, listing)
    return choice[0]


def _ambiguous(candidates: Mapping[str, Any], listing: _Listing) -> FileError:
    names = ", ".join(clean_name(n) for n in candidates)
    return FileError(
        f"It is not clear which variables are the views: {names} could be. {listing} "
        "Say which with views=[...] (--view NAME, once per view)."
    )


def _share_rows(usable: Mapping[str, Any], labels: NDArray | None) -> bool:
    shapes = [a.shape for a in usable.values()]
    if labels is not None:
        return any(all(s[side] == len(labels) for s in shapes) for side in (0, 1))
    return any(len({s[side] for s in shapes}) == 1 for side in (0, 1))


def _samples_on_rows(
    views: Mapping[str, Any], labels: NDArray | None, listing: _Listing
) -> list[Any]:
    """Transpose all views when the samples stand on columns."""
    arrays = list(views.values())
    rows = {int(a.shape[0]) for a in arrays}
    columns = {int(a.shape[1]) for a in arrays}
    wanted = None if labels is None else len(labels)
    if len(rows) == 1 and (wanted in (None, *rows) or columns != {wanted}):
        return [_as_view(a) for a in arrays]
    if len(columns) == 1:
        return [_as_view(transpose(a)) for a in arrays]
    raise FileError(
        "The views do not share a number of samples, neither on rows nor on columns: "
        f"{', '.join(f'{clean_name(n)} is {_shape_of(a)}' for n, a in views.items())}. "
        f"{listing} Name the views that belong together with views= (--view)."
    )


def _as_view(array: Any) -> Any:
    return sp.csr_array(array) if sp.issparse(array) else array


def _find_present(
    found: Mapping[str, Any], n_samples: int, n_views: int
) -> NDArray | None:
    for name, item in found.items():
        if _base(name) == "present" and not isinstance(item, list):
            if tuple(item.shape) == (n_samples, n_views):
                return np.asarray(in_memory(item)).astype(bool)
    return None
