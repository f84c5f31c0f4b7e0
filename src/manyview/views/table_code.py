"""How a table of mixed columns is read: numbers, dates and categories.

Categories become columns of ones in a view beside the numbers: numbers are compared
by distance, categories by being the same or not.
"""

from datetime import date
from decimal import Decimal
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.preprocessing import OneHotEncoder

from manyview.arrays.ops import Matrix
from manyview.errors import InputError, InputTypeError

# Different texts in one column that still are categories: a longer list is names or
# sentences (skrub, too, draws its line there).
MOST_CATEGORIES = 40
PER_DAY = 86_400e6  # microseconds
BESIDE = " categories"  # ends the name of the view beside the numbers of a table


class Column(NamedTuple):
    """How one column is read: a number, days since `first`, or one of `categories`."""

    name: str
    kind: str
    first: float = 0.0
    categories: tuple[str, ...] = ()


class TableCode(NamedTuple):
    """How a table of mixed columns is read, learned from the first one seen."""

    columns: tuple[Column, ...]

    def encode(self, frame: Any, name: str) -> dict[str, tuple[Any, list[str]]]:
        """Numbers and categories as views, each with the names of its features."""
        lost = [c.name for c in self.columns if c.name not in frame.columns]
        if lost:
            raise InputError(
                f"The table {name!r} lacks {len(lost)} of the {len(self.columns)} "
                f"columns of the fit: {', '.join(lost[:5])}. Give these, too."
            )
        numbers = [c for c in self.columns if c.kind != "category"]
        classes = [c for c in self.columns if c.kind == "category"]
        found: dict[str, tuple[Any, list[str]]] = {}
        if numbers:
            values = [_numbers(frame[c.name], c) for c in numbers]
            found[name] = np.column_stack(values), [c.name for c in numbers]
        if classes:
            texts = np.array([_texts(frame[c.name]) for c in classes], dtype=object).T
            known = [np.array(c.categories, dtype=object) for c in classes]
            ones = OneHotEncoder(
                categories=known, handle_unknown="ignore", dtype=np.float32
            ).fit_transform(texts)
            names = [f"{c.name}={k}" for c in classes for k in c.categories]
            beside = name + BESIDE if numbers else name
            found[beside] = sp.csr_array(ones), names
        return found


def learn_table(frame: Any, name: str) -> TableCode:
    """The code of a table, as narwhals sees it."""
    return TableCode(tuple(_learn(frame[c], name) for c in frame.columns))


def _learn(values: Any, name: str) -> Column:
    import narwhals as nw

    values = _as_typed(values)
    own, kind = str(values.name), values.dtype
    if kind.is_numeric():
        return Column(own, "number")
    if kind in (nw.Date, nw.Datetime, nw.Duration):
        times = _microseconds(values)
        since = kind != nw.Duration and np.isfinite(times).any()
        return Column(own, "date", float(np.nanmin(times)) if since else 0.0)
    if kind.is_nested() or kind in (nw.Time, nw.Binary):
        raise InputTypeError(
            f"Column {own!r} of {name!r} holds {kind}: neither numbers, dates nor "
            "categories. Drop it, or give the table a transformer of its own."
        )
    found = sorted({text for text in _texts(values) if text is not None})
    if not found:
        raise InputError(f"Column {own!r} of {name!r} holds nothing. Drop it.")
    if len(found) > MOST_CATEGORIES and kind not in (nw.Categorical, nw.Enum):
        raise InputError(
            f"Column {own!r} of {name!r} holds {len(found)} different texts, too many "
            f"for categories ({MOST_CATEGORIES} at most). Drop it, make it a "
            "categorical column, or give it a transformer such as TfidfVectorizer."
        )
    return Column(own, "category", categories=tuple(found))


def _numbers(values: Any, column: Column) -> Matrix:
    """A column of numbers or dates; NaN where there is none."""
    import narwhals as nw

    values = _as_typed(values)
    if values.is_null().all():
        return np.full(len(values), np.nan)
    is_time = values.dtype in (nw.Date, nw.Datetime, nw.Duration)
    if is_time != (column.kind == "date") or not (is_time or values.dtype.is_numeric()):
        raise InputTypeError(
            f"Column {column.name!r} held {column.kind}s in the fit and holds "
            f"{values.dtype} now. Give {column.kind}s."
        )
    if is_time:
        return (_microseconds(values) - column.first) / PER_DAY
    return np.asarray(values.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _as_typed(values: Any) -> Any:
    """A column of Python objects that are all numbers, or all dates, as such."""
    import narwhals as nw

    if values.dtype != nw.Object:
        return values
    kinds = {type(x) for x in values.drop_nulls().to_list()} or {object}
    if all(issubclass(k, (Real, Decimal)) and not issubclass(k, bool) for k in kinds):
        return values.cast(nw.Float64)
    if all(issubclass(k, date) for k in kinds):
        return values.cast(nw.Datetime("us"))
    return values


def _microseconds(values: Any) -> Matrix:
    import narwhals as nw

    if values.dtype == nw.Duration:
        whole = values.dt.total_microseconds()
    else:
        moments = values.cast(nw.Datetime("us")) if values.dtype == nw.Date else values
        whole = moments.dt.timestamp("us")
    return np.asarray(whole.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _texts(values: Any) -> list[str | None]:
    pairs = zip(values.to_list(), values.is_null().to_list(), strict=True)
    return [None if missing else str(value) for value, missing in pairs]
