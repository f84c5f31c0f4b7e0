"""Views and columns for a fitted model, matched by the names it was fitted with.

Names that a user has chosen, keys of a dict or columns of a table, are matched, and
refused where they differ. Names that came with files, such as ``new_image`` of
``new_image.npy``, are matched where they are the same and must not contradict. Where
one side has no names, the place counts.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Matrix
from manyview.errors import InputError
from manyview.views.parsing import reads_on_demand

Columns = Sequence[str] | None

# Names listed in a message.
_MOST_LISTED = 5


def match_names(
    views: Any, names: Sequence[str], columns: Sequence[Columns] | None
) -> Any:
    """The views in the order of a fit, and so their columns."""
    order = _view_order(views, names)
    if order != list(range(views.n_views)):
        views = views.in_order(order)
    if columns is None or len(columns) != views.n_views:
        return views
    places = [
        _column_order(own, known, name)
        for own, known, name in zip(views.feature_names, columns, names, strict=True)
    ]
    if all(place is None for place in places):
        return views
    kept = views.in_order(range(views.n_views))
    parts = list(zip(views.arrays, places, strict=True))
    kept.arrays = tuple(a if p is None else _pick_columns(a, p) for a, p in parts)
    kept.feature_names = tuple(
        own if p is None else tuple(own[i] for i in p)
        for own, p in zip(views.feature_names, places, strict=True)
    )
    return kept


def require_widths(views: Any, known: Sequence[int], *, plain: bool) -> None:
    """As many views and features as in the fit; `plain` of a list as it was given."""
    if tuple(views.n_features) == tuple(known):
        return
    split = (
        " A cross-validation takes the views of a plain list for rows: wrap them in "
        "manyview.Views([...]), which is split by rows."
    )
    fewer = plain and views.n_views < len(known)
    raise InputError(
        f"The model was fitted on views with {list(known)} features; got "
        f"{list(views.n_features)}. Give the same views in the same order."
        f"{split if fewer else ''}"
    )


def _view_order(views: Any, known: Sequence[str]) -> list[int]:
    """Place of every view of the fit among the given ones."""
    given, as_they_stand = list(views.names), list(range(views.n_views))
    if set(given) == set(known):
        return [given.index(name) for name in known]
    if _numbered(given, "view") or _numbered(known, "view"):
        return as_they_stand
    places = {name: v for v, name in enumerate(known)}
    moved = any(places.get(name, v) != v for v, name in enumerate(given))
    if views.names_chosen or moved:
        raise InputError(
            f"The model was fitted on the views {', '.join(known)}; got "
            f"{', '.join(given)}. {_difference(given, known)} Name the views as in the "
            "fit, or give a list of them in its order."
        )
    return as_they_stand


def _column_order(given: Columns, known: Columns, view: str) -> list[int] | None:
    """Place of every column of the fit among the given ones; None as they stand."""
    if given is None or known is None or tuple(given) == tuple(known):
        return None
    if len(set(given)) == len(given) == len(known) and set(given) == set(known):
        place = {name: i for i, name in enumerate(given)}
        return [place[name] for name in known]
    if len(given) == len(known) and (_numbered(given) or _numbered(known)):
        return None
    raise InputError(
        f"The columns of view {view!r} are not those of the fit. "
        f"{_difference(given, known)} Give the columns that the model was fitted on, "
        "in any order."
    )


def _numbered(names: Sequence[str], word: str = "") -> bool:
    """Are these the numbers that stand for no names?"""
    return list(names) == [f"{word}{i}" for i in range(len(names))]


def _difference(given: Sequence[str], known: Sequence[str]) -> str:
    lost = [name for name in known if name not in set(given)]
    new = [name for name in given if name not in set(known)]
    parts = [f"Missing: {_some(lost)}."] if lost else []
    parts += [f"Not known: {_some(new)}."] if new else []
    return " ".join(parts) or "Some stand there more than once."


def _some(names: Sequence[str]) -> str:
    more = len(names) - _MOST_LISTED
    listed = ", ".join(names[:_MOST_LISTED])
    return f"{listed} and {more} more" if more > 0 else listed


def _pick_columns(array: Any, columns: list[int]) -> Any:
    """The columns in another order; of what lies on disk, when rows are read."""
    on_disk = isinstance(array, np.memmap) or reads_on_demand(array)
    if on_disk and not hasattr(array, "__dask_graph__"):
        return _ColumnsOnDisk(array, columns)
    return array[:, columns] if not sp.issparse(array) else array.tocsr()[:, columns]


class _ColumnsOnDisk:
    """Columns of an array on disk in another order, read by rows."""

    chunks = None  # marks a lazy array

    def __init__(self, array: Any, columns: list[int]) -> None:
        self._array, self._columns = array, columns
        self.shape, self.dtype = tuple(array.shape), array.dtype

    def __getitem__(self, rows: Any) -> Matrix:
        return np.asarray(self._array[rows])[:, self._columns]
