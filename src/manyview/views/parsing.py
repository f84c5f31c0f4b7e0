"""What users hand over as views: told apart, named, checked.

Values of views are looked at later, block by block; here nothing is read that is
not in memory already.
"""

import os
from collections.abc import Iterator, Mapping, Sequence, Set, ValuesView
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_torch_array

from manyview.arrays.from_torch import plain_tensor
from manyview.arrays.ops import dtype_of, to_host
from manyview.errors import FileError, InputError, InputTypeError, RowError
from manyview.views.containers import anndata_view, is_container, is_mudata

# What to do about a kind of array, and about a number of dimensions.
_ADVICE = {
    "M": "Give times as numbers, or to SequenceS2MVTC as order=.",
    "m": "Give durations as numbers.",
    "V": "Give its fields as the columns of an array or of a DataFrame.",
}
_RESHAPE = {
    1: "x.reshape(-1, 1) makes it one feature, x.reshape(1, -1) one row; known classes "
    "go into Views(..., labels=...)",
    3: "a stack of views is given as list(x), pictures as x.reshape(len(x), -1)",
    4: "pictures are given as x.reshape(len(x), -1)",
}


@dataclass(frozen=True)
class Parsed:
    """One view as it was handed over, with the names of its columns and rows."""

    array: Any
    columns: tuple[str, ...] | None = None
    index: Any = None


def split_input(views: Any) -> tuple[list[Any], list[str] | None]:
    """The separate views of whatever a user hands over, and their names."""
    if views is None:
        raise InputTypeError("No views were given: got None. Give a list of arrays.")
    if isinstance(views, (Iterator, Set)):
        raise InputTypeError(
            f"Views came as a {type(views).__name__}, which keeps no order or can be "
            "read only once. Give a list, such as list(views), or a dict."
        )
    views = list(views) if isinstance(views, ValuesView) else views
    if isinstance(views, (Mapping, list, tuple)) and not len(views):
        raise InputError("No views were given: the container is empty. Give 1 or more.")
    if isinstance(views, Mapping):
        return list(views.values()), [str(k) for k in views]
    if isinstance(views, (list, tuple)) and not _is_row(views[0]):
        return list(views), None
    if _holds_arrays(views):
        return list(views), None
    return [views], None


def _is_row(item: Any) -> bool:
    """Is this the first row of one table, rather than the first view?"""
    return isinstance(item, (list, tuple, int, float, complex)) and (
        not isinstance(item, (list, tuple))
        or not len(item)
        or not hasattr(item[0], "__len__")
    )


def _holds_arrays(views: Any) -> bool:
    """An object array of arrays, as MATLAB's cells and ragged lists end in?"""
    if not (isinstance(views, np.ndarray) and views.dtype == object and views.size):
        return False
    return views.ndim == 1 and np.ndim(views[0]) > 0


def check_names(names: Sequence[str] | None, items: Sequence[Any]) -> tuple[str, ...]:
    if names is None:
        return tuple(f"view{v}" for v in range(len(items)))
    if (
        isinstance(names, str)
        or len(names) != len(items)
        or len(set(names)) != len(items)
    ):
        raise InputError(
            f"{len(items)} views need as many different names; got {names!r}. Give "
            "a list with one name per view."
        )
    return tuple(str(n) for n in names)


def parse_view(item: Any, name: str) -> Parsed:
    """One view, checked for kind and shape but not yet for its values."""
    if isinstance(item, np.ndarray):
        return Parsed(_checked(item, name))
    if item is None:
        raise InputTypeError(f"View {name!r} is None. Give an array, or leave it out.")
    if isinstance(item, (str, os.PathLike)):
        raise InputTypeError(
            f"View {name!r} is the text {str(item)!r} beside arrays. Open files first, "
            "with manyview.datasets.load; texts must be made numbers."
        )
    if hasattr(item, "arrays") or hasattr(item, "require_group"):
        raise InputTypeError(
            f"View {name!r} is itself a {type(item).__name__} of arrays. Give those "
            "inside: list(x.arrays) of Views, x[name] of a group in HDF5 or Zarr."
        )
    if type(item).__module__.startswith("h5py.") and not item:
        raise FileError(
            f"View {name!r} lies in an HDF5 file that was closed. Open the file again "
            "and keep it open."
        )
    if hasattr(type(item), "columns"):
        return _parse_frame(item, name)
    if is_container(item) and not is_mudata(item):
        matrix, columns, index = anndata_view(item, name)
        return Parsed(parse_view(matrix, name).array, columns, index)
    array = item
    if sp.issparse(item):
        array = item if item.format in ("csr", "csc") else item.tocsr()
        array = array.tocsr() if array.format == "csc" else array
    elif is_torch_array(item):
        array = plain_tensor(item, name)
    elif not (isinstance(item, np.ndarray) or is_dask(item) or reads_on_demand(item)):
        array = _to_array(item, name)
    return Parsed(_checked(array, name))


