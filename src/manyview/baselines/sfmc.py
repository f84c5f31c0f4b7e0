"""SFMC: one joint anchor graph bent into as many components as clusters."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp

from manyview.base import FloatArray, IntArray, ManyviewTags
from manyview.baselines.parts.bipartite import (
    ComponentGraph,
    anchor_graph,
    component_graph,
    settle_components,
)
from manyview.baselines.parts.in_memory import dense_views, require_memory
from manyview.baselines.parts.parameters import ComparedMethod, check_parameters
from manyview.baselines.parts.simplex import project_simplex
from manyview.errors import InputError
from manyview.views.arguments import check_count, check_number, generator
from manyview.views.views import Views

# The default number of anchors: one in so many rows, as reproduces CCV's published
# row, but never too few to tell the clusters apart nor more than m³ can afford.
ROWS_PER_ANCHOR, ANCHORS_PER_CLUSTER, MOST_ANCHORS = 100, 3, 1000
# Beyond, the chaotic map of the anchor rule leaves the numbers that it is meant for.
MOST_PERTURBED = 0.01


@dataclass(eq=False, repr=False, kw_only=True)
class SFMC(ComparedMethod):
    """Scalable, parameter-free multi-view graph clustering (SFMC).

    Every view gives a row-stochastic graph ``B_v`` (n_samples, n_anchors) to
    anchors that all views share; view weights ``a`` and a joint graph ``P``
    solve::

        min_{a, P}  || Σ_v a_v B_v - P ||_F²
        s.t.  a >= 0, Σ a_v = 1;  P >= 0, P 1 = 1;
              the bipartite graph of P has n_clusters connected components.

    Updates, in turn:

    * anchors: with s the scaled row sums of all views, repeatedly take
      ``argmax s``, then ``s ← s (1 - s) / max``; no chance is involved. The map
      is chaotic: rounding decides which rows come up after a few dozen steps.
    * ``B_v``: the k nearest anchors of every row, weights in closed form (see
      `manyview.baselines.parts.bipartite.anchor_graph`).
    * ``P``: the components are pressed out by ``lam tr(F' L F)`` with self-tuned
      lam (see `manyview.baselines.parts.bipartite.component_graph`).
    * ``a``: ``min a'Aa - a'h`` on the simplex, ``A_uv = <B_u, B_v>``,
      ``h_v = 2 <B_v, P>``, by accelerated projected gradient.

    Labels are the components. The method leans to one giant component and many
    small ones; a `DegenerateWarning` says so when it happens. Where the
    components are not exactly `n_clusters`, the smallest ones join the nearest
    (by their means) or the largest are cut in two, so that labels are always in
    ``range(n_clusters)``; `n_components_` keeps what the graph had.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_anchors : int or float, optional
        A number of rows, or a share of them below 1. Default 1 % of the rows, at
        least ``3 n_clusters`` and at most 1000 (and never more than the rows). It
        decides much: the paper takes half of the rows of small data and 2 % of
        large.
    n_neighbors : int
        Anchors each row is joined to, per view.
    max_iter : int
        Rounds of P and a.
    exact : bool
        False also pulls the columns of P towards sum one and starts the P-step
        from stand-in degrees, as the authors' program does; the published
        figures rest on it. True keeps to the constraints the paper states.
    perturbation : float
        Share of itself by which every score s is moved at random at the start. 0 is
        the method; 1e-15, the size of rounding, shows over several seeds how far its
        labels, and with them its scores, hang on the rounding of one machine.
    random_state : int, numpy.random.Generator or None
        Seed of the perturbation; the method itself has no random part.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    embedding_ : array (n_samples, n_clusters)
        Rows' half of F, the leading singular vectors of the final graph.
    view_weights_ : array (n_views,)
        a_v.
    anchor_rows_ : array (n_anchors,)
        Row numbers of the anchors.
    graph_ : sparse array (n_samples, n_anchors)
        P.
    n_components_ : int
        Connected components of P.
    objective_ : float
        ``|| Σ_v a_v B_v - P ||_F²`` at the end.
    n_iter_ : int
        Rounds of P and a.

    Notes
    -----
    Memory: the views twice, about 120 bytes per row, view and neighbour, and five
    n_anchors² matrices; a fit that cannot be held is refused with a
    `ResourceError`. Time per round grows with n_anchors³: a share of the rows as
    anchors makes it quadratic and worse in the rows.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines import SFMC
    >>> x = np.repeat([[0.0], [5.0]], 10, axis=0) + np.linspace(0, 1, 20)[:, None]
    >>> np.bincount(SFMC(n_clusters=2).fit([x, x**2]).labels_)
    array([10, 10])
    """

    citation: ClassVar[str] = (
        "X. Li, H. Zhang, R. Wang, F. Nie: Multiview clustering: a scalable and "
        "parameter-free bipartite graph fusion method. TPAMI 44 (2022)."
    )
    deterministic: ClassVar[bool] = True

    n_anchors: int | float | None = None
    n_neighbors: int = 10
    max_iter: int = 10
    exact: bool = False
    perturbation: float = 0.0

    def fit(self, X: Any, y: Any = None) -> Self:
        check_parameters(self)
        if self.perturbation > MOST_PERTURBED:
            raise InputError(
                f"perturbation is {self.perturbation:g}; a change of rounding's size "
                f"is meant. Give at most {MOST_PERTURBED:g}."
            )
        views = self._views_to_fit(X, y)
        n_anchors = self._anchor_count(len(views))
        needed = memory_need(views, n_anchors, self.n_neighbors)
        require_memory(needed, "SFMC", f"{len(views)} rows and {n_anchors} anchors")
        arrays = [divide_by_maximum(a) for a in dense_views(views)]
        s = row_scores(arrays)
        if self.perturbation:
            moves = generator(self.random_state).standard_normal(len(s))
            s *= 1 + self.perturbation * moves
        self.anchor_rows_ = alternate_sampling(s, n_anchors)
        graphs = [
            anchor_graph(a, a[self.anchor_rows_], self.n_neighbors) for a in arrays
        ]
        weights, joint, self.n_iter_ = fuse_graphs(
            graphs, self.n_clusters, self.max_iter, self.exact
        )
        self.view_weights_, self.graph_ = weights, joint.P
        self.embedding_ = joint.embedding
        self.objective_ = distance_to_fusion(graphs, weights, joint.P)
        self.n_components_ = int(joint.components.max()) + 1
        labels = settle_components(joint.P, joint.components, arrays, self.n_clusters_)
        return self._store_labels(labels)

    def __sklearn_tags__(self) -> ManyviewTags:
        tags = super().__sklearn_tags__()
        tags.multiview.deterministic = not self.perturbation
        return tags

    def _anchor_count(self, n_samples: int) -> int:
        if self.n_anchors is None:
            least = ANCHORS_PER_CLUSTER * self.n_clusters_
            share = min(max(n_samples // ROWS_PER_ANCHOR, least), MOST_ANCHORS)
            return min(max(share, self.n_clusters_), n_samples)
        check_number(self.n_anchors, "n_anchors")
        if self.n_anchors < 1:
            return max(int(self.n_anchors * n_samples), self.n_clusters_)
        check_count(self.n_anchors, "n_anchors", self.n_clusters_)
        if self.n_anchors > n_samples:
            raise InputError(
                f"n_anchors={self.n_anchors} is more than the {n_samples} rows. "
                "Give fewer, or a share of the rows below 1."
            )
        return int(self.n_anchors)


def memory_need(views: Views, n_anchors: int, n_neighbors: int) -> int:
    """Bytes of the views twice, the sparse graphs and m × m matrices."""
    n_samples, n_features = views.shape
    edges = n_samples * views.n_views * n_neighbors
    data = 2 * n_samples * n_features * views.dtype.itemsize
    return data + 120 * edges + 5 * 8 * n_anchors**2


def divide_by_maximum(X: FloatArray) -> FloatArray:
    """The view by its largest entry (by its largest size if none is positive)."""
    top = X.max()
    if top <= 0:
        top = np.abs(X).max()
    return X / top if top > 0 else X


def row_scores(arrays: list[FloatArray]) -> FloatArray:
    """Sum of every row (n_samples,) over all views, features from their least on."""
    s = np.zeros(len(arrays[0]))
    for a in arrays:
        s += (a - a.min(axis=0)).sum(axis=1, dtype=np.float64)
    return s


def alternate_sampling(scores: FloatArray, n_anchors: int) -> IntArray:
    """Rows picked by directly alternate sampling, ascending.

    The row of largest score is taken, then ``s ← s (1 - s)`` scaled to maximum 1:
    rows that score like it lose most, so the next pick lies elsewhere.
    """
    s = scores.copy()
    free = np.ones(len(s), bool)
    picked = np.empty(n_anchors, np.intp)
    for i in range(n_anchors):
        top = s.max()
        if top > 0:
            s /= top
        picked[i] = np.argmax(np.where(free, s, -1.0))
        free[picked[i]] = False
        s *= 1 - s
    return np.sort(picked)


def fuse_graphs(
    graphs: list[sp.csr_array], n_clusters: int, max_iter: int, exact: bool
) -> tuple[FloatArray, ComponentGraph, int]:
    """Alternate the P-step and the a-step from equal weights; one last P-step."""
    A = np.array([[(b.multiply(c)).sum() for c in graphs] for b in graphs])
    a = np.full(len(graphs), 1 / len(graphs))
    for n_iter in range(1, max_iter + 1):
        joint = component_graph(mix(graphs, a), n_clusters, exact)
        h = np.array([2 * b.multiply(joint.P).sum() for b in graphs])
        old, a = a, simplex_quadratic(A, h, a)
        if np.abs(a - old).max() < 1e-9:  # the same G would give the same P
            return a, joint, n_iter
    return a, component_graph(mix(graphs, a), n_clusters, exact), n_iter


def mix(graphs: list[sp.csr_array], a: FloatArray) -> sp.csr_array:
    """``Σ_v a_v B_v``, without the views of weight zero."""
    parts = [w * b for w, b in zip(a, graphs, strict=True) if w > 0]
    return sp.csr_array(sum(parts[1:], start=parts[0]))


def distance_to_fusion(
    graphs: list[sp.csr_array], a: FloatArray, P: sp.csr_array
) -> float:
    """``|| Σ_v a_v B_v - P ||_F²``."""
    return float(((mix(graphs, a) - P).data ** 2).sum())


def simplex_quadratic(A: FloatArray, h: FloatArray, start: FloatArray) -> FloatArray:
    """Minimiser of ``a'Aa - a'h`` over the simplex, for a small positive A."""
    step = 0.5 / max(float(np.linalg.eigvalsh(A)[-1]), 1e-300)
    a: FloatArray = start
    ahead = start
    momentum = 1.0
    for _ in range(10_000):
        new: FloatArray = project_simplex((ahead - step * (2 * A @ ahead - h))[None])[0]
        if np.abs(new - a).max() < 1e-13 and np.abs(new - ahead).max() < 1e-13:
            return new
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        # Momentum that points uphill is dropped (adaptive restart).
        if (ahead - new) @ (new - a) > 0:
            following = 1.0
        ahead = new + (momentum - 1) / following * (new - a)
        a, momentum = new, following
    return a
