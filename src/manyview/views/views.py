"""`Views`: named views of the same rows, and the blocks passes are made of.

Arrays, memory maps, HDF5 and Zarr arrays and sparse matrices are kept as given and
turned into floating point block by block. Rows are samples everywhere.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from manyview.arrays.ops import Array, dtype_of, namespace, to_host
from manyview.errors import FileError, InputError
from manyview.views.containers import container_parts
from manyview.views.filling import feature_means, fill_gaps
from manyview.views.finite_rows import finite_parts
from manyview.views.joining import common_rows, follow_rows
from manyview.views.parsing import (
    check_feature_names,
    check_names,
    check_per_row,
    check_present,
    check_rows_agree,
    parse_view,
    reads_on_demand,
    row_ids,
    split_input,
)
from manyview.views.watched_files import look, require_unchanged, watch

Rows = slice | np.ndarray[Any, Any]


@dataclass(frozen=True)
class Block:
    """Some rows of all views from number `start` on; read-only.

    Values (n_rows, n_features_v) are finite and in a floating type that keeps their
    digits: float64 for float64 and for integers of 32 bits and more. Sparse views
    are CSR; `present` (n_rows, n_views) says which views a row has, the others are
    zero.
    """

    start: int
    views: Sequence[Array]
    present: Array

    def __len__(self) -> int:
        return int(self.present.shape[0])

    @cached_property
    def complete(self) -> bool:
        """Does every row have every view?"""
        return bool(to_host(self.present).all())

    def part(self, rows: slice) -> Block:
        """Some of the rows."""
        views = tuple(x[rows] for x in self.views)
        return Block(self.start + rows.start, views, to_host(self.present)[rows])

    def there(self, v: int) -> np.ndarray[Any, Any] | None:
        """Which rows have view v, on the host; None for all."""
        return None if self.complete else to_host(self.present)[:, v]


class NamedViews:
    """Views by name, wherever their rows lie."""

    names: tuple[str, ...]
    feature_names: tuple[tuple[str, ...] | None, ...]
    arrays: tuple[Any, ...]

    @property
    def n_views(self) -> int:
        """Number of views."""
        return len(self.arrays)

    @property
    def n_features(self) -> tuple[int, ...]:
        """Number of features of each view."""
        return tuple(int(a.shape[1]) for a in self.arrays)

    @property
    def shape(self) -> tuple[int, int]:
        """(number of rows, number of features of all views together)."""
        return len(self), sum(self.n_features)

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 when no view is wider, else float64."""
        kinds = [dtype_of(a) for a in self.arrays]
        wide = any(kind.kind == "f" and kind.itemsize >= 8 for kind in kinds)
        return np.dtype(np.float64 if wide else np.float32)

    def __len__(self) -> int:
        raise NotImplementedError

    def in_order(self, view_order: Sequence[int]) -> Self:
        """The same rows with these views, in this order."""
        kept = copy.copy(self)
        for name in ("names", "feature_names", "arrays"):
            setattr(kept, name, tuple(getattr(self, name)[v] for v in view_order))
        return kept


