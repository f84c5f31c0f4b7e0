"""Views as dense arrays, for methods that work in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.errors import InputError
from manyview.views.views import Views

FloatArray = np.ndarray[Any, Any]


def dense_views(views: Views, dtype: Any = None) -> list[FloatArray]:
    """Every view as one dense in-memory array, checked; for in-memory methods.

    Always in C order: sums over a row round differently in other layouts, and a
    method whose rounds stop unconverged turns that into other labels.
    """
    block = views.block(slice(0, len(views)), dtype)
    if not block.present.all():
        raise InputError(
            "This method needs every view of every row, but some rows of NaN mark "
            "missing views. Use S2MVTC, or drop the incomplete rows."
        )
    dense = (a.todense() if sp.issparse(a) else a for a in block.views)
    return [np.ascontiguousarray(a) for a in dense]