def _checked(array: Any, name: str) -> Any:
    """The array in plain numbers, if they are numbers on two dimensions."""
    if isinstance(array, np.ndarray):
        array = _plain_array(array)
    _check_kind(array, name)
    _check_shape(array, name)
    return array


def reads_on_demand(item: Any) -> bool:
    """HDF5 and Zarr arrays: shaped, typed, sliced on demand."""
    return all(hasattr(item, a) for a in ("shape", "dtype", "__getitem__", "chunks"))


def is_dask(array: Any) -> bool:
    """Is this a Dask array or DataFrame?"""
    return hasattr(array, "__dask_graph__")


def fetched(values: Any) -> Any:
    """The values in the host's memory, wherever they lie."""
    return np.asarray(values) if is_dask(values) else to_host(values)


def lies_elsewhere(X: Any) -> bool:
    """Are these Dask collections or paths, rather than rows in memory?"""
    items = X.values() if isinstance(X, Mapping) else X
    many = list(items) if isinstance(items, (list, tuple, ValuesView)) else [X]
    are_paths = bool(many) and all(isinstance(i, (str, os.PathLike)) for i in many)
    return are_paths or any(is_dask(item) for item in many)


def _to_array(item: Any, name: str) -> Any:
    try:
        return np.asarray(item)
    except ValueError as error:
        raise InputTypeError(
            f"View {name!r} is no table of numbers: its rows differ in length. Give a "
            "2-D array, DataFrame or sparse matrix with samples on rows."
        ) from error
    except (TypeError, RuntimeError) as error:
        raise InputTypeError(
            f"View {name!r}, of type {type(item).__name__}, does not turn into a NumPy "
            f"array: {str(error).rstrip('.')}. Give NumPy arrays, or tensors of torch."
        ) from error


def _plain_array(array: Any) -> Any:
    """Masked entries as NaN, and numbers that lie in an object array as floats."""
    if isinstance(array, np.ma.MaskedArray):
        known = array.dtype.kind in "fiub" and np.ma.is_masked(array)
        as_floats = np.ma.filled(array.astype(float), np.nan) if known else array
        array = np.asarray(as_floats)
    if array.dtype == object and all(
        x is None or isinstance(x, Real) for x in array.flat
    ):
        return array.astype(float)
    return array


def _parse_frame(frame: Any, name: str) -> Parsed:
    """A DataFrame of any library narwhals knows."""
    import narwhals as nw

    try:
        table = nw.from_native(frame, eager_only=True)
        _ = table.columns
    except nw.exceptions.DuplicateError as error:
        raise InputError(
            f"View {name!r} has several columns of the same name "
            f"({' '.join(str(error).split()[6:])}). Give every column its own name."
        ) from error
    except TypeError as error:
        advice = "Collect it" if hasattr(frame, "collect") else "Turn it into an array"
        raise InputTypeError(
            f"View {name!r} has columns but is no DataFrame we can read: "
            f"{type(frame).__name__}. {advice} first."
        ) from error
    text = [
        c for c, t in table.schema.items() if not (t.is_numeric() or t == nw.Boolean)
    ]
    if text:
        raise InputTypeError(
            f"View {name!r} has non-numeric columns: {', '.join(map(str, text[:5]))}. "
            "Drop them, or let manyview.ViewTransformer encode them."
        )
    array = table.to_numpy()
    _check_shape(array, name)
    index = nw.maybe_get_index(table)
    return Parsed(array, tuple(str(c) for c in table.columns), index)


def _check_kind(array: Any, name: str) -> None:
    kind = dtype_of(array).kind
    if kind == "c":
        raise InputError(
            f"Complex data not supported: view {name!r} has dtype {array.dtype}. "
            "Give real and imaginary parts as separate features."
        )
    if kind not in "fiub":
        raise InputTypeError(
            f"View {name!r} is not numeric: its dtype is {array.dtype}. "
            f"{_ADVICE.get(kind, 'Drop or encode text columns and give numbers.')}"
        )


