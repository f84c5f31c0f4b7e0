"""sMERA-MVC (reconstruction): a low-rank fold of the row index."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils import gen_batches

from manyview.arrays.linear import eigh
from manyview.arrays.ops import index_sum, unit_rows
from manyview.base import FloatArray, IntArray
from manyview.baselines.parts.bipartite import nearest_anchors
from manyview.baselines.parts.in_memory import dense_views, require_memory
from manyview.baselines.parts.parameters import ComparedMethod
from manyview.baselines.parts.procrustes import polar
from manyview.errors import InputError, InputTypeError
from manyview.kmeans.passes import quiet_fit
from manyview.views.arguments import check_count, child_seed
from manyview.views.views import Views

# The residual that ends the rounds, and the first penalties of the fold and of the
# data, doubled every round up to a cap: the authors' public drivers.
TOLERANCE = 1e-6
MU_TENSOR, MU_DATA, MU_CAP = 1e-3, 5e-4, 1e11
# Entries of a block of rows: 2 MB, which stay in cache through a sweep.
SWEEP_ENTRIES = 250_000


@dataclass(eq=False, repr=False, kw_only=True)
class SMERAMVC(ComparedMethod):
    """Scalable multi-view MERA clustering, a reconstruction: clusters the row order.

    The authors' tensor-network step is not public. This one stands in for it
    because it reaches their published level; it is evidence about the mechanism,
    not their program. **The result depends on the order of the rows**, and on
    shuffled rows little is left.

    With unit rows ``X_v`` (n_samples, n_features_v), orthonormal ``A_v``
    (n_anchors, n_features_v) and ``Z_v`` (n_samples, n_anchors),

        min  λ Σ_v || E_v ||_{2,1}   s.t.  X_v = Z_v A_v + E_v, Z_v >= 0,
             the stack of all Z_v, folded, has rank R.

    The fold cuts the rows into `n_blocks` runs of `block_rows` consecutive rows
    and unfolds the 4-way tensor (anchor, place in the run, run, view) into the
    matrix (anchor, run) x (place, view). ADMM, penalties mu1, mu2 doubling:

        A_v = polar(Z_v' W_v),                W_v = X_v - E_v + Lam_v / mu2
        Z_v = max(0, (mu2 W_v A_v' + mu1 Y_v - Gam_v) / (mu1 + mu2))
        E_v = rows of R_v = X_v - Z_v A_v + Lam_v / mu2 shrunk by λ / mu2
        Y   = nearest matrix of rank R to the fold of Z + Gam / mu1
        Lam_v += mu2 (X_v - Z_v A_v - E_v),   Gam += mu1 (Z - Y)

    Labels are k-means of the left singular vectors of ``Σ_v Z_v``. Rows beyond
    the fold, fewer than `block_rows` by default, join the cluster whose mean of
    unit rows is nearest.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    fold : pair of int, optional
        (block_rows, n_blocks), product at most n_samples. Default: both near the
        square root of n_samples. The authors fit it to each data set, with
        n_blocks or block_rows the true number of classes where classes are equal.
    n_anchors : int
        Anchors of every view.
    rank : int
        R, rank of the fold.
    residual_weight : float
        λ, weight of the residual against the fold.
    max_iter : int
        Most iterations.
    n_init : int
        Number of k-means starts; the one of lowest inertia is kept.
    random_state : int, numpy.random.Generator or None
        Seed of k-means, the only random part.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    embedding_ : array (rows of the fold, n_anchors)
        The rows that k-means saw.
    fold_ : (block_rows, n_blocks)
        The fold that was used.
    objective_ : float
        ``λ Σ_v || E_v ||_{2,1}`` at the end.
    residuals_ : list of pair of float
        Largest entries of ``X - ZA - E`` and ``Z - Y`` after every iteration.
    n_iter_ : int
        Number of iterations.

    Notes
    -----
    Memory: three times the data and six times the graphs; a fit that cannot be
    held is refused with a `ResourceError`. An iteration passes over the data twice
    and solves one symmetric eigenproblem of size sqrt(n_samples) times n_views or
    n_anchors, whichever is smaller.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines import SMERAMVC
    >>> x = np.repeat(np.eye(4), 9, axis=0)
    >>> SMERAMVC(n_clusters=4, n_anchors=4, random_state=0).fit([x, x]).fold_
    (6, 6)
    """

    citation: ClassVar[str] = (
        "Z. Long, C. Zhu, J. Chen, Z. Li, Y. Ren, Y. Liu: Multi-view MERA subspace "
        "clustering. TMM 2023 (reconstruction; the tensor step is ours)."
    )
    order_dependent: ClassVar[bool] = True

    fold: tuple[int, int] | None = None
    n_anchors: int = 6
    rank: int = 2
    residual_weight: float = 0.5
    max_iter: int = 51
    n_init: int = 10

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of `X` as they stand; `y` is ignored."""
        views, rng = self._begin(X, y)
        self.fold_ = self._fold_of(len(views))
        size = f"{len(views)} rows and {self.n_features_in_} features"
        require_memory(memory_need(views, self.fold_, self.n_anchors), "SMERAMVC", size)
        arrays = [unit_rows(a) for a in dense_views(views)]
        n_folded = self.fold_[0] * self.fold_[1]
        found = admm([a[:n_folded] for a in arrays], self.fold_, self)
        self.objective_, self.residuals_ = found.objective, found.residuals
        self.n_iter_ = len(found.residuals)
        self.embedding_ = np.linalg.svd(sum(found.Zs), full_matrices=False)[0]
        seed = child_seed(rng)
        c = min(self.n_clusters, n_folded)
        search = KMeans(c, n_init=self.n_init, random_state=seed)
        labels = quiet_fit(search, self.embedding_).labels_
        return self._store_labels(extend(labels, arrays, n_folded))

    def _fold_of(self, n_samples: int) -> tuple[int, int]:
        if self.fold is None:
            root = math.isqrt(n_samples)
            return root, n_samples // root
        if not isinstance(self.fold, (tuple, list)) or len(self.fold) != 2:
            raise InputTypeError(
                f"fold must be a pair (block_rows, n_blocks); got {self.fold!r}."
            )
        for size in self.fold:
            check_count(size, "each number of fold")
        block_rows, n_blocks = (int(size) for size in self.fold)
        if not self.n_clusters <= block_rows * n_blocks <= n_samples:
            raise InputError(
                f"fold={self.fold!r} covers {block_rows * n_blocks} rows; it must "
                f"cover at least n_clusters={self.n_clusters} and at most the "
                f"{n_samples} rows there are."
            )
        return block_rows, n_blocks


def memory_need(views: Views, fold: tuple[int, int], n_anchors: int) -> int:
    """Bytes of the data, its residual, a work copy, the graphs and the fold."""
    n_samples, n_features = views.shape
    side = min(n_anchors * fold[1], fold[0] * views.n_views)
    data = 3 * n_samples * n_features * views.dtype.itemsize
    return data + 8 * (6 * n_samples * n_anchors * views.n_views + 4 * side**2)


def extend(labels: IntArray, arrays: list[FloatArray], n_folded: int) -> IntArray:
    """Labels of all rows: those beyond the fold join the nearest cluster mean."""
    if n_folded == len(arrays[0]):
        return labels
    sizes = np.bincount(labels)
    sums = [index_sum(a[:n_folded], labels, len(sizes)) for a in arrays]
    means = np.concatenate(sums, axis=1) / sizes[:, None]
    rest = np.concatenate([a[n_folded:] for a in arrays], axis=1)
    _, nearest = nearest_anchors(rest, means.astype(rest.dtype), 1)
    return np.concatenate([labels, nearest[:, 0]])


class Decomposition(NamedTuple):
    """Result of `admm`."""

    As: list[FloatArray]
    Zs: list[FloatArray]
    objective: float
    residuals: list[tuple[float, float]]


class Residual(NamedTuple):
    """R_v and the share of each row that is ``Lam_v / mu2``; the rest is E_v."""

    R: FloatArray
    kept: FloatArray


def admm(
    arrays: list[FloatArray], fold: tuple[int, int], model: SMERAMVC
) -> Decomposition:
    """The iteration of `SMERAMVC` on unit rows; everything starts at zero.

    Rows are swept in blocks that stay in cache; besides the data only one array of its
    size is kept.
    """
    lam = model.residual_weight
    n_samples = len(arrays[0])
    Z = np.zeros((len(arrays), n_samples, model.n_anchors))
    Y, Gam = np.zeros_like(Z), np.zeros_like(Z)
    left = [Residual(np.zeros_like(X), np.ones(n_samples, X.dtype)) for X in arrays]
    As = [np.empty(0)] * len(arrays)
    mu1, mu2, shrunk = MU_TENSOR, MU_DATA, 1.0
    residuals: list[tuple[float, float]] = []
    for _ in range(model.max_iter):
        gap = 0.0
        for v, X in enumerate(arrays):
            As[v] = polar(anchor_target(X, left[v], Z[v], shrunk))
            pull = (mu1 * Y[v] - Gam[v]) / mu2
            moved = sweep(X, left[v], Z[v], As[v], pull, (mu1, mu2, shrunk), lam)
            gap = max(gap, moved)
        Y = low_rank_fold(Z + Gam / mu1, fold, model.rank)
        Gam += mu1 * (Z - Y)
        residuals.append((gap, float(np.abs(Z - Y).max())))
        if max(residuals[-1]) < TOLERANCE:
            break
        shrunk = mu2 / min(2 * mu2, MU_CAP)
        mu1, mu2 = min(2 * mu1, MU_CAP), min(2 * mu2, MU_CAP)
    lengths = (((1 - r.kept) * np.linalg.norm(r.R, axis=1)).sum() for r in left)
    return Decomposition(As, list(Z), lam * float(sum(lengths)), residuals)


def split_off(X: FloatArray, left: Residual, rows: slice, shrunk: float) -> FloatArray:
    """Rows of ``W = X - E + Lam / mu2``; `shrunk` is the last mu2 over this one."""
    share = (1 + shrunk) * left.kept[rows] - 1
    return np.asarray(X[rows] + left.R[rows] * share[:, None])


def anchor_target(
    X: FloatArray, left: Residual, Z: FloatArray, shrunk: float
) -> FloatArray:
    """``Z'W`` (n_anchors, n_features)."""
    target = np.zeros((Z.shape[1], X.shape[1]))
    for rows in _blocks(X):
        target += Z[rows].T.astype(X.dtype) @ split_off(X, left, rows, shrunk)
    return target.astype(X.dtype)


def sweep(
    X: FloatArray,
    left: Residual,
    Z: FloatArray,
    A: FloatArray,
    pull: FloatArray,
    penalties: tuple[float, float, float],
    lam: float,
) -> float:
    """Z-, E- and Lam-step of one view, in place and block by block.

    Returns the largest entry of ``X - ZA - E``, by which Lam / mu2 moves.
    """
    mu1, mu2, shrunk = penalties
    largest = 0.0
    for rows in _blocks(X):
        W = split_off(X, left, rows, shrunk)
        Z[rows] = np.maximum(W @ A.T + pull[rows], 0) * (mu2 / (mu1 + mu2))
        old = left.R[rows] * (shrunk * left.kept[rows])[:, None]
        R = X[rows] - Z[rows].astype(X.dtype) @ A + old
        lengths = np.sqrt(np.einsum("ij,ij->i", R, R))
        kept = np.minimum(lam / mu2 / np.where(lengths > 0, lengths, 1), 1)
        left.R[rows], left.kept[rows] = R, kept
        R *= left.kept[rows, None]
        R -= old
        largest = max(largest, float(np.abs(R).max()))
    return largest


def _blocks(X: FloatArray) -> Iterator[slice]:
    yield from gen_batches(len(X), max(1, SWEEP_ENTRIES // X.shape[1]))


def low_rank_fold(T: FloatArray, fold: tuple[int, int], rank: int) -> FloatArray:
    """Nearest tensor (n_views, n_samples, n_anchors) whose fold has rank `rank`."""
    block_rows, n_blocks = fold
    n_views, _, n_anchors = T.shape
    folded = T.reshape(n_views, n_blocks, block_rows, n_anchors)
    M = folded.transpose(3, 1, 2, 0).reshape(n_anchors * n_blocks, -1)
    L = truncate(M, rank).reshape(n_anchors, n_blocks, block_rows, n_views)
    return L.transpose(3, 1, 2, 0).reshape(T.shape)


def truncate(M: FloatArray, rank: int) -> FloatArray:
    """Best rank-`rank` approximation, through the smaller Gram matrix."""
    if M.shape[0] < M.shape[1]:
        return truncate(M.T, rank).T
    _, Q = eigh(M.T @ M, rank)
    return np.asarray((M @ Q) @ Q.T)
