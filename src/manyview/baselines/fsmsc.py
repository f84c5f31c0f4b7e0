"""FSMSC: subspace clustering guided by a subspace of all views together."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from manyview.base import FloatArray
from manyview.baselines.parts.embedding_kmeans import (
    Protocol,
    cluster_rows,
    singular_rows,
)
from manyview.baselines.parts.factor_updates import anchor_step, misfit
from manyview.baselines.parts.in_memory import restored
from manyview.baselines.parts.parameters import ComparedMethod
from manyview.baselines.parts.procrustes import polar
from manyview.baselines.parts.simplex import project_simplex
from manyview.baselines.parts.standardise import scaled


@dataclass(eq=False, repr=False, kw_only=True)
class FSMSC(ComparedMethod):
    """Fast self-guided multi-view subspace clustering.

    A graph Z (n_samples, c) that all views X_v (n_samples, d_v) share is guided by
    free codes Z̄ (n_samples, c) of the views side by side, X̄ (n_samples, d):

        min  Σ_v ‖X_v - Z A'W_v'‖² + τ ‖X̄ - Z̄ D'‖² + λ₁ ‖Z - Z̄ Q'‖² + λ₂ ‖Q‖²
        s.t. W_v'W_v = I, A'A = I, D'D = I, Z ≥ 0, Z1 = 1,

    with W_v (d_v, c), A (c, c), D (d, c), Q (c, c). One iteration takes in turn

        W_v = polar(X_v'Z A'),   A = polar(Σ_v W_v'X_v'Z),   D = polar(X̄'Z̄),
        Q = λ₁ Z'Z̄ (λ₁ Z̄'Z̄ + λ₂ I)⁻¹,
        Z̄ = (τ X̄D + λ₁ Z Q) (λ₁ Q'Q + (τ + λ₁) I)⁻¹,
        z_i = proj( (Σ_v A'W_v'x_vi + λ₁ Q z̄_i) / (V + 2λ₁) ).

    It starts from A = 0 and Z = Z̄ = 1 for one anchor each on c drawn rows. Labels are
    k-means on the unit rows of Z's left singular vectors.

    Parameters
    ----------
    n_clusters : int
        Number of clusters, and of anchors.
    tau : float
        τ, weight of the guiding subspace.
    lambda1 : float
        λ₁, how closely Z follows its guide.
    lambda2 : float
        λ₂, weight of ‖Q‖². The three defaults are those of the authors' program.
    scaling : {"sample", "standard", "unit", None}
        z-scores per sample, on which the published figures rest; z-scores per
        feature, which score higher on the same data and suit features of unlike
        units; rows of length 1; or the features as given. "sample" takes a view (or
        X̄) of one or two features per feature: the z-score of such a sample is a sign.
    exact : bool
        False divides by τ + λ₁ and V + 2λ₁ as above, which the authors' program does
        and the published figures rest on. True takes the minimisers, τ and V + λ₁;
        only then, and with d_v ≥ c, is every iteration a descent.
    max_iter : int
        Number of iterations; the authors' program runs 20.
    n_init : int
        Number of k-means starts; the one of lowest inertia is kept. The paper
        reports the best of 100 by the known labels.
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
    objective_ : list of float
        The objective after every iteration.
    n_iter_ : int
        Number of iterations.

    Notes
    -----
    The paper's λ₂ term is a sum of column lengths of Q; the authors' program uses the
    squared norm, and so does this. The authors start from the first c rows of the
    file; here they are drawn by seed, so that the same rows in another order get the
    same labels.

    Examples
    --------
    >>> from manyview.baselines import FSMSC
    >>> views = [[[0.0, 0.1], [0.1, 0.0], [5.0, 5.1], [5.1, 5.0]], [[0], [0], [1], [1]]]
    >>> labels = FSMSC(n_clusters=2, random_state=0).fit_predict(views)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    citation: ClassVar[str] = (
        "Z. Chen, X.-J. Wu, T. Xu, J. Kittler, Fast self-guided multi-view subspace "
        "clustering, IEEE Transactions on Image Processing, 2023."
    )

    tau: float = 1e-3
    lambda1: float = 500.0
    lambda2: float = 10.0
    scaling: Literal["sample", "standard", "unit", None] = "sample"
    exact: bool = False
    max_iter: int = 20
    n_init: int = 10
    protocol: Protocol = "manyview"

    def fit(self, X: Any, y: Any = None) -> Self:
        Xs, order, rng = self._ordered(X, y)
        Xbar = self._scale(np.concatenate(Xs, axis=1))
        Xs = [self._scale(x) for x in Xs]
        Z = np.eye(len(Xbar), self.n_clusters, dtype=Xbar.dtype)
        now = Factors(np.zeros((self.n_clusters,) * 2, Xbar.dtype), Z, Z)
        self.objective_: list[float] = []
        for _ in range(self.max_iter):
            now, loss = iterate(Xs, Xbar, now, self)
            self.objective_.append(loss)
        E = singular_rows(now.Z)
        labels = cluster_rows(E, self.n_clusters, self.n_init, rng, self.protocol)
        self.embedding_ = restored(E, order)
        self.anchor_graph_ = restored(now.Z, order)
        self.n_iter_ = self.max_iter
        return self._store_labels(restored(labels, order))

    def _scale(self, X: FloatArray) -> FloatArray:
        signs_only = self.scaling == "sample" and X.shape[1] <= 2
        return scaled(X, "standard" if signs_only else self.scaling)


class Factors(NamedTuple):
    """A (c, c), Z and Z̄ (n_samples, c); W_v, D and Q follow from them."""

    A: FloatArray
    Z: FloatArray
    Zbar: FloatArray


def iterate(
    Xs: list[FloatArray], Xbar: FloatArray, now: Factors, model: FSMSC
) -> tuple[Factors, float]:
    """One round of all six updates, and the objective after it."""
    lambda1, lambda2 = model.lambda1, model.lambda2
    anchors, A = anchor_step(Xs, now.A, now.Z, np.ones(len(Xs), Xbar.dtype))
    D = polar(Xbar.T @ now.Zbar)
    Q = guide(now.Z, now.Zbar, lambda1, lambda2)
    XD = Xbar @ D
    Zbar = codes(XD, D, now.Z, Q, model)
    targets = [x @ M for x, M in zip(Xs, anchors, strict=True)]
    divisor = len(Xs) + (1 if model.exact else 2) * lambda1
    Z = project_simplex((sum(targets) + lambda1 * (Zbar @ Q.T)) / divisor)
    parts = zip(Xs, targets, anchors, strict=True)
    loss = sum(misfit(x, t, M, Z) for x, t, M in parts)
    loss += model.tau * misfit(Xbar, XD, D, Zbar)
    loss += lambda1 * float(np.sum((Z - Zbar @ Q.T) ** 2))
    return Factors(A, Z, Zbar), loss + lambda2 * float(np.sum(Q**2))


def guide(
    Z: FloatArray, Zbar: FloatArray, lambda1: float, lambda2: float
) -> FloatArray:
    """Q (c, c) that minimises λ₁ ‖Z - Z̄Q'‖² + λ₂ ‖Q‖²."""
    gram = lambda1 * (Zbar.T @ Zbar) + lambda2 * np.eye(Z.shape[1], dtype=Z.dtype)
    return np.asarray(lambda1 * (Z.T @ Zbar) @ np.linalg.pinv(gram, hermitian=True))


def codes(
    XD: FloatArray, D: FloatArray, Z: FloatArray, Q: FloatArray, model: FSMSC
) -> FloatArray:
    """Z̄ (n_samples, c); with `exact` the minimiser of τ‖X̄ - Z̄D'‖² + λ₁‖Z - Z̄Q'‖²."""
    tau, lambda1 = model.tau, model.lambda1
    eye = np.eye(len(Q), dtype=Q.dtype)
    ridge = tau * (D.T @ D) if model.exact else (tau + lambda1) * eye
    inverse = np.linalg.pinv(lambda1 * (Q.T @ Q) + ridge, hermitian=True)
    return np.asarray((tau * XD + lambda1 * (Z @ Q)) @ inverse)
