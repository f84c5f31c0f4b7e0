"""FMVACC: per-view anchor graphs, matched anchor by anchor, then averaged."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans

from manyview.base import FloatArray, IntArray
from manyview.baselines.parts.embedding_kmeans import (
    Protocol,
    cluster_rows,
    singular_rows,
)
from manyview.baselines.parts.in_memory import restored
from manyview.baselines.parts.parameters import ComparedMethod
from manyview.baselines.parts.procrustes import polar
from manyview.baselines.parts.simplex import project_simplex
from manyview.baselines.parts.standardise import scaled, z_feature
from manyview.kmeans.passes import quiet_fit
from manyview.views.arguments import child_seed

# The stopping rule of stage 1 in the authors' program: the last of the rounds that
# are always run, the last of all, and the share by which the objective must change.
MIN_ITER, MAX_ITER, TOLERANCE = 9, 51, 1e-6
# k-means for a start needs no more rows: the rounds of stage 1 see them all.
START_ROWS = 20_000
# Anchors, graph and objective of a view after every round.
Rounds = Iterator[tuple[FloatArray, FloatArray, float]]


@dataclass(eq=False, repr=False, kw_only=True)
class FMVACC(ComparedMethod):
    """Fast multi-view anchor-correspondence clustering (FMVACC).

    Stage 1, for every view ``X`` (n_samples, n_features): orthonormal anchors
    ``A`` (n_anchors, n_features) and row-stochastic ``Z`` (n_samples, n_anchors),

        min  || X - Z A ||_F² + beta || Z ||_F²   s.t. AA' = I, Z >= 0, Z 1 = 1,

    by ``A = polar(Z'X)`` and ``Z = proj(X A' / (1 + beta))``, from the k-means
    centres of the raw view (of 20 000 drawn rows where there are more) and with
    features brought to mean 0 and standard deviation 1. A view with fewer
    features than anchors cannot have orthonormal ones: there ``A`` is the least
    squares solution.

    Stage 2 matches the anchors of view v to those of the first view. With
    ``S_u = Z_u' Z_u`` and ``K = Z_1' Z_v``, the match ``M`` is the fixed point of

        M ← (M + Gamma(S_1 M S_v + λ K)) / 2,  divided by its largest entry,

    where Gamma alternates the projection on unit row and column sums with
    clipping at zero. Columns of ``Z_v`` are added up by the match, the views are
    averaged, and labels are k-means of the unit rows of the left singular
    vectors of the mean. The first view is the reference: the order of the views
    matters, that of the rows does not.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    anchors_per_cluster : int
        The number of anchors is this many times `n_clusters`, and never more than
        the rows.
    beta : float
        Weight of the ridge on Z.
    feature_weight : float
        λ, weight of the feature match K against the structure match.
    n_init : int
        Number of k-means starts; the one of lowest inertia is kept. The authors'
        program takes three.
    exact : bool
        False sends every anchor to its best partner, several perhaps to one, and
        divides by ``1 + beta`` even where the anchors are not orthonormal, as the
        authors' program does; the published figures rest on it. True matches one
        to one and descends in Z in that case too.
    protocol : {"manyview", "authors"}
        "manyview" stops the rounds of every view by its own objective and starts
        k-means from rows far from each other, which finds better clusters where
        there are many. "authors" stops all views together by the sum of their
        objectives and starts k-means from any rows, as the authors' program does.
    random_state : int, numpy.random.Generator or None
        Seed of both k-means. Rows are drawn by content: a shuffled file gives the
        same clusters.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    embedding_ : array (n_samples, at most n_anchors)
        The unit rows that k-means saw.
    matches_ : array (n_views, n_anchors) of int
        Anchor of the first view that each anchor of each view is added to.
    objective_ : list of lists of float
        Stage-1 objective of every view after every iteration; it never rises
        where anchors are orthonormal or with ``exact=True``.
    n_iter_ : int
        Most iterations any view took.

    Notes
    -----
    An anchor that no row uses has no best direction: any that is orthogonal to the
    other anchors solves ``A = polar(Z'X)``. Which one comes out is up to the linear
    algebra library, and with it the rounds that follow. Where the authors' program
    meets such an anchor, another installation of it gives other graphs as well.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines import FMVACC
    >>> x = np.repeat(np.eye(3), 5, axis=0) + np.linspace(0, 0.1, 15)[:, None]
    >>> np.bincount(FMVACC(n_clusters=3, random_state=0).fit([x, x[:, ::-1]]).labels_)
    array([5, 5, 5])
    """

    citation: ClassVar[str] = (
        "S. Wang, X. Liu, S. Liu, J. Jin, W. Tu, X. Zhu, E. Zhu: Align then fusion: "
        "generalized large-scale multi-view clustering with anchor matching "
        "correspondences. NeurIPS 2022."
    )

    anchors_per_cluster: int = 1
    beta: float = 100.0
    feature_weight: float = 1.0
    n_init: int = 3
    exact: bool = False
    protocol: Protocol = "manyview"

    def fit(self, X: Any, y: Any = None) -> Self:
        Xs, order, rng = self._ordered(X, y)
        n_anchors = min(self.anchors_per_cluster * self.n_clusters_, len(order))
        starts = zip(Xs, [child_seed(rng) for _ in Xs], strict=True)
        rounds = (self._rounds(x, n_anchors, seed) for x, seed in starts)
        if self.protocol == "authors":
            fits = settle(list(rounds))
        else:
            fits = [fit for own in rounds for fit in settle([own])]
        graphs = [fit.Z for fit in fits]
        self.matches_ = np.stack(
            [np.arange(n_anchors)]
            + [match(graphs[0], Z, self.feature_weight, self.exact) for Z in graphs[1:]]
        )
        self.objective_ = [fit.objective for fit in fits]
        self.n_iter_ = max(len(fit.objective) for fit in fits)
        embedding = singular_rows(fuse(graphs, self.matches_))
        labels = cluster_rows(
            embedding, self.n_clusters, self.n_init, rng, self.protocol
        )
        self.embedding_ = restored(embedding, order)
        return self._store_labels(restored(labels, order))

    def _rounds(self, X: FloatArray, n_anchors: int, seed: int) -> Rounds:
        # In content order the first rows are a random draw, and enough for a start.
        rows = scaled(X, None)[: max(START_ROWS, 10 * n_anchors)]
        start = KMeans(n_anchors, init="random", n_init=10, max_iter=100)
        A = quiet_fit(start.set_params(random_state=seed), rows).cluster_centers_
        return anchor_rounds(z_feature(X), A, self.beta, self.exact)


class AnchorFit(NamedTuple):
    """Stage 1 of one view: anchors, graph, objective after every iteration."""

    A: FloatArray
    Z: FloatArray
    objective: list[float]


def anchor_rounds(X: FloatArray, A: FloatArray, beta: float, exact: bool) -> Rounds:
    """Alternate anchors and graph of one view from the given anchors, for ever."""
    Z = project_simplex(X @ A.T)
    size = np.einsum("ij,ij->", X, X, dtype=np.float64)
    while True:
        A = update_anchors(X, Z)
        inner = X @ A.T
        Z = update_graph(inner, A, beta, Z if exact else None)
        fit = np.einsum("ij,ij->", Z, inner, dtype=np.float64)
        gram = (Z.T @ Z).astype(np.float64)
        value = size - 2 * fit + np.sum(gram * (A @ A.T)) + beta * np.trace(gram)
        yield A, Z, float(value)


def settle(views: list[Rounds]) -> list[AnchorFit]:
    """The views after as many rounds as the sum of their objectives takes to settle."""
    history: list[tuple[float, ...]] = []
    for found in islice(zip(*views, strict=True), MAX_ITER):
        history.append(tuple(value for _, _, value in found))
        if len(history) > MIN_ITER:
            before, now = map(sum, history[-2:])
            if abs(before - now) <= TOLERANCE * abs(before):
                break
    pairs = zip(found, zip(*history, strict=True), strict=True)
    return [AnchorFit(A, Z, list(values)) for (A, Z, _), values in pairs]


def update_anchors(X: FloatArray, Z: FloatArray) -> FloatArray:
    """``argmin_A || X - Z A ||²``, orthonormal where there are features enough."""
    ZX = Z.T @ X
    if Z.shape[1] <= X.shape[1]:
        return polar(ZX)
    return np.asarray(np.linalg.pinv(Z.T @ Z, hermitian=True) @ ZX)


def update_graph(
    inner: FloatArray,
    A: FloatArray,
    beta: float,
    start: FloatArray | None,
    n_steps: int = 20,
) -> FloatArray:
    """``argmin_Z || X - Z A ||² + beta || Z ||²`` over row-stochastic Z.

    ``inner = X A'``. One projection where ``AA' = I``; elsewhere only with a
    `start`, from which accelerated projected gradient sets out; a row that a step
    would make worse takes a plain one, so that the objective falls in any case.
    """
    if start is None or len(A) <= A.shape[1]:
        return project_simplex(inner / (1 + beta))
    H = A @ A.T + beta * np.eye(len(A), dtype=A.dtype)
    step = 1 / float(np.linalg.eigvalsh(H)[-1])
    Z: FloatArray = start
    ahead = start
    for t in range(1, n_steps + 1):
        new = project_simplex(ahead - step * (ahead @ H - inner))
        rises = np.vecdot(new @ H - 2 * inner, new) > np.vecdot(Z @ H - 2 * inner, Z)
        plain = project_simplex(Z - step * (Z @ H - inner))
        new = np.where(rises[:, None], plain, new)
        ahead = new + (t - 1) / (t + 2) * (new - Z)
        Z = new
    return Z


def match(Z1: FloatArray, Zv: FloatArray, lam: float, exact: bool) -> IntArray:
    """Anchor of the reference view for every anchor of another one."""
    M = correspondence(Z1.T @ Z1, Zv.T @ Zv, Z1.T @ Zv, lam)
    if not exact:
        return np.asarray(np.argmax(M, axis=0))
    ours, theirs = linear_sum_assignment(M, maximize=True)
    return np.asarray(ours[np.argsort(theirs)])


def correspondence(
    S1: FloatArray, Sv: FloatArray, K: FloatArray, lam: float
) -> FloatArray:
    """Fixed point of the projected matching iteration (n_anchors, n_anchors)."""
    m = len(K)
    M = np.full((m, m), 1 / m**2)
    for _ in range(50):
        Y = doubly_stochastic(S1 @ M @ Sv + lam * K)
        new = (M + Y) / 2
        new /= new.max()
        moved = np.abs(new - M).max()
        M = new
        if moved < 1e-6:
            break
    return M


def doubly_stochastic(Y: FloatArray, n_rounds: int = 30) -> FloatArray:
    """Alternating projections on unit row and column sums, and on ``Y >= 0``."""
    m = len(Y)
    for _ in range(n_rounds):
        rows, columns = Y.mean(axis=1, keepdims=True), Y.mean(axis=0)
        Y = np.maximum(Y - rows - columns + (1 + rows.sum()) / m, 0)
    return Y


def fuse(graphs: list[FloatArray], matches: IntArray) -> FloatArray:
    """Mean of the views' graphs with matched columns added up."""
    hot = np.eye(matches.shape[1], dtype=graphs[0].dtype)
    pairs = zip(graphs, matches, strict=True)
    return np.asarray(sum(Z @ hot[partner] for Z, partner in pairs) / len(graphs))
