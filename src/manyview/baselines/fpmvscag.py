"""FPMVS-CAG: parameter-free subspace clustering with consensus anchors."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from manyview.base import FloatArray
from manyview.baselines.parts.embedding_kmeans import (
    Protocol,
    cluster_rows,
    singular_rows,
)
from manyview.baselines.parts.factor_updates import anchor_step, inverse_weights, misfit
from manyview.baselines.parts.in_memory import restored
from manyview.baselines.parts.parameters import ComparedMethod
from manyview.baselines.parts.simplex import project_simplex
from manyview.baselines.parts.standardise import z_feature


@dataclass(eq=False, repr=False, kw_only=True)
class FPMVSCAG(ComparedMethod):
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

    It starts from A = 0 and Z = 1 for one anchor each on c rows, which the authors take
    from the top of the file; here they are drawn by seed, so that the same rows in
    another order get the same labels. Labels are k-means on the unit rows of Z's left
    singular vectors.

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
        Number of k-means starts; the one of lowest inertia is kept.
    protocol : {"manyview", "authors"}
        How k-means starts: from rows far from each other, which finds better
        clusters where there are many, or from any rows, as the authors' program does.
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

    exact: bool = False
    max_iter: int = 20
    tol: float = 0.0
    n_init: int = 10
    protocol: Protocol = "manyview"

    def fit(self, X: Any, y: Any = None) -> Self:
        Xs, order, rng = self._ordered(X, y)
        Xs = [z_feature(x) for x in Xs]
        now = start(Xs, self.n_clusters)
        losses: list[float] = []
        for _ in range(self.max_iter):
            now, loss = iterate(Xs, now, exact=self.exact)
            losses.append(loss)
            if len(losses) > 1 and abs(losses[-2] - loss) < self.tol * losses[-2]:
                break
        E = singular_rows(now.Z)
        labels = cluster_rows(E, self.n_clusters, self.n_init, rng, self.protocol)
        self.embedding_ = restored(E, order)
        self.anchor_graph_ = restored(now.Z, order)
        self.view_weights_ = now.alpha
        self.objective_, self.n_iter_ = losses, len(losses)
        return self._store_labels(restored(labels, order))


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
    Xs: list[FloatArray], now: Factors, *, exact: bool
) -> tuple[Factors, float]:
    """One round of all four updates (`exact`: minimisers), and the objective after."""
    share = (now.alpha**2).astype(now.Z.dtype)
    anchors, A = anchor_step(Xs, now.A, now.Z, share)
    targets = [x @ M for x, M in zip(Xs, anchors, strict=True)]
    mixing = share if exact else np.ones_like(share)
    total = sum(m * t for m, t in zip(mixing, targets, strict=True))
    Z = project_simplex(total / share.sum())
    parts = zip(Xs, targets, anchors, strict=True)
    residuals = np.array([misfit(x, t, M, Z) for x, t, M in parts])
    alpha = inverse_weights(residuals, root=not exact)
    return Factors(A, Z, alpha), float(alpha**2 @ residuals)
