"""Views of whatever a user hands over: rows in memory, on disk or on workers."""

import os
from collections.abc import Mapping
from typing import Any

from manyview.datasets.on_disk import open_on_disk
from manyview.engine.dask_views import DaskViews
from manyview.errors import InputTypeError
from manyview.views.parsing import is_dask, lies_elsewhere
from manyview.views.views import Views


def views_of(X: Any) -> Views:
    """Arrays, containers or `Views` as they are; paths and Dask collections opened."""
    if not lies_elsewhere(X):
        return Views.of(X)
    items = X if isinstance(X, (list, tuple)) else [X]
    if isinstance(items[0], (str, os.PathLike)):
        return open_on_disk(*items)
    if isinstance(X, Mapping) and not any(map(is_dask, X.values())):
        raise InputTypeError(
            f"Paths came in a dict ({', '.join(map(str, X))}). Give them in a list: "
            "views are named after their files."
        )
    return DaskViews(X)  # type: ignore[return-value]
