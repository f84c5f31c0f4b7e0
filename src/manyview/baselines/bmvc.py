"""BMVC: binary codes and binary cluster centres learnt together."""

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.utils import gen_batches

from manyview.arrays.linear import eigh
from manyview.arrays.ops import index_sum
from manyview.base import FloatArray, IntArray
from manyview.baselines.parts.embedding_kmeans import Protocol
from manyview.baselines.parts.in_memory import content_ordered, dense_views, restored
from manyview.baselines.parts.parameters import ComparedMethod, check_parameters
from manyview.baselines.parts.rbf_features import (
    BLOCK_ROWS,
    centred_features,
    feature_map,
)
from manyview.errors import InputError
from manyview.stages.ridge import block_gram, centred_gram
from manyview.views.arguments import check_count, generator

# More anchors than a row in six let the codes fit noise (measured on small data).
ROWS_PER_ANCHOR = 6
# Rows of the first principal components, rounds of centroids and labels in an
# iteration, and steps of balance in a round: the authors' program.
PCA_ROWS = 1000
N_ASSIGN = 10
N_BALANCE = 3


@dataclass(eq=False, repr=False, kw_only=True)
class BMVC(ComparedMethod):
    """Binary multi-view clustering.

    Every view becomes centred RBF features Φ_v (n_samples, m) of its distances to m
    drawn rows. They are projected by U_v (m, L) towards common codes
    B ∈ {-1, 1} (n_samples, L), which are clustered by binary centroids
    C ∈ {-1, 1} (c, L) with labels G::

        min  Σ_v a_v^r ( ‖B - Φ_vU_v‖² + β ‖U_v‖² - γ ‖Φ_vU_v‖² ) + λ ‖B - GC‖²
        s.t. Σ_v a_v = 1, bits of every centroid balanced (weight ρ).

    One iteration, h_v being the bracket::

        U_v = ((1-γ) Φ_v'Φ_v + β I)⁻¹ Φ_v'B,
        B = sign( Σ_v a_v^r Φ_vU_v + λ GC ),
        ten times: S_j = Σ_{g_i=j} b_i, C = sign(S),
                   three times C ← sign(C + (S - ρ C11')/μ),
                   g_i = centroid at the smallest Hamming distance,
        a_v ∝ h_v^{1/(1-r)}.

    B starts from the signs of the leading principal components, C from drawn codes.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    n_bits : int
        L, length of the codes.
    r : float
        Above 1; the larger, the more equal the view weights.
    beta : float
        β > 0, weight of the ridge on the projections.
    gamma : float
        0 ≤ γ < 1, weight of the spread of the projected features.
    cluster_weight : float
        λ, how closely the codes follow their centroids. These five defaults are those
        of the authors' program.
    rho, mu : float
        Weight and step of the balance of the centroids' bits; with ``rho=0`` every
        iteration is a descent.
    n_anchors : int
        m; at most a sixth of the rows, for more of them let the codes fit noise.
    init_view : int or None
        View whose principal components start the codes. The authors name one by hand
        per data set, and much hangs on it; None takes all views side by side, a rule
        without labels, or with ``protocol="authors"`` the first view.
    max_iter : int
        Number of iterations.
    n_init : int
        Number of k-means starts, on the first codes; the one of lowest ‖B - GC‖² is
        kept. The authors draw once.
    protocol : {"manyview", "authors"}
        "authors" starts from the codes of one view (`init_view`) and from centroids
        drawn once (`n_init` has no say), as the authors' program does; "manyview"
        from the codes of all views, unless `init_view` names one, and from the best
        of `n_init` searches.
    random_state : int, numpy.random.Generator or None
        Seed of anchors, principal components and first centroids.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    embedding_ : array (n_samples, n_bits) of int8
        B.
    centroids_ : array (n_clusters, n_bits) of int8
        C.
    view_weights_ : array (n_views,)
        a_v.
    objective_ : list of float
        The objective after every iteration.
    n_iter_ : int
        Number of iterations.

    Notes
    -----
    Features are taken as they are, without scaling. A cluster without rows keeps its
    centroid. The same rows in another order get the same labels. Memory: n_views *
    n_samples * m numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.baselines import BMVC
    >>> x = np.repeat([[0.0], [9.0]], 20, axis=0) + np.linspace(0, 1, 40)[:, None]
    >>> labels = BMVC(n_clusters=2, random_state=0).fit_predict([x, x**2])
    >>> len(set(labels[:20])), len(set(labels[20:]))
    (1, 1)
    """

    citation: ClassVar[str] = (
        "Z. Zhang, L. Liu, F. Shen, H. T. Shen, L. Shao, Binary multi-view clustering, "
        "IEEE Transactions on Pattern Analysis and Machine Intelligence, 2019."
    )
    skipped_checks: ClassVar[dict[str, str]] = {
        "check_views_permuted": "anchors and random bits are drawn view after view: "
        "another order of the views is another seed"
    }

    n_bits: int = 128
    r: float = 5.0
    beta: float = 3e-3
    gamma: float = 1e-2
    cluster_weight: float = 1e-5
    rho: float = 1e-3
    mu: float = 1e-2
    n_anchors: int = 1000
    init_view: int | None = None
    max_iter: int = 7
    n_init: int = 10
    protocol: Protocol = "manyview"

    def fit(self, X: Any, y: Any = None) -> Self:
        self._check_settings()
        views = self._views_to_fit(X, y)
        first = self._first_views()
        rng = generator(self.random_state)
        Xs, order = content_ordered(views, rng)
        n_anchors = min(self.n_anchors, max(1, len(order) // ROWS_PER_ANCHOR))
        self._maps = [feature_map(x, n_anchors, rng) for x in Xs]
        # One view at a time: the RBF features are the largest thing in memory.
        Phis = [centred_features(Xs.pop(0), m) for m in self._maps]
        B = first_codes([Phis[v] for v in first], self.n_bits, rng)
        factors = [factor(Phi, self.beta, self.gamma) for Phi in Phis]
        C, G = first_clusters(B, self, rng)
        now = State([], B, C, G, np.full(len(Phis), 1 / len(Phis)))
        self.objective_: list[float] = []
        for _ in range(self.max_iter):
            now, loss = iterate(Phis, factors, now, self)
            self.objective_.append(loss)
        self.n_iter_ = self.max_iter
        self.view_weights_ = now.a
        self.embedding_ = restored(now.B.astype(np.int8), order)
        self.centroids_ = now.C.astype(np.int8)
        self._Us = now.Us
        return self._store_labels(restored(now.G, order))

    def predict(self, X: Any) -> IntArray:
        """Nearest centroid (n_samples,) of the code of every row of `X`."""
        Xs = dense_views(self._views_to_predict(X), self._Us[0].dtype)
        parts = zip(Xs, self._maps, self._Us, strict=True)
        codes = [centred_features(x, m) @ U for x, m, U in parts]
        B = signs(_mix(codes, self.view_weights_**self.r), tie=-1)
        return nearest_centroid(B, self.centroids_.astype(B.dtype))

    def _check_settings(self) -> None:
        check_parameters(self)
        if self.r <= 1 or self.beta == 0 or self.gamma >= 1 or self.mu == 0:
            raise InputError(
                "BMVC needs r > 1, beta > 0, gamma < 1 and mu > 0; got "
                f"r={self.r}, beta={self.beta}, gamma={self.gamma}, mu={self.mu}."
            )

    def _first_views(self) -> list[int]:
        if self.init_view is None:
            return [0] if self.protocol == "authors" else list(range(self.n_views_))
        check_count(self.init_view, "init_view", least=0)
        if self.init_view >= self.n_views_:
            raise InputError(
                f"init_view={self.init_view} names no view: there are {self.n_views_}, "
                "counted from 0."
            )
        return [self.init_view]


class State(NamedTuple):
    """U_v (m, L), B (n_samples, L), C (c, L), G (n_samples,) and a (n_views,)."""

    Us: list[FloatArray]
    B: FloatArray
    C: FloatArray
    G: IntArray
    a: FloatArray


def first_codes(
    Phis: list[FloatArray], n_bits: int, rng: np.random.Generator
) -> FloatArray:
    """Signs of the leading principal components, measured on drawn rows.

    Random directions make up for components that the rows do not have.
    """
    n_samples, dtype = len(Phis[0]), Phis[0].dtype
    drawn = rng.choice(n_samples, min(n_samples, PCA_ROWS), replace=False)
    sample = np.concatenate([Phi[drawn] for Phi in Phis], axis=1, dtype=np.float64)
    sample -= sample.mean(axis=0)
    s2, Q = eigh(sample @ sample.T, n_bits)
    P = sample.T @ Q[:, s2 > 1e-10 * max(s2[-1], 1e-300)][:, ::-1]
    extra = rng.normal(size=(P.shape[0], n_bits - P.shape[1]))
    directions = np.concatenate([P, extra], axis=1).astype(dtype)
    edges = np.cumsum([Phi.shape[1] for Phi in Phis])[:-1]
    parts = zip(Phis, np.split(directions, edges), strict=True)
    return signs(sum(Phi @ D for Phi, D in parts), tie=-1)


def first_clusters(
    B: FloatArray, model: BMVC, rng: np.random.Generator
) -> tuple[FloatArray, IntArray]:
    """Centroids and labels of the draw that ends with the smallest ‖B - GC‖².

    The authors take the first draw as it is.
    """
    c, runs = model.n_clusters, []
    if model.protocol == "authors":
        drawn = B[rng.choice(len(B), c, replace=False)]
        return drawn, nearest_centroid(B, drawn)
    for _ in range(model.n_init):
        drawn = B[rng.choice(len(B), c, replace=False)]
        runs.append(cluster_codes(B, drawn, nearest_centroid(B, drawn), model))
    # ‖B - GC‖² is a constant less twice the agreement of codes and centroids.
    return max(runs, key=lambda run: float(np.vdot(index_sum(B, run[1], c), run[0])))


def factor(Phi: FloatArray, beta: float, gamma: float) -> Any:
    """Cholesky factor of (1-γ) Φ'Φ + β I, in float64."""
    m = Phi.shape[1]
    total = np.zeros((m, m))
    for rows in gen_batches(len(Phi), BLOCK_ROWS):
        total += block_gram(Phi[rows])[0]
    gram = (1 - gamma) * centred_gram(total, np.zeros(m), 1.0)
    return cho_factor(gram + beta * np.eye(m), lower=True, overwrite_a=True)


def iterate(
    Phis: list[FloatArray], factors: list[Any], now: State, model: BMVC
) -> tuple[State, float]:
    """One round of all updates, and the objective after it."""
    Us = [
        cho_solve(f, Phi.T @ now.B).astype(Phi.dtype)
        for f, Phi in zip(factors, Phis, strict=True)
    ]
    codes = [Phi @ U for Phi, U in zip(Phis, Us, strict=True)]
    centre = np.asarray(model.cluster_weight, now.B.dtype) * now.C[now.G]
    B = signs(_mix(codes, now.a**model.r) + centre, tie=-1)
    C, G = cluster_codes(B, now.C, now.G, model)
    h = np.array([view_loss(B, R, U, model) for R, U in zip(codes, Us, strict=True)])
    a = view_weights(h, model.r)
    loss = float(a**model.r @ h) + model.cluster_weight * float(np.sum((B - C[G]) ** 2))
    return State(Us, B, C, G, a), loss


def cluster_codes(
    B: FloatArray, C: FloatArray, G: IntArray, model: BMVC
) -> tuple[FloatArray, IntArray]:
    """Alternate balanced binary centroids and nearest-centroid labels."""
    for _ in range(N_ASSIGN):
        S = index_sum(B, G, len(C))
        filled = np.bincount(G, minlength=len(C)) > 0
        new = signs(S, tie=1)
        for _ in range(N_BALANCE):
            lean = new.sum(axis=1, keepdims=True)
            new = signs(new + (S - model.rho * lean) / model.mu, tie=1)
        C = np.where(filled[:, None], new, C)
        G = nearest_centroid(B, C)
    return C, G


def nearest_centroid(B: FloatArray, C: FloatArray) -> IntArray:
    """Smallest Hamming distance, that is the largest inner product."""
    return np.asarray(np.argmax(B @ C.T, axis=1), dtype=np.intp)


def view_loss(B: FloatArray, R: FloatArray, U: FloatArray, model: BMVC) -> float:
    """h_v = ‖B - R‖² - γ ‖R‖² + β ‖U‖², R = Φ_vU_v; kept above 0 for the weights."""
    fit = float(np.sum((B - R) ** 2)) - model.gamma * float(np.sum(R**2))
    return max(fit + model.beta * float(np.sum(U**2)), 1e-12 * B.size)


def view_weights(h: FloatArray, r: float) -> FloatArray:
    """a_v ∝ h_v^{1/(1-r)}, the minimiser of Σ a_v^r h_v on Σ a_v = 1."""
    power = np.log(h) / (1 - r)
    a = np.exp(power - power.max())
    return np.asarray(a / a.sum())


def signs(M: FloatArray, tie: int) -> FloatArray:
    """-1 or 1 by the sign of every entry, `tie` for zeros."""
    up = M >= 0 if tie > 0 else M > 0
    return np.asarray(np.where(up, 1, -1), dtype=M.dtype)


def _mix(codes: list[FloatArray], shares: FloatArray) -> FloatArray:
    """Σ_v a_v^r Φ_vU_v in the dtype of the codes."""
    pairs = zip(shares.astype(codes[0].dtype), codes, strict=True)
    return np.asarray(sum(share * R for share, R in pairs))
