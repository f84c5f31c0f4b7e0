"""FPMVS-CAG: parameter-free subspace clustering with consensus anchors."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from manyview.base import FloatArray, MultiViewClusterer
from manyview.baselines.parts.content_order import content_ordered, restored
from manyview.baselines.parts.embedding_kmeans import cluster_rows, singular_rows
from manyview.baselines.parts.procrustes import polar
from manyview.baselines.parts.simplex import project_simplex
from manyview.baselines.parts.standardise import z_feature
from manyview.views.parsing import check_count, check_flag, check_number, generator


class FPMVSCAG(MultiViewClusterer):
    """Fast parameter-free multi-view subspace clustering, consensus anchor guidance.

    Every view X_v (n_samples, d_v), standardised per feature, is written by c
    consensus anchors A (c, c), carried into the view by W_v (d_v, c), and one graph Z
    (n_samples, c) shared by all views:

        min  Σ_v α_v² ‖X_v - Z A'W_v'‖²
        s.t. W_v'W_v = I, A'A = I, Z ≥ 0, Z1 = 1, Σ_v α_v = 1.

    One iteration takes each block in turn:

        W_v = polar(X_v'Z A'),    A = polar(Σ_v α_v² W_v'X_v'Z),
        z_i = proj( Σ_v w_v A'W_v'x_vi / Σ_v α_v² ),    proj onto the simplex,
        α_v ∝ 1/r_v,    r_v = ‖X_v - Z A'W_v'‖.

    It starts from A = 0 and Z = 1 for one anchor each on c drawn rows. Labels are
    k-means on the unit rows of Z's left singular vectors.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, and of anchors.
    exact : bool
        False takes w_v = 1 and α_v ∝ 1/r_v, as printed in the paper and done by the
        authors' program: Z becomes nearly one-hot, and the published figures (better
        ones, too) rest on it. True takes the minimisers w_v = α_v² and α_v ∝ 1/r_v²;
        only then, and with d_v ≥ c, is every iteration a descent.
    max_iter : int
        Number of iterations; the authors' program runs 20.
    tol : float
        Stop earlier when the objective changes by less than this share; 0 never does.
    n_init : int
        Number of k-means runs; the lowest inertia wins.
    random_state : int, numpy.random.Generator or None
        Seed of the drawn rows and of k-means.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    embedding_ : array (n_samples, at most n_clusters)
        The unit rows that k-means saw.
    anchor_graph_ : array (n_samples, n_clusters)
        Z; rows sum to 1.
    view_weights_ : array (n_views,)
        α_v.
    objective_ : list of float
        The objective after every iteration.
    n_iter_ : int
        Number of iterations.

    Notes
    -----
    The authors start from the first c rows of the file; here they are drawn by seed,
    so that the same rows in another order get the same labels.

    Examples
    --------
    >>> from manyview.baselines import FPMVSCAG
    >>> views = [[[0.0, 0.1], [0.1, 0.0], [5.0, 5.1], [5.1, 5.0]], [[0], [0], [1], [1]]]
    >>> labels = FPMVSCAG(n_clusters=2, random_state=0).fit_predict(views)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    citation: ClassVar[str] = (
        "S. Wang, X. Liu, X. Zhu, P. Zhang, Y. Zhang, F. Gao, E. Zhu, Fast "
        "parameter-free multi-view subspace clustering with consensus anchor guidance, "
        "IEEE Transactions on Image Processing, 2022."
    )

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        exact: bool = False,
        max_iter: int = 20,
        tol: float = 0.0,
        n_init: int = 10,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.exact = exact
        self.max_iter = max_iter
        self.tol = tol
        self.n_init = n_init
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of `X` (views of n_samples rows each); `y` is ignored."""
        check_count(self.max_iter, "max_iter")
        check_count(self.n_init, "n_init")
        check_number(self.tol, "tol")
        check_flag(self.exact, "exact")
        views = self._views_to_fit(X)
        rng = generator(self.random_state)
        raw, order = content_ordered(views, rng)
        Xs = [z_feature(x) for x in raw]
        del raw
        now, losses = self._descend(Xs)
        E = singular_rows(now.Z)
        labels = cluster_rows(E, self.n_clusters, self.n_init, rng)
        self.embedding_ = restored(E, order)
        self.anchor_graph_ = restored(now.Z, order)
        self.view_weights_ = now.alpha
        self.objective_ = losses
        self.n_iter_ = len(losses)
        return self._store_labels(restored(labels, order))

    def _descend(self, Xs: list[FloatArray]) -> tuple[Factors, list[float]]:
        squares = np.array([np.vdot(x, x) for x in Xs], dtype=np.float64)
        now = start(Xs, self.n_clusters)
        losses: list[float] = []
        for _ in range(self.max_iter):
            now, loss = iterate(Xs, squares, now, exact=self.exact)
            losses.append(loss)
            if len(losses) > 1 and abs(losses[-2] - loss) < self.tol * losses[-2]:
                break
        return now, losses


class Factors(NamedTuple):
    """A (c, c), Z (n_samples, c) and α (n_views,); W_v follows from them."""

    A: FloatArray
    Z: FloatArray
    alpha: FloatArray


def start(Xs: list[FloatArray], c: int) -> Factors:
    """A = 0, the first c rows one anchor each, equal view weights."""
    dtype = Xs[0].dtype
    Z = np.eye(len(Xs[0]), c, dtype=dtype)
    return Factors(np.zeros((c, c), dtype), Z, np.full(len(Xs), 1 / len(Xs)))


def iterate(
    Xs: list[FloatArray], squares: FloatArray, now: Factors, *, exact: bool
) -> tuple[Factors, float]:
    """One round of all four updates, and the objective after it.

    Parameters
    ----------
    Xs : list of arrays (n_samples, d_v)
    squares : array (n_views,)
        ‖X_v‖².
    now : Factors
    exact : bool
        The minimisers, or the authors' Z and α steps.
    """
    A, Z, alpha = now
    share = (alpha**2).astype(Z.dtype)
    XZ = [x.T @ Z for x in Xs]
    Ws = [polar(xz @ A.T) for xz in XZ]
    A = polar(
        np.sum([s * W.T @ xz for s, W, xz in zip(share, Ws, XZ, strict=True)], axis=0)
    )
    targets = [x @ (W @ A) for x, W in zip(Xs, Ws, strict=True)]
    mixing = share if exact else np.ones_like(share)
    total = sum(m * t for m, t in zip(mixing, targets, strict=True))
    Z = project_simplex(total / share.sum())
    residuals = _residuals(squares, targets, [W @ A for W in Ws], Z)
    alpha = view_weights(residuals, exact=exact)
    return Factors(A, Z, alpha), float(alpha**2 @ residuals)


def view_weights(residuals: FloatArray, *, exact: bool) -> FloatArray:
    """α_v ∝ 1/r_v² minimises Σ α_v² r_v² on Σ α_v = 1; the authors take 1/r_v.

    Parameters
    ----------
    residuals : array (n_views,)
        r_v².
    """
    floor = np.finfo(float).tiny + 1e-12 * residuals.max()
    r = np.maximum(residuals, floor)
    inverse = 1 / r if exact else 1 / np.sqrt(r)
    return np.asarray(inverse / inverse.sum())


def _residuals(
    squares: FloatArray,
    targets: list[FloatArray],
    carriers: list[FloatArray],
    Z: FloatArray,
) -> FloatArray:
    """r_v² = ‖X_v‖² - 2⟨X_v W_v A, Z⟩ + ‖Z A'W_v'‖², without an n x d_v product."""
    gram = (Z.T @ Z).astype(np.float64)
    cross = np.array([np.vdot(t, Z) for t in targets], dtype=np.float64)
    size = np.array([np.vdot(M.T @ M, gram) for M in carriers])
    return np.asarray(np.maximum(squares - 2 * cross + size, 0))
