"""Different rows, as given or by the package's own scaling, in order of their content.

What a method of graphs starts from: a row that repeats another is no neighbour that
would tell anything, and the two never get different labels.
"""

from typing import Literal, NamedTuple

import numpy as np

from manyview.arrays.ops import to_host
from manyview.base import FloatArray, IntArray
from manyview.baselines.parts.in_memory import dense_views, require_memory
from manyview.engine.content_order import hash_block, odd_numbers
from manyview.engine.local import open_engine
from manyview.stages.communities import distinct
from manyview.stages.sampling import Draw, choose_scalings, draw
from manyview.stages.scaling import apply_scaling, hide_empty_rows
from manyview.views.arguments import child_seed
from manyview.views.views import Views

# Of the rows, in float64: as given, in their order, and prepared.
COPIES = 3

# How a compared method may ask for its views, in the words of `S2MVTC`.
HowScaled = Literal["standard", "auto", "global", "cosine", "unit", "root", None]


class PreparedRows(NamedTuple):
    """Rows that differ, and where the caller's rows are among them.

    Attributes
    ----------
    arrays : list of array (n_rows, n_features_v)
        The views, also in the order of their content.
    present : array (n_rows, n_views)
        False where a row holds nothing in a view that is compared by angle.
    place : array (n_samples,)
        Each of the caller's rows among these.
    view_order : tuple of int
        The caller's numbers of the views.
    """

    arrays: list[FloatArray]
    present: IntArray
    place: IntArray
    view_order: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.present)


def prepared_rows(
    views: Views, scaling: str | None, n_clusters: int, rng: np.random.Generator
) -> PreparedRows:
    """All rows of the views by the named scaling, or what the rows suggest."""
    drawn, view_order = _all_rows(views, rng)
    scalings = choose_scalings(drawn, scaling, n_clusters)
    block = hide_empty_rows(drawn.block, scalings)
    new, place = _distinct(drawn)
    arrays = [
        np.asarray(apply_scaling(x[new], s))
        for x, s in zip(block.views, scalings, strict=True)
    ]
    return PreparedRows(arrays, to_host(block.present)[new], place, view_order)


def plain_rows(views: Views, rng: np.random.Generator) -> PreparedRows:
    """All rows of the views as they are."""
    drawn, view_order = _all_rows(views, rng)
    new, place = _distinct(drawn)
    arrays = [np.asarray(x[new]) for x in drawn.block.views]
    return PreparedRows(arrays, to_host(drawn.block.present)[new], place, view_order)


def _all_rows(views: Views, rng: np.random.Generator) -> tuple[Draw, tuple[int, ...]]:
    n_features = sum(views.n_features)
    what = f"{len(views)} rows of {n_features} features as dense arrays"
    require_memory(COPIES * 8 * len(views) * n_features, "This method", what)
    engine = open_engine(Views(dense_views(views)), views.dtype)
    return draw(engine, len(views), child_seed(rng)), engine.view_order


def _distinct(drawn: Draw) -> tuple[IntArray, IntArray]:
    """Which drawn rows are the first of their kind; the caller's rows among those."""
    odd = [odd_numbers(x.shape[1]) for x in drawn.block.views]
    new, place = distinct(hash_block(drawn.block, odd))
    return new, place[np.argsort(drawn.caller_rows)]