class Views(NamedViews):
    """Several feature sets (views) of the same rows.

    Parameters
    ----------
    views : list, tuple or dict of 2-D array-likes, or one 2-D array-like
        Arrays, DataFrames (pandas, polars, …), scipy sparse matrices, memory
        maps, ``h5py.Dataset``, Zarr arrays or torch tensors, samples on rows.
    names : sequence of str, optional
        One name per view; default the dict's keys or ``view0, view1, …``.
    feature_names : sequence of sequences of str, optional
        Default the DataFrame's columns, or None for a view without names.
    present : array (n_samples, n_views) of bool, optional
        Which views each row has. Rows of NaN count as missing too.
    labels : array (n_samples,), optional
        Known classes, carried along for scoring only.
    row_names : sequence (n_samples,), optional
        Names of the rows, which then stand in one order in all views. Default the
        index of the DataFrames, by which rows are matched.
    join : {"inner", "outer"}, optional
        How to match views that name different rows: keep the rows that all have, or
        all rows, with missing views. Default: refuse them.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import Views
    >>> views = Views({"image": np.zeros((5, 3)), "text": np.ones((5, 2))})
    >>> len(views), views.names, views.shape
    (5, ('image', 'text'), (5, 5))
    >>> views[:2].shape
    (2, 5)
    """

    # What single gaps were filled with, view by view, and how the views were made of
    # what was given (a `Preparation`), where they were.
    fill_values: tuple[Any, ...] | None = None
    preparation: Any = None

    def __init__(
        self,
        views: Any,
        *,
        names: Sequence[str] | None = None,
        feature_names: Sequence[Sequence[str] | None] | None = None,
        present: Any = None,
        labels: Any = None,
        row_names: Any = None,
        join: str | None = None,
    ) -> None:
        items, own_names = split_input(views)
        names = own_names if names is None else names
        self.names = check_names(names, items)
        # Names of files' parts are no names that a user has chosen; see `matching`.
        self.names_chosen = names is not None
        parsed = [
            parse_view(item, n) for item, n in zip(items, self.names, strict=True)
        ]
        self.arrays: tuple[Any, ...] = tuple(p.array for p in parsed)
        if join is not None or any(p.index is not None for p in parsed):
            rows = common_rows(parsed, self.names, row_names, join, present)
            self.arrays, row_names, present = rows
        check_rows_agree(self.arrays, self.names)
        self.feature_names: tuple[tuple[str, ...] | None, ...] = (
            check_feature_names(feature_names, self.n_features)
            if feature_names is not None
            else tuple(p.columns for p in parsed)
        )
        n_samples = len(self)
        self.row_names = check_per_row(row_names, n_samples, "row_names")
        if labels is not None:
            labels = follow_rows(labels, self.row_names, "labels")
        self.labels = check_per_row(labels, n_samples, "labels")
        self.present = check_present(present, n_samples, len(self.arrays))
        self.origin: str | None = None  # where the data came from, or "generated"
        # Arrays that are no part of another object lie in no file.
        own = all(getattr(a, "base", a) is None for a in self.arrays)
        self._files = () if own else watch(self.arrays)

    @classmethod
    def of(
        cls,
        data: Any,
        parts: str | Sequence[str] | None = None,
        *,
        join: str | None = None,
    ) -> Views:
        """`data` itself if it is a `Views`, else a new one around it.

        Of AnnData and MuData `parts` chooses by name, such as ``"rna/obsm/X_pca"``;
        default every modality. Rows that a modality of a MuData lacks have missing
        views, or are left out with ``join="inner"``.
        """
        if isinstance(data, Views):
            return data
        if hasattr(data, "obsm"):  # AnnData and MuData
            views = Views(**container_parts(data, parts, join))
            views.origin = type(data).__name__
            return views
        return cls(data, join=join)

    def __len__(self) -> int:
        return int(self.arrays[0].shape[0])

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{n}: {d}" for n, d in zip(self.names, self.n_features, strict=True)
        )
        return f"Views({len(self)} rows; features {parts})"

    def __getitem__(self, rows: Any) -> Views:
        """The chosen rows (slice, index array or mask) of every view."""
        if isinstance(rows, tuple):  # scikit-learn asks for X[rows, ...]
            rows = rows[0]
        if isinstance(rows, (int, np.integer)):
            rows = [rows]
        picked = rows if isinstance(rows, slice) else row_ids(rows, len(self))
        kept = object.__new__(Views)
        kept.names, kept.feature_names = self.names, self.feature_names
        kept.origin, kept._files = self.origin, self._files
        kept.names_chosen, kept.fill_values = self.names_chosen, self.fill_values
        kept.arrays = tuple(_take(a, picked) for a in self.arrays)
        kept.labels = None if self.labels is None else self.labels[picked]
        kept.present = None if self.present is None else self.present[picked]
        kept.row_names = None if self.row_names is None else self.row_names[picked]
        return kept

    def view(self, name: str | int) -> Any:
        """One view as it was given, by name or position."""
        if isinstance(name, int) and -self.n_views <= name < self.n_views:
            return self.arrays[name]
        if name not in self.names:
            raise InputError(
                f"There is no view named {name!r}. Name one of {', '.join(self.names)}."
            )
        return self.arrays[self.names.index(name)]

    def without(self, v: int) -> Views:
        """The other views of the same rows."""
        return self.in_order([u for u in range(self.n_views) if u != v])

    def filled(self, how: str = "mean", *, like: Views | None = None) -> Views:
        """Single NaN entries replaced by the mean of their feature, in memory.

        Rows of NaN stay missing. Means are those of `like`, default these views' own. A
        model that is fitted on filled views remembers them, and fills new rows with
        them. Where many are missing, better drop the feature.
        """
        if how != "mean":
            raise InputError(f"how={how!r} is unknown; the only way to fill is 'mean'.")
        if like is not None and like.n_features != self.n_features:
            raise InputError(
                f"The views have {list(self.n_features)} features, those to fill like "
                f"{list(like.n_features)}. Give the same views in the same order."
            )
        means = [feature_means(a) for a in (like or self).arrays]
        found = self._filled_with(means)
        found.fill_values = tuple(means)
        return found

    def _filled_with(self, means: Sequence[Any]) -> Views:
        kept = self[:]
        kept.arrays = tuple(
            a if m is None else fill_gaps(a, m)
            for a, m in zip(self.arrays, means, strict=True)
        )
        return kept

    def rows_with_any(self, n_rows: int = 8192) -> np.ndarray[Any, Any]:
        """Numbers of the rows that have at least one view."""
        found = []
        for start in range(0, len(self), n_rows):
            rows = slice(start, min(start + n_rows, len(self)))
            given = None if self.present is None else self.present[rows]
            raw = [_take(a, rows) for a in self.arrays]
            _, present = finite_parts(raw, self.names, start, given, self.dtype)
            there = namespace(present).any(present, axis=1)
            found.append(start + np.flatnonzero(to_host(there)))
        return np.concatenate(found)

    @property
    def in_memory(self) -> bool:
        """Do all views lie in this process's memory, none on disk?"""
        return not self._files and not any(reads_on_demand(a) for a in self.arrays)

    def read(self) -> Views:
        """The same rows in memory, whatever becomes of their files."""
        require_unchanged(self._files)
        found = self[:]
        found.arrays = tuple(
            np.array(a) if isinstance(a, np.memmap) else a for a in found.arrays
        )
        require_unchanged(self._files)  # nor were they while they were read
        found._files = watch(found.arrays)
        return found

    def still_there(self, path: Path) -> bool:
        """Is the file of some rows still the one it was, not another in its place?"""
        known = {stamp.path: stamp.inode for stamp in self._files}
        now = look(path)
        return now is not None and now.inode == known.get(path)

    def in_order(self, view_order: Sequence[int]) -> Views:
        """The same rows with these views, in this order."""
        kept = super().in_order(view_order)
        if self.present is not None:
            kept.present = self.present[:, list(view_order)]
        if self.fill_values is not None:
            kept.fill_values = tuple(self.fill_values[v] for v in view_order)
        return kept

    def block(
        self, rows: Rows, dtype: Any = None, *, start: int | None = None
    ) -> Block:
        """The chosen rows as floating-point arrays, checked for NaN and infinity.

        `dtype` is what they will be prepared in: it must hold them, and sparse rows
        have it already. Errors and `Block.start` count rows from `start`.
        """
        if start is None:
            start = (rows.start or 0) if isinstance(rows, slice) else 0
        given = None if self.present is None else self.present[rows]
        if self._files:
            require_unchanged(self._files)
        raw = [_take(a, rows) for a in self.arrays]
        return make_block(raw, self.names, start, given, dtype or self.dtype)

    def each(
        self, function: Callable[[Views], Any], dtype: Any, width: int | None
    ) -> Any:
        """`function` of the rows: at once here, lazily by chunks on a cluster.

        It gives `width` numbers of the dtype per row, or one if that is None.
        """
        return function(self)

    def blocks(self, n_rows: int) -> Iterator[Block]:
        """Consecutive blocks of at most `n_rows` rows."""
        for start in range(0, len(self), n_rows):
            yield self.block(slice(start, min(start + n_rows, len(self))))


def make_block(
    raw: Sequence[Array],
    names: Sequence[str],
    start: int,
    given: Array | None,
    dtype: Any,
) -> Block:
    """Floating-point block of raw rows; rows of NaN become missing entries."""
    parts, present = finite_parts(raw, names, start, given, dtype)
    xp = namespace(present)
    lost = ~xp.any(present, axis=1)
    if bool(xp.any(lost)):
        row = start + int(xp.argmax(xp.astype(lost, xp.int8)))
        raise InputError(
            f"Row {row} has no view at all: every view is missing or NaN there. "
            "Remove such rows, or fill in at least one view."
        )
    return Block(start, tuple(parts), present)


def _take(array: Any, rows: Rows) -> Any:
    """Rows of a view; lazy arrays read only what is asked for, in file order."""
    try:
        if isinstance(rows, slice) or not reads_on_demand(array):
            return array[rows]
        unique, back = np.unique(rows, return_inverse=True)
        return np.asarray(array[unique])[back]
    except FileError:
        raise
    except OSError as error:
        raise FileError(
            f"Rows could not be read: {error}. Their file is damaged or was changed "
            "while it was in use; start again from a good copy."
        ) from error
