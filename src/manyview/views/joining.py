"""Rows of several views brought together by their names.

Views that name the same rows in another order are aligned, which is said; different
rows are refused unless a way to join them was asked for. Rows without names stand
where they stand.
"""

import warnings
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from manyview.arrays.ops import Matrix
from manyview.errors import DataWarning, InputError
from manyview.views.arguments import check_choice
from manyview.views.containers import place_rows
from manyview.views.parsing import Parsed

JOINS = ("inner", "outer", None)
_WAYS = (
    "join='inner' (--join inner) keeps the rows that all have, join='outer' all rows, "
    "with missing views. Rows that stand in the same order need no names: leave the "
    "names out."
)


class JoinedRows(NamedTuple):
    """Names of the common rows, and for every part its row at each of them.

    `places` is None where all parts stand as they are; -1 is a row that a part lacks.
    """

    names: Sequence[Any] | None
    places: list[Matrix] | None


class CommonRows(NamedTuple):
    """Views over the same rows: arrays, names of the rows, which views a row has."""

    arrays: tuple[Any, ...]
    names: Any
    present: Any


def common_rows(
    parsed: Sequence[Parsed],
    names: Sequence[str],
    row_names: Any,
    join: str | None,
    present: Any,
) -> CommonRows:
    """Views over the same rows, matched by their own names unless some are given."""
    arrays = tuple(p.array for p in parsed)
    if row_names is not None:
        if join is not None:
            raise InputError(
                f"join={join!r} matches rows by the names that the views bring along, "
                "and row_names= says that they stand in one order. Give one of them."
            )
        return CommonRows(arrays, row_names, present)
    joined = join_rows(names, [p.index for p in parsed], join)
    if joined.places is None:
        index = next((p.index for p in parsed if p.index is not None), None)
        return CommonRows(arrays, index, present)
    if present is not None:
        raise InputError(
            "present= counts rows as they stand, and the rows of the views were "
            "matched by name. Put the views in one order, or mark missing views by "
            "rows of NaN."
        )
    placed = zip(arrays, joined.places, strict=True)
    return CommonRows(
        tuple(place_rows(array, rows) for array, rows in placed),
        _as_names(joined.names),
        np.stack([rows >= 0 for rows in joined.places], axis=1),
    )


def _as_names(names: Any) -> Matrix:
    """One entry per row, whatever a name is (a tuple, of an index of levels)."""
    found = np.empty(len(names), dtype=object)
    found[:] = names
    kinds = {type(name) for name in names}
    return found if len(kinds) > 1 or tuple in kinds else np.asarray(names)


def join_rows(
    parts: Sequence[str], row_names: Sequence[Any], join: str | None = None
) -> JoinedRows:
    """Bring together the rows of named parts; a part without row names has None."""
    check_choice(join, "join", JOINS)
    known = {p: list(n) for p, n in zip(parts, row_names, strict=True) if n is not None}
    first = next(iter(known.values()), None)
    if join is None and all(names == first for names in known.values()):
        return JoinedRows(first, None)
    _require_names(parts, known, join)
    every = list(dict.fromkeys(name for names in known.values() for name in names))
    shared = set.intersection(*map(set, known.values()))
    common = [name for name in every if name in shared]
    if len(common) == len(every):
        if join is None:
            _tell_of_order(known)
        wanted = common
    elif join is None:
        raise _different_rows(known, len(common), len(every))
    else:
        wanted = common if join == "inner" else every
    if not wanted:
        raise _different_rows(known, 0, len(every))
    return JoinedRows(wanted, [places_of(wanted, n) for n in known.values()])


def places_of(wanted: Sequence[Any], names: Sequence[Any]) -> Matrix:
    """Where each wanted name stands among the names; -1 where it does not."""
    place = {name: i for i, name in enumerate(names)}
    return np.array([place.get(name, -1) for name in wanted], dtype=np.intp)


def _require_names(
    parts: Sequence[str], known: dict[str, list[Any]], join: str | None
) -> None:
    unnamed = [part for part in parts if part not in known]
    if unnamed:
        reason = f"join={join!r} matches rows by name"
        if join is None:
            reason = f"the rows of {_listed(known)} stand in different orders"
        raise InputError(
            f"The rows of {_listed(unnamed)} have no names, and {reason}. Name the "
            "rows of every view, or put them in one order and leave the names out."
        )
    for part, names in known.items():
        name, times = Counter(names).most_common(1)[0]
        if times > 1:
            raise InputError(
                f"The rows of {part!r} cannot be matched by name: {times} of them are "
                f"named {name!r}. Give every row its own name, or put the rows of all "
                "views in one order and leave the names out."
            )


def _tell_of_order(known: dict[str, list[Any]]) -> None:
    (first, names), *others = known.items()
    moved = [part for part, own in others if own != names]
    warnings.warn(
        f"The rows of {_listed(moved)} stand in another order than those of {first!r}: "
        f"they were matched by name, in the order of {first!r} ({len(names)} rows). "
        "Leave the names out if rows at the same place belong together.",
        DataWarning,
        stacklevel=5,
    )


def _different_rows(known: dict[str, list[Any]], common: int, n: int) -> InputError:
    counts = ", ".join(f"{part!r} has {len(names)}" for part, names in known.items())
    (_, names), *others = known.items()
    own = set(names)
    other = next((o for part, o in others if not own.issuperset(o)), names)
    example = next((name for name in other if name not in own), other[0])
    return InputError(
        f"The views name different rows: {counts}, and {common} of {n} names "
        f"({common / n:.1%}) are in all of them; {example!r} is not, for instance. "
        f"{_WAYS}"
    )


def _listed(names: Any) -> str:
    return ", ".join(repr(str(name)) for name in list(names)[:5])


def follow_rows(values: Any, row_names: Any, what: str) -> Any:
    """Values in the order of the rows, where both have names (pandas' index)."""
    index = getattr(values, "index", None)
    if row_names is None or index is None or callable(index):
        return values
    own, wanted = list(index), list(row_names)
    if own == wanted:
        return values
    places = places_of(wanted, own)
    found = int((places >= 0).sum())
    if found < len(wanted) or len(set(own)) < len(own):
        raise InputError(
            f"The index of {what} names other rows than the views: {found} of "
            f"{len(wanted)} rows are found in it. Give {what} with the index of the "
            "views, or as a plain array in the order of the rows."
        )
    warnings.warn(
        f"The index of {what} stands in another order than the rows of the views: "
        "they were matched by name.",
        DataWarning,
        stacklevel=4,
    )
    return np.asarray(values)[places]
