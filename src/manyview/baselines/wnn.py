"""WNN: weighted nearest neighbours of single cells, cut by modularity."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.utils import gen_batches

from manyview.arrays.ops import unit_rows
from manyview.base import FloatArray, IntArray
from manyview.baselines.parts.cell_profiles import (
    cell_profile,
    pruned,
    shared_neighbours,
)
from manyview.baselines.parts.parameters import ComparedMethod
from manyview.baselines.parts.prepared_rows import plain_rows
from manyview.stages.leiden import leiden_with_k
from manyview.stages.neighbour_graph import nearest_rows
from manyview.views.arguments import child_seed

# Added to the cross-modality affinity, and candidates per view: Seurat v4.
CROSS_CONSTANT, CANDIDATES = 1e-4, 200
# Scores above this are as good as certain: exp(200) still is a number (Seurat v4).
MOST_SCORE = 200.0
# Of three runs of Leiden the best, as in KNNLeiden.
TRIALS = 3
# Cells whose candidates are compared at a time: 80 MB for 400 candidates of 30 columns.
BLOCK_CELLS = 1000


@dataclass(eq=False, repr=False, kw_only=True)
class WNN(ComparedMethod):
    """Weighted nearest neighbours (Seurat v4), cut by Leiden at `n_clusters`.

    Every view is prepared as in `SingleCellKMeans`, its rows brought to length 1. A
    cell's profile x in a view is predicted by the mean of its `n_neighbors` nearest
    cells, found in the view itself or in another one; with d1 the distance to its
    nearest cell and s the mean distance to the cells of the smallest overlap of
    neighbourhoods,

        theta(z) = exp(-max(d(x, z) - d1, 0) / (s - d1)),
        score_v  = theta(own prediction) / (theta(prediction of another view) + 1e-4),

    and the weights of the views of a cell are the softmax of the scores (of several
    other views the best prediction counts; the paper has two). Among its 200 nearest
    cells in every view those of the largest weighted sum of theta are its weighted
    nearest neighbours; cells are tied by their overlap and cut as in
    `SingleCellLeiden`.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_components : int
        Principal components of a wide view.
    n_neighbors : int
        Nearest cells, and weighted nearest cells.
    random_state : int, numpy.random.Generator or None
        Seed. Rows are visited in the order of their content: a shuffled file gives the
        same clusters.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    view_weights_ : array (n_samples, n_views)
        How much each view counts for each cell.

    Notes
    -----
    Counts become dense, as in `SingleCellKMeans`.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines import WNN
    >>> x = np.repeat([[0.0, 1.0], [5.0, 1.0]], 40, axis=0)
    >>> x += np.random.default_rng(0).normal(size=x.shape)
    >>> np.round(WNN(2, random_state=0).fit([x, x**3]).view_weights_.sum(axis=1))[:2]
    array([1., 1.])
    """

    citation: ClassVar[str] = (
        "Y. Hao et al.: Integrated analysis of multimodal single-cell data. Cell 184 "
        "(2021)."
    )

    n_components: int = 30
    n_neighbors: int = 20

    def fit(self, X: Any, y: Any = None) -> Self:
        views, rng = self._begin(X, y)
        rows = plain_rows(views, rng)
        seed = child_seed(rng)
        spaces = [
            space_of(cell_profile(x, self.n_components, seed), self.n_neighbors)
            for x in rows.arrays
        ]
        weights = view_weights(spaces)
        ids = weighted_nearest(spaces, weights, self.n_neighbors)
        graph = pruned(shared_neighbours(ids))
        labels = leiden_with_k(graph, self.n_clusters_, child_seed(rng), TRIALS)
        back = np.argsort(rows.view_order)
        self.view_weights_ = weights[rows.place][:, back]
        return self._store_labels(labels[rows.place])


class Space(NamedTuple):
    """One view: profiles of length 1, the nearest cells, and the reach of each cell.

    Attributes
    ----------
    profiles : array (n_cells, n_columns)
    ids : array (n_cells, n_neighbors)
    nearest : array (n_cells,)
        Distance to the nearest cell.
    width : array (n_cells,)
        Distance at which cells are no neighbours any more, less `nearest`.
    """

    profiles: FloatArray
    ids: IntArray
    nearest: FloatArray
    width: FloatArray

    def affinity(self, apart: FloatArray) -> FloatArray:
        """Theta of distances (n_cells, …) from each cell."""
        shape = (-1,) + (1,) * (apart.ndim - 1)
        beyond = np.maximum(apart - self.nearest.reshape(shape), 0)
        return np.asarray(np.exp(-beyond / self.width.reshape(shape)))


def space_of(profile: FloatArray, k: int) -> Space:
    """The neighbourhoods of one view."""
    profiles = np.asarray(unit_rows(profile))
    if len(profiles) == 1:
        return Space(profiles, np.zeros((1, 0), np.intp), np.zeros(1), np.ones(1))
    apart, ids = nearest_rows(profiles, k)
    far = least_overlap(profiles, ids)
    reach = far - apart[:, 0]
    # Where the farthest is as near as the nearest there is nothing to tell apart.
    least = np.finfo(float).eps * max(float(far.max()), 1.0)
    return Space(profiles, ids, apart[:, 0], np.maximum(reach, least))


def least_overlap(profiles: FloatArray, ids: IntArray) -> FloatArray:
    """Mean distance to the cells of smallest overlap above 0, as many as neighbours.

    Of equal overlaps the farther cells, as Seurat has it.
    """
    J = shared_neighbours(ids)
    out = np.zeros(len(ids))
    for i in range(len(ids)):
        part = slice(J.indptr[i], J.indptr[i + 1])
        apart = np.linalg.norm(profiles[J.indices[part]] - profiles[i], axis=1)
        order = np.lexsort((-apart, J.data[part]))[: ids.shape[1]]
        out[i] = apart[order].mean() if len(order) else 0.0
    return out


def view_weights(spaces: list[Space]) -> FloatArray:
    """Weights (n_cells, n_views) of sum 1."""
    scores = []
    for v, own in enumerate(spaces):
        by = [
            own.affinity(np.linalg.norm(own.profiles - _predicted(own, s), axis=1))
            for s in spaces
        ]
        cross = np.max([t for u, t in enumerate(by) if u != v] or [by[v]], axis=0)
        scores.append(np.minimum(by[v] / (cross + CROSS_CONSTANT), MOST_SCORE))
    power = np.exp(np.stack(scores, axis=1))
    return np.asarray(power / power.sum(axis=1, keepdims=True))


def _predicted(own: Space, other: Space) -> FloatArray:
    """Mean profile of the cells that are nearest in another view."""
    if not other.ids.shape[1]:
        return own.profiles
    return np.asarray(own.profiles[other.ids].mean(axis=1))


def weighted_nearest(spaces: list[Space], weights: FloatArray, k: int) -> IntArray:
    """The k cells of the largest weighted affinity among each view's nearest."""
    n_cells = len(weights)
    near = [nearest_rows(s.profiles, CANDIDATES)[1] for s in spaces]
    k = min(k, n_cells - 1)
    found = np.empty((n_cells, k), dtype=np.intp)
    for cells in gen_batches(n_cells, BLOCK_CELLS):
        ids = np.sort(np.hstack([n[cells] for n in near]), axis=1)
        total = np.zeros(ids.shape)
        for v, s in enumerate(spaces):
            part = s._replace(nearest=s.nearest[cells], width=s.width[cells])
            gaps = s.profiles[cells][:, None] - s.profiles[ids]
            apart = np.sqrt((gaps**2).sum(axis=2))
            total += weights[cells, v, None] * part.affinity(apart)
        total[:, 1:][ids[:, 1:] == ids[:, :-1]] = -1.0  # named by two views
        best = np.argsort(-total, axis=1, kind="stable")[:, :k]
        found[cells] = np.take_along_axis(ids, best, axis=1)
    return found