def _check_shape(array: Any, name: str) -> None:
    shape = tuple(array.shape or ())  # None of an HDF5 dataset that holds nothing
    if len(shape) != 2:
        raise InputError(
            f"View {name!r} must be 2-D (samples on rows, features on columns); "
            f"its shape is {shape}. Reshape your data: "
            f"{_RESHAPE.get(len(shape), 'give an array, or a list of arrays')}."
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
            f"describe the same rows in the same order{_turned(arrays, names)}."
        )
    return counts[0]


def _turned(arrays: Sequence[Any], names: Sequence[str]) -> str:
    """A hint where other views would agree if their samples stood on columns."""
    shapes = [tuple(map(int, a.shape)) for a in arrays]
    sides = sorted({side for shape in shapes for side in shape}, reverse=True)
    wanted = max(sides, key=lambda side: sum(side in shape for shape in shapes))
    agree = all(wanted in shape for shape in shapes)
    turned = [n for n, s in zip(names, shapes, strict=True) if s[0] != wanted and agree]
    return f"; turn {', '.join(turned)} with .T" if turned else ""


def check_per_row(values: Any, n_samples: int, what: str) -> Any:
    if values is None:
        return None
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise InputTypeError(
            f"{what} must have one entry per row ({n_samples}), but entries differ in "
            "length. Give a plain list of numbers or text."
        ) from error
    if array.shape != (n_samples,):
        raise InputError(
            f"{what} must have one entry per row ({n_samples}); "
            f"their shape is {array.shape}."
        )
    return array


def row_ids(rows: Any, n_samples: int) -> np.ndarray[Any, Any]:
    """Row numbers from a mask or from numbers, which may count from the end."""
    ids = np.asarray(rows)
    if ids.dtype == bool:
        if ids.shape != (n_samples,):
            raise RowError(
                f"A mask of rows needs {n_samples} entries; its shape is {ids.shape}."
            )
        return np.flatnonzero(ids)
    if ids.size and ids.dtype.kind not in "iu":
        raise RowError(
            f"Rows are chosen by whole numbers, a slice or a mask; got {rows!r}. A "
            "view is chosen with views.view(name)."
        )
    if ids.size and not (-n_samples <= ids.min() and ids.max() < n_samples):
        raise RowError(
            f"There are {n_samples} rows (0 … {n_samples - 1}); rows "
            f"{ids.min()} … {ids.max()} were asked for. Ask for rows that are there."
        )
    return np.where(ids < 0, ids + n_samples, ids).astype(np.intp)


def check_feature_names(
    names: Sequence[Sequence[str] | None], n_features: Sequence[int]
) -> tuple[tuple[str, ...] | None, ...]:
    listed = isinstance(names, (list, tuple))
    counts = [None if n is None else len(n) for n in (names if listed else ())]
    fits = len(counts) == len(n_features) and all(
        c is None or c == d for c, d in zip(counts, n_features, strict=True)
    )
    if not fits:
        raise InputError(
            f"feature_names must be a list of lists, {list(n_features)} names for the "
            f"views, or None for a view without names; got {counts or repr(names)}."
        )
    return tuple(None if n is None else tuple(n) for n in names)


def check_present(present: Any, n_samples: int, n_views: int) -> Any:
    if present is None:
        return None
    try:
        mask = np.asarray(present, dtype=bool)
    except ValueError as error:
        raise InputError(
            "The mask of present views is no table: its rows differ in length. Give "
            f"an array of shape ({n_samples}, {n_views})."
        ) from error
    if mask.shape != (n_samples, n_views):
        raise InputError(
            f"The mask of present views must have shape ({n_samples}, {n_views}); "
            f"it has {mask.shape}."
        )
    return None if mask.all() else mask


def is_single_table(X: Any) -> bool:
    """One in-memory 2-D table, rather than a container of views."""
    if isinstance(X, (list, tuple)):
        rows = len(X) > 0 and all(isinstance(row, (list, tuple)) for row in X)
        return rows and (len(X[0]) == 0 or np.ndim(X[0][0]) == 0)
    frame = hasattr(type(X), "columns") and not hasattr(X, "collect")
    return (
        sp.issparse(X) or frame or (isinstance(X, np.ndarray) and not _holds_arrays(X))
    )


def check_table(X: Any) -> Any:
    """One table as it is, or an array of its rows; it must have two dimensions."""
    table = X if hasattr(X, "shape") else _to_array(X, "view0")
    if len(table.shape) != 2:
        _check_shape(table, "view0")
    return table
