"""Views with their rows in an order that depends on their content, not their place.

The compared methods draw rows by number: k-means starts, first anchors. On rows
put in a seeded order of their content those draws are random as before, but a
shuffled file gives the same labels.
"""

from __future__ import annotations

import numpy as np

from manyview.base import FloatArray, IntArray
from manyview.baselines.parts.dense import dense_views
from manyview.engine.contract import open_engine
from manyview.stages.sampling import draw_rows
from manyview.stages.scaling import measure
from manyview.views.parsing import child_seed
from manyview.views.views import Views


def content_ordered(
    views: Views, rng: np.random.Generator
) -> tuple[list[FloatArray], IntArray]:
    """Copies of the views in content order, dense, and where every row came from.

    ``Xs[v][i]`` is row ``order[i]`` of view v. Every row must have every view;
    another seed gives another order.
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
