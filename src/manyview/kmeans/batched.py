"""Anchors of views on a device, searched for side by side."""

import numpy as np

from manyview.arrays.ops import Array, in_float64, like, namespace
from manyview.kmeans.lloyd import lloyd
from manyview.kmeans.passes import AnchorSearch, anchor_search, first_anchors


def batched_anchors(views: list[Array], n_anchors: int, seed: int) -> list[Array]:
    """Anchors of views on a device; those of equally many rows side by side.

    One search after the other would mostly wait.
    """
    searches = [anchor_search(rows, n_anchors) for rows in views]
    found: dict[int, Array] = {}
    for v, search in enumerate(searches):
        if v not in found:
            shape = (len(search.rows), search.steps)
            alike = [
                u for u, s in enumerate(searches) if (len(s.rows), s.steps) == shape
            ]
            made = _side_by_side([searches[u] for u in alike], n_anchors, seed)
            found.update(zip(alike, made, strict=True))
    return [found[v] for v in range(len(views))]


def _side_by_side(
    searches: list[AnchorSearch], n_anchors: int, seed: int
) -> list[Array]:
    """Anchors of views on a device, made equally wide with zeros."""
    views, steps = [s.rows for s in searches], searches[0].steps
    if steps == 0:
        return [in_float64(rows) for rows in views]
    xp, model = namespace(views[0]), views[0]
    shape = (len(views), len(model), max(x.shape[1] for x in views))
    rows = xp.zeros(shape, dtype=model.dtype, device=model.device)
    for place, x in zip(rows, views, strict=True):
        place[:, : x.shape[1]] = x
    chosen = first_anchors(searches[0]._replace(rows=rows), n_anchors, seed)
    each = like(np.arange(len(views))[:, None], rows)
    centres = in_float64(lloyd(rows, rows[each, like(chosen, rows)], steps).centres)
    return [c[:, : x.shape[1]] for c, x in zip(centres, views, strict=True)]
