"""What users hand over as views: told apart, named, and checked for kind and shape.

Values are looked at later, block by block; here nothing is read that is not in
memory already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_array_api_obj

from manyview.errors import InputError, InputTypeError


@dataclass(frozen=True)
class Parsed:
    array: Any
    columns: tuple[str, ...] | None = None
    index: Any = None


def split_input(views: Any) -> tuple[list[Any], list[str] | None]:
    """The separate views of whatever a user hands over, and their names."""
    if isinstance(views, (Mapping, list, tuple)) and not len(views):
        raise InputError("No views were given: the container is empty. Give 1 or more.")
    if isinstance(views, Mapping):
        return list(views.values()), [str(k) for k in views]
    if isinstance(views, (list, tuple)) and not _is_row(views[0]):
        return list(views), None
    return [views], None


def _is_row(item: Any) -> bool:
    """Is this the first row of one table, rather than the first view?"""
    return isinstance(item, (list, tuple, int, float, complex, str)) and (
        not isinstance(item, (list, tuple))
        or not len(item)
        or not hasattr(item[0], "__len__")
    )


def check_names(names: Sequence[str] | None, items: Sequence[Any]) -> tuple[str, ...]:
    if names is None:
        return tuple(f"view{v}" for v in range(len(items)))
    if len(names) != len(items) or len(set(names)) != len(items):
        raise InputError(
            f"{len(items)} views need as many different names; got "
            f"{list(names)}. Give one name per view."
        )
    return tuple(str(n) for n in names)


def parse_view(item: Any, name: str) -> Parsed:
    """One view, checked for kind and shape but not yet for its values."""
    if hasattr(item, "columns") and not isinstance(item, np.ndarray):
        return _parse_frame(item, name)
    array = item
    if sp.issparse(item):
        array = item if item.format in ("csr", "csc") else item.tocsr()
        array = array.tocsr() if array.format == "csc" else array
    elif not (is_array_api_obj(item) or is_lazy(item)):
        array = _to_array(item, name)
    _check_kind(array, name)
    _check_shape(array, name)
    return Parsed(array)


def is_lazy(item: Any) -> bool:
    """HDF5 and Zarr arrays: shaped, typed, sliced on demand."""
    return all(hasattr(item, a) for a in ("shape", "dtype", "__getitem__", "chunks"))


def _to_array(item: Any, name: str) -> Any:
    try:
        return np.asarray(item)
    except ValueError as error:
        raise InputTypeError(
            f"View {name!r} is no table of numbers: {error}. Give a 2-D array, "
            "DataFrame or sparse matrix with samples on rows."
        ) from error


def _parse_frame(frame: Any, name: str) -> Parsed:
    """A DataFrame of any library narwhals knows."""
    import narwhals as nw

    try:
        table = nw.from_native(frame, eager_only=True)
    except TypeError as error:
        raise InputTypeError(
            f"View {name!r} has columns but is no DataFrame we can read: "
            f"{type(frame).__name__}. Turn it into an array first."
        ) from error
    text = [
        c for c, t in table.schema.items() if not (t.is_numeric() or t == nw.Boolean)
    ]
    if text:
        raise InputTypeError(
            f"View {name!r} has non-numeric columns: {', '.join(map(str, text[:5]))}. "
            "Drop them or encode them as numbers."
        )
    array = table.to_numpy()
    _check_shape(array, name)
    index = nw.maybe_get_index(table)
    columns = tuple(str(c) for c in table.columns)
    return Parsed(array, columns, index)


def _check_kind(array: Any, name: str) -> None:
    kind = np.dtype(str(array.dtype).removeprefix("torch.")).kind
    if kind == "c":
        raise InputError(
            f"Complex data not supported: view {name!r} has dtype {array.dtype}. "
            "Give real and imaginary parts as separate features."
        )
    if kind not in "fiub":
        raise InputTypeError(
            f"View {name!r} is not numeric: its dtype is {array.dtype}. "
            "Drop or encode text columns and give numbers."
        )


def _check_shape(array: Any, name: str) -> None:
    shape = tuple(array.shape)
    if len(shape) != 2:
        raise InputError(
            f"View {name!r} must be 2-D (samples on rows, features on columns); "
            f"its shape is {shape}. Reshape your data."
        )
    if 0 in shape:
        what = "row" if shape[0] == 0 else "feature"
        raise InputError(
            f"View {name!r} is empty: its shape is {shape}. Every view needs at "
            f"least one {what}; leave an empty view out."
        )


def check_rows_agree(arrays: Sequence[Any], names: Sequence[str]) -> int:
    counts = [int(a.shape[0]) for a in arrays]
    if len(set(counts)) > 1:
        seen = ", ".join(f"{n} has {c}" for n, c in zip(names, counts, strict=True))
        raise InputError(
            f"The views have different numbers of rows: {seen}. Every view must "
            "describe the same rows in the same order."
        )
    return counts[0]


def check_per_row(values: Any, n_samples: int, what: str) -> Any:
    if values is None:
        return None
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputTypeError(
            f"{what} must have one entry per row ({n_samples}): {error}. Give a plain "
            "list of numbers or text."
        ) from error
    if array.shape != (n_samples,):
        raise InputError(
            f"{what} must have one entry per row ({n_samples}); "
            f"their shape is {array.shape}."
        )
    return array


def check_feature_names(
    names: Sequence[Sequence[str] | None], n_features: Sequence[int]
) -> tuple[tuple[str, ...] | None, ...]:
    counts = [None if n is None else len(n) for n in names]
    fits = len(counts) == len(n_features) and all(
        c is None or c == d for c, d in zip(counts, n_features, strict=True)
    )
    if not fits:
        raise InputError(
            f"feature_names must have one name per feature, {list(n_features)} for "
            f"the views, or None for a view without names; got {counts}."
        )
    return tuple(None if n is None else tuple(n) for n in names)


def check_present(present: Any, n_samples: int, n_views: int) -> Any:
    if present is None:
        return None
    mask = np.asarray(present, dtype=bool)
    if mask.shape != (n_samples, n_views):
        raise InputError(
            f"The mask of present views must have shape ({n_samples}, {n_views}); "
            f"it has {mask.shape}."
        )
    return None if mask.all() else mask
