"""Views that stay on disk and travel as the call that opens them again."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any, cast

from manyview.views.filling import FilledRows
from manyview.views.views import Views


class DiskViews(Views):
    """Views of files; pickled as ``opener(*given)``, so every process opens its own.

    The opener is a function at the top of a module; other `parts` are as in `Views`.
    """

    def __init__(
        self,
        views: Any,
        *,
        opener: Callable[..., DiskViews],
        given: tuple[Any, ...],
        **parts: Any,
    ) -> None:
        super().__init__(views, **parts)
        self.opener, self.given = opener, given
        self._changes: tuple[tuple[str, Any], ...] = ()  # since, to be made again

    def __copy__(self) -> DiskViews:
        """Another object, in this process: pickles give back the one that is open."""
        found = object.__new__(type(self))
        vars(found).update(vars(self))
        return found

    def __reduce__(self) -> Any:
        return _open_again, (self.opener, self.given, self._changes)

    def in_order(self, view_order: Sequence[int]) -> DiskViews:
        """The same rows with these views, in this order, in other processes too."""
        order = tuple(int(v) for v in view_order)
        return self._changed("in_order", order, super().in_order(order))

    def _filled_with(self, means: Sequence[Any]) -> DiskViews:
        """Gaps are filled wherever rows are read, in other processes too."""
        found = copy.copy(self)
        found.arrays = tuple(
            a if m is None else FilledRows(a, m)
            for a, m in zip(self.arrays, means, strict=True)
        )
        return self._changed("_filled_with", list(means), found)

    def _changed(self, how: str, value: Any, found: Any) -> DiskViews:
        found._changes = (*self._changes, (how, value))
        return cast(DiskViews, found)


def _open_again(
    opener: Callable[..., DiskViews],
    given: tuple[Any, ...],
    changes: tuple[tuple[str, Any], ...],
) -> DiskViews:
    found = opener(*given)
    for how, value in changes:
        found = getattr(found, how)(value)
    return found
