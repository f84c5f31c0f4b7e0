"""Views as dense arrays in memory, for methods that need all rows at once.

Most compared methods draw rows by number: k-means starts, first anchors. On rows in a
seeded order of their content those draws are random as before, but a shuffled file
gives the same labels.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import dtype_of, to_host
from manyview.base import FloatArray, IntArray
from manyview.engine.local import open_engine
from manyview.engine.resources import physical_memory, show_size
from manyview.errors import InputError, ResourceError
from manyview.stages.sampling import draw_rows
from manyview.stages.scaling import measure
from manyview.views.arguments import child_seed
from manyview.views.views import Views


def dense_views(views: Views, dtype: Any = None) -> list[FloatArray]:
    """Every view as one dense in-memory array, checked; for in-memory methods.

    All have the `dtype`, by default one that keeps the digits of each. Always in C
    order: sums over a row round differently in other layouts, and a
    method whose rounds stop unconverged turns that into other labels.
    """
    block = views.block(slice(0, len(views)), dtype)
    if not block.present.all():
        raise InputError(
            "This method needs every view of every row, but some rows of NaN mark "
            "missing views. Use S2MVTC, or drop the incomplete rows."
        )
    kind = dtype or np.result_type(views.dtype, *map(dtype_of, block.views))
    dense = (a.todense() if sp.issparse(a) else to_host(a) for a in block.views)
    return [np.ascontiguousarray(a, dtype=kind) for a in dense]


def content_ordered(
    views: Views, rng: np.random.Generator
) -> tuple[list[FloatArray], IntArray]:
    """Dense copies of the views in content order, and where every row came from.

    ``Xs[v][i]`` is row ``order[i]`` of view v; another seed gives another order.
    """
    dense = dense_views(views)
    engine = open_engine(Views(dense), views.dtype)
    rows = draw_rows(engine, measure(engine), len(views), child_seed(rng))
    order = engine.caller_rows(rows)
    return [X[order] for X in dense], order


def restored(values: FloatArray, order: IntArray) -> FloatArray:
    """Values of the ordered rows, back in the order of the user's rows."""
    out = np.empty_like(values)
    out[order] = values
    return out


def require_memory(needed: int, who: str, what: str) -> None:
    """Raise `ResourceError` when `needed` bytes are more than the machine has."""
    present = physical_memory()
    if needed > present:
        raise ResourceError(
            f"{who} needs about {show_size(needed)} of memory for {what}; this machine "
            f"has {show_size(present)}. Give fewer rows, features or anchors."
        )
