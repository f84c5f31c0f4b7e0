"""Views that stay on disk and travel as the call that opens them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from manyview.views.views import Views


class DiskViews(Views):
    """Views of paths; pickled as ``opener(*paths)``, so every process opens its own.

    The opener is a function at the top of a module; other `parts` are as in `Views`.
    """

    def __init__(
        self,
        views: Any,
        *,
        opener: Callable[..., DiskViews],
        paths: tuple[str, ...],
        **parts: Any,
    ) -> None:
        super().__init__(views, **parts)
        self.opener, self.paths = opener, paths

    def __reduce__(self) -> Any:
        return self.opener, self.paths
