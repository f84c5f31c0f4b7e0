"""LMTC: linear-kernel spectral embeddings tied together across views by a tensor."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from sklearn.utils.extmath import randomized_svd

from manyview.arrays.ops import unit_rows
from manyview.base import FloatArray
from manyview.baselines.parts.embedding_kmeans import Protocol, cluster_rows
from manyview.baselines.parts.in_memory import restored
from manyview.baselines.parts.parameters import ComparedMethod
from manyview.baselines.parts.procrustes import polar
from manyview.baselines.parts.standardise import scaled
from manyview.views.arguments import child_seed

# First step of the multipliers, doubled every round: the authors' program.
FIRST_RHO = 1e-4


@dataclass(eq=False, repr=False, kw_only=True)
class LMTC(ComparedMethod):
    """Large-scale multi-view tensor clustering with implicit linear kernels.

    Every view X_v (n_samples, d_v) gets a spectral embedding H_v (n_samples, k),
    k = n_clusters, of its linear kernel, and the embeddings agree through the t-SVD
    nuclear norm of the stack H (n_samples, k, n_views), its Fourier transform taken
    along the *views*, so that the order of the rows plays no part:

        max  Σ_v tr(H_v'X_v X_v'H_v) - λ ‖H‖_⊛    s.t. H_v'H_v = I.

    With a copy G of H and multipliers W, both 0 at first, and a step ρ that doubles
    from 1e-4:

        H_v = polar( X_v(X_v'H_v) + ρ G_v + W_v ),
        G = F⁻¹ shrink_τ( F(H - W/ρ) ),   τ = λ/ρ,
        W ← W + ρ (G - H),

    where F is the discrete Fourier transform along the views and shrink lowers the
    singular values of every (n_samples, k) slice by τ, at most to 0. Labels are
    k-means on the unit rows of [H_1 … H_V]. k is lowered to the number of features of
    all views, or of samples, where that is smaller. The same rows in another order get
    the same labels.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    tensor_weight : float
        λ, how strongly the views are tied.
    scaling : {"unit", "standard", "sample", None}
        The paper's rows of length 1; z-scores per feature, the safer choice for
        features of unlike units; z-scores per sample; or the features as given. None
        of them scores highest on all data.
    norm : {"mean", "sum"}
        Whether the tensor norm is the mean of the slices' nuclear norms, τ = λ/ρ as
        the authors' program has it, or their sum, τ = V λ/ρ as the paper prints.
    max_iter : int
        Most iterations.
    tol : float
        Stop when no entry of H and G differs by more.
    n_init : int
        Number of k-means starts; the one of lowest inertia is kept.
    protocol : {"manyview", "authors"}
        "authors" keeps a slip of the authors' program, whose loop over the frequencies
        rounds up for an odd number of views and shrinks one pair of slices twice, and
        starts k-means from any rows, as it does. "manyview" shrinks every slice once
        and starts k-means from rows far from each other.
    random_state : int, numpy.random.Generator or None
        Seed of the first singular vectors and of k-means.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    embedding_ : array (n_samples, n_views * k)
        The unit rows that k-means saw.
    residuals_ : list of float
        Largest entry of ``|H - G|`` after every iteration.
    n_iter_ : int
        Number of iterations.

    Examples
    --------
    >>> from manyview.baselines import LMTC
    >>> views = [[[4, 1], [5, 1], [1, 6], [1, 7]], [[3, 2], [4, 3], [1, 9], [1, 8]]]
    >>> labels = LMTC(n_clusters=2, random_state=0).fit_predict(views)
    >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
    True
    """

    citation: ClassVar[str] = (
        "J. Liu, X. Liu, C. Li, X. Wan, H. Tan, Y. Zhang, W. Liang, Q. Qu, Y. Feng, "
        "R. Guan, K. Liang, Large-scale multi-view tensor clustering with implicit "
        "linear kernels, CVPR 2025."
    )

    tensor_weight: float = 1.0
    scaling: Literal["unit", "standard", "sample", None] = "unit"
    norm: Literal["mean", "sum"] = "mean"
    max_iter: int = 50
    tol: float = 1e-6
    n_init: int = 10
    protocol: Protocol = "manyview"

    def fit(self, X: Any, y: Any = None) -> Self:
        Xs, order, rng = self._ordered(X, y)
        Xs = [scaled(x, self.scaling) for x in Xs]
        H = self._embed(Xs, rng)
        E = unit_rows(H.transpose(0, 2, 1).reshape(len(H), -1))
        labels = cluster_rows(E, self.n_clusters, self.n_init, rng, self.protocol)
        self.embedding_ = restored(E, order)
        self.n_iter_ = len(self.residuals_)
        return self._store_labels(restored(labels, order))

    def _embed(self, Xs: list[FloatArray], rng: np.random.Generator) -> FloatArray:
        now = start(Xs, self.n_clusters, child_seed(rng))
        lam = self.tensor_weight * (len(Xs) if self.norm == "sum" else 1)
        # The slice that an odd number of views makes the authors shrink twice.
        slipped = self.protocol == "authors" and len(Xs) % 2 == 1 and len(Xs) > 1
        rho = FIRST_RHO
        self.residuals_: list[float] = []
        for _ in range(self.max_iter):
            now = iterate(Xs, now, lam, rho, last_twice=slipped)
            self.residuals_.append(float(np.abs(now.H - now.G).max()))
            if self.residuals_[-1] < self.tol:
                break
            rho *= 2
        return now.H


class Stack(NamedTuple):
    """H, its low-rank copy G and the multipliers W, each (n_samples, k, n_views)."""

    H: FloatArray
    G: FloatArray
    W: FloatArray


def start(Xs: list[FloatArray], n_clusters: int, seed: int) -> Stack:
    """All H_v the leading left singular vectors of the views side by side, G = 0."""
    side_by_side = np.concatenate(Xs, axis=1)
    k = min(n_clusters, *side_by_side.shape)
    U, _, _ = randomized_svd(side_by_side, k, random_state=seed)
    H = np.repeat(polar(U)[:, :, None], len(Xs), axis=2).astype(Xs[0].dtype)
    return Stack(H, np.zeros_like(H), np.zeros_like(H))


def iterate(
    Xs: list[FloatArray],
    now: Stack,
    lam: float,
    rho: float,
    *,
    last_twice: bool = False,
) -> Stack:
    """One round of the three updates."""
    H = np.empty_like(now.H)
    for v, x in enumerate(Xs):
        pull = rho * now.G[:, :, v] + now.W[:, :, v]
        H[:, :, v] = polar(x @ (x.T @ now.H[:, :, v]) + pull)
    G = shrink_stack(H - now.W / rho, lam / rho, last_twice=last_twice)
    return Stack(H, G, now.W + rho * (G - H))


def shrink_stack(
    T: FloatArray, threshold: float, *, last_twice: bool = False
) -> FloatArray:
    """Lower the singular values of every Fourier slice of T (n_samples, k, n_views).

    That minimises ``threshold / n_views Σ_f ‖Ĝ_f‖_* + ½ ‖G - T‖²`` over G, unless
    the slice of the highest frequency is lowered twice.
    """
    slices = np.fft.rfft(T, axis=2).astype(np.result_type(T.dtype, np.complex64))
    for f in range(slices.shape[2]):
        slices[:, :, f] = shrink(slices[:, :, f], threshold)
    if last_twice:
        slices[:, :, -1] = shrink(slices[:, :, -1], threshold)
    return np.fft.irfft(slices, n=T.shape[2], axis=2).astype(T.dtype)


def shrink(M: FloatArray, threshold: float) -> FloatArray:
    """Singular values lowered by `threshold`, at most to 0, by a k x k eigenproblem.

    A thin SVD of M would cost several times as much; the error of small singular
    values that the Gram matrix brings scales directions that hardly count.
    """
    s2, Q = np.linalg.eigh((M.conj().T @ M).astype(np.complex128))
    s = np.sqrt(np.maximum(s2, 0))
    kept = s > threshold
    factor = np.where(kept, 1 - threshold / np.where(kept, s, 1), 0)
    return np.asarray(M @ ((Q * factor) @ Q.conj().T).astype(M.dtype))
