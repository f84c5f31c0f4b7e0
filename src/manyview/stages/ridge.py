"""Ridge fit of an embedding on anchor features, eq. (11–12), from small matrices.

U = (PhiᵀPhi + lam I)⁻¹ PhiᵀB with centred features Phi. Blocks only ever hold
plain features; their mean is taken out of the small matrices. Grams are summed
and factored in float64: in float32 they lose positive definiteness well before
a million rows, unless a centre is taken off first (`quick_centre`). Where most
directions are shrunk away, the features are replaced by their leading orthonormal
combinations Psi = Phi E S^(−1/2), and Phi U = Psi diag(s/(s+lam)) PsiᵀB.

Which weight predicts rows that were not fitted best is told without fitting twice, by
generalised cross-validation: with H the matrix that turns B into its fit, n rows and
‖B‖² about the mean,

    GCV(lam) = ‖B − H B‖² / (1 − tr H / n)²,    R² = 1 − GCV / ‖B‖².

R² also says how much of B the view can explain at all.
"""

import math
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
import scipy.linalg
from array_api_compat import is_numpy_array, is_torch_array

from manyview.arrays import linear, ops
from manyview.arrays.ops import Array, Matrix, namespace
from manyview.engine.threads import at_once, side_by_side

# Below this share of the largest, an eigenvalue of a float64 Gram is rounding.
FLOOR = 1e-14
# Products of a Gram on a device: four panels do five eighths of the full product.
PANELS = 4
# Of the ridge weight: no more than float32 features bring into their Gram anyway.
MOST_ROUNDING = 0.02
# Columns whose products show how large the errors are: thousands of them.
ERROR_COLUMNS = 64
# Weights to choose from, in units of the mean eigenvalue of the Gram: neither rows
# nor anchors change them. Beyond 1 nothing is left of the fit.
SHARES = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# A view that explains nothing still speaks a little, or a round would ignore it.
LEAST_EXPLAINED = 0.02
# Below this share of free rows the cross-validation divides by rounding.
LEAST_FREE = 0.05


class Gram(NamedTuple):
    """Gram (m, m) of one view's centred features, and the mean (m,) taken out."""

    matrix: Array
    mean: Array


class Weighed(NamedTuple):
    """A Gram on the host with a ridge weight: another weight costs nothing."""

    gram: linear.Tridiagonal
    lam: float


class Factored(NamedTuple):
    """The Cholesky factor of a Gram on the host with the one weight it is for."""

    lower: Matrix


class Ridge(NamedTuple):
    """The factored Gram of one view's centred features.

    Attributes
    ----------
    reduce : array (m, rank) or None
        Turns Phi into Psi; None when Phi itself is kept.
    factor : Factored, Weighed, array (m, m) or (rank,)
        The Gram with lam, the inverse of the two (on a device, or where only some
        directions remain), or the shrinkages s/(s+lam).
    mean : array (m,) or (rank,)
        Mean of the kept features (0 for Psi, which is centred as it is made).
    gram : array (m, m)
        The centred Gram.
    """

    reduce: Array | None
    factor: Factored | Weighed | Array
    mean: Array
    gram: Array


def block_gram(phi: Array, *, exact: bool = True) -> tuple[Array, Array]:
    """Lower triangle of PhiᵀPhi, and Phi's column sums, in float64.

    What stands above the triangle means nothing. Without `exact` a block of float32
    rows is multiplied in float32: enough where the ridge weight is a share of the
    Gram itself, or rows are about a centre.
    """
    # NumPy sees that both factors are one array, halves the work and lets other
    # threads run meanwhile; scipy's own syrk holds the interpreter's lock.
    if is_numpy_array(phi) and phi.dtype == np.float32 and not exact:
        ones = np.ones(len(phi), np.float32)
        return phi.T @ phi, (ones @ phi).astype(np.float64)
    wide = ops.in_float64(phi)
    # A product: adding up columns in float64 takes a device three times as long.
    sums = namespace(wide).ones_like(wide[:, 0]) @ wide
    if not is_torch_array(wide):
        return wide.T @ wide, sums
    size = wide.shape[1]
    gram = wide.new_zeros((size, size))
    step = -(-size // PANELS)
    for first in range(0, size, step):
        panel = slice(first, first + step)
        gram[first:, panel] = wide[:, first:].T @ wide[:, panel]
    return gram, sums


def quick_centre(some: Array, lam: float | None, n_samples: int) -> Array | None:
    """What to take off the features so that their Gram may be float32, or None.

    Most of a feature is its mean, and so is most of the rounding: without it the
    errors are a thousandth. `some` rows show how large they are against `lam`.
    """
    if not is_numpy_array(some) or some.dtype != np.float32:
        return None
    centre = some.mean(axis=0, dtype=np.float64).astype(np.float32)
    if lam is None or _rounding(some - centre, n_samples) <= MOST_ROUNDING * lam:
        return centre
    return None


def _rounding(some: Array, n_samples: int) -> float:
    """Norm of the error of a float32 Gram of many such rows.

    Errors of blocks are independent: they grow with the root of the number of rows.
    A symmetric matrix of independent errors has the norm 2 √m times their size, which
    a few of its rows show.
    """
    few = some[:, :ERROR_COLUMNS]
    error = ops.in_float64(few).T @ ops.in_float64(some) - few.T @ some
    size = float(np.linalg.norm(error)) / math.sqrt(max(error.size, 1))
    blocks = n_samples / max(len(some), 1)
    return 2.0 * size * math.sqrt(some.shape[1] * blocks)


def centred_gram(total: Array, sums: Array, count: float) -> Array:
    """Gram of the centred features from the lower triangle of the plain one."""
    return linear.mirrored(total) - sums[:, None] * (sums / max(count, 1.0))[None, :]


def mean_eigenvalue(gram: Array) -> float:
    """The mean eigenvalue of a Gram: its trace over its size."""
    return float(gram.diagonal().sum()) / len(gram)


def factor_gram(
    gram: Array, mean: Array, lam: float, rank_tol: float, *, reduces: bool = True
) -> Ridge:
    """Choose between Psi (few directions matter) and Phi with its full factor.

    A direction of eigenvalue s may go only where its shrinkage s/(s+lam) is
    below `rank_tol`, or s is rounding: a cut relative to the largest s alone
    changes the labels. More than half of the directions left: keep Phi. Without
    `reduces` Phi is kept as well, with the factor of the directions that remain.
    On a device all remain: to find the directions takes longer than they save. Where
    none may go (a `rank_tol` of 0) nobody asks for the eigenvalues.
    """
    if not is_numpy_array(gram):
        return Ridge(None, _inverse(gram, lam), mean, gram)
    if rank_tol > 0:
        found = linear.tridiagonal(gram)
        if 2 * _kept(found.values, lam, rank_tol).sum() <= len(gram):
            return _reduced_ridge(gram, mean, lam, rank_tol, reduces)
    if not _is_safe(gram, lam):
        return Ridge(None, _inverse_by_eigenvectors(gram, lam), mean, gram)
    if rank_tol > 0:
        return Ridge(None, Weighed(found, lam), mean, gram)
    # By NumPy: SciPy's holds the interpreter's lock, and other views would wait.
    lower = np.linalg.cholesky(linear.plus_diagonal(gram, lam))
    return Ridge(None, Factored(lower), mean, gram)


def _kept(values: Array, lam: float, rank_tol: float) -> Array:
    """Which directions matter, from their (ascending) eigenvalues."""
    return (values > FLOOR * values[-1]) & (values >= rank_tol * (values + lam))


def _reduced_ridge(
    gram: Array, mean: Array, lam: float, rank_tol: float, reduces: bool
) -> Ridge:
    """The few directions that matter, in Psi or (without `reduces`) in the factor."""
    values, vectors = linear.eigh(gram)
    keep = _kept(values, lam, rank_tol)
    s = values[keep]
    reduce = vectors[:, keep] / s**0.5
    if not reduces:
        return Ridge(None, (reduce * (s / (s + lam))) @ reduce.T, mean, gram)
    return Ridge(reduce, s / (s + lam), np.zeros_like(s), gram)


def _is_safe(gram: Array, lam: float) -> bool:
    """Is the Gram plus lam positive definite in spite of rounding?"""
    return lam > FLOOR * float(gram.diagonal().sum())


def _inverse(gram: Array, lam: float) -> Array:
    """(gram + lam I)⁻¹ on the directions that are more than rounding."""
    found = None
    if _is_safe(gram, lam):
        found = linear.inverse_by_cholesky(linear.plus_diagonal(gram, lam))
    return _inverse_by_eigenvectors(gram, lam) if found is None else found


def _inverse_by_eigenvectors(gram: Array, lam: float) -> Array:
    """(gram + lam I)⁻¹ on the directions that are more than rounding."""
    xp = namespace(gram)
    values, vectors = linear.eigh(gram)
    real = values > FLOOR * values[-1]
    one = xp.ones_like(values)
    shrunk = xp.where(real, one / xp.where(real, values + lam, one), 0.0 * one)
    return (vectors * shrunk) @ vectors.T


def reweighed(ridge: Ridge, lam: float) -> Ridge:
    """The same kept features with another ridge weight."""
    if isinstance(ridge.factor, Weighed) and _is_safe(ridge.gram, lam):
        return ridge._replace(factor=ridge.factor._replace(lam=lam))
    if ridge.reduce is None:
        return ridge._replace(factor=_inverse(ridge.gram, lam))
    # The columns of `reduce` are eigenvectors divided by the root of their value.
    s = 1.0 / (ridge.reduce**2).sum(axis=0)
    return ridge._replace(factor=s / (s + lam))


def reduced(phi: Array, mean: Array, reduce: Array) -> Array:
    """Psi of a block: the centred features in orthonormal directions."""
    return phi @ reduce - mean @ reduce


def solve(ridge: Ridge, products: Array) -> Array:
    """Coefficients of the kept features: U, or diag(s/(s+lam)) P."""
    if isinstance(ridge.factor, Factored):
        # Its transpose lies column by column, as LAPACK has it: nothing is copied.
        upper = (ridge.factor.lower.T, False)
        return scipy.linalg.cho_solve(upper, products, check_finite=False)
    if isinstance(ridge.factor, Weighed):
        gram, lam = ridge.factor
        inside = linear.solve_shifted(gram, lam, linear.turned(gram, products))
        return linear.turned(gram, inside, back=True)
    if ridge.reduce is None:
        return ridge.factor @ products
    return ridge.factor[:, None] * products


def solve_all(ridges: tuple[Ridge, ...], products: list[Array]) -> list[Array]:
    """`solve` of every view."""
    jobs = [partial(solve, *pair) for pair in zip(ridges, products, strict=True)]
    return side_by_side(jobs) if is_numpy_array(products[0]) else [j() for j in jobs]


def centred_products(ridge: Ridge, products: Array, sums: Array) -> Array:
    """PhiᵀB of centred features from the plain products and the sum of B's rows."""
    return products - ridge.mean[:, None] * sums[None, :]


def express(ridge: Ridge, weights: Array) -> Array:
    """Weights of the centred features in terms of the kept ones."""
    if ridge.reduce is None:
        return weights
    return ridge.reduce.T @ (ridge.gram @ weights)


def start_products(ridge: Ridge, weights: Array) -> Array:
    """Products of the kept features with B = Phi W (or Psi W), without a pass."""
    # The columns of Psi are orthonormal, so their Gram is the identity.
    return ridge.gram @ weights if ridge.reduce is None else weights


def principal_directions(made: Ridge, n_largest: int) -> Array:
    """Leading directions of the centred features, as weights of the kept ones.

    Of Psi their sizes are given back, so that the rows are as long as in Phi.
    """
    size = len(made.mean)
    if made.reduce is not None:
        length = 1.0 / np.linalg.norm(made.reduce, axis=0)
        return np.diag(length)[:, ::-1][:, :n_largest]
    if isinstance(made.factor, Weighed):
        return linear.leading_vectors(made.factor.gram, min(n_largest, size))
    return linear.leading(made.gram, n_largest)[1]


class Target(NamedTuple):
    """What is to be predicted, B, as its view sees it.

    Attributes
    ----------
    products : array (m, k) or (rank, k)
        Centred features times B.
    square : float
        ‖B‖² about the mean of its rows.
    n_rows : float
    """

    products: Array
    square: float
    n_rows: float


def choose_weights(
    ridges: tuple[Ridge, ...], targets: list[Target]
) -> tuple[tuple[Ridge, ...], np.ndarray[Any, Any]]:
    """`choose_weight` of every view."""
    pairs = list(zip(ridges, targets, strict=True))
    found = at_once(lambda pair: choose_weight(*pair), pairs, ridges[0].gram)
    chosen, explained = zip(*found, strict=True)
    return chosen, np.asarray(explained)


def choose_weight(made: Ridge, target: Target) -> tuple[Ridge, float]:
    """The ridge of the least GCV, and its R² (never quite 0).

    Examples
    --------
    >>> import numpy as np
    >>> from manyview.stages import ridge
    >>> from manyview.stages.ridge import Target, choose_weight
    >>> x = np.random.default_rng(0).normal(size=(50, 3))
    >>> x -= x.mean(axis=0)
    >>> y = x @ np.ones((3, 1))
    >>> plain = ridge.factor_gram(x.T @ x, np.zeros(3), 1.0, 0.0)
    >>> _, explained = choose_weight(plain, Target(x.T @ y, float((y * y).sum()), 50))
    >>> explained > 0.99
    True
    """
    mean_value = mean_eigenvalue(made.gram)
    if mean_value <= 0 or target.square <= 0:
        return made, LEAST_EXPLAINED
    best, least = made, float("inf")
    lams = [share * mean_value for share in SHARES]
    for other, error in with_weights(made, lams, target):
        if error < least:
            best, least = other, error
    return best, max(1.0 - least / target.square, LEAST_EXPLAINED)


def with_weights(
    made: Ridge, lams: list[float], target: Target
) -> Iterator[tuple[Ridge, float]]:
    """The ridge with each of the weights, and its GCV."""
    if not isinstance(made.factor, Weighed):
        for lam in lams:
            other = reweighed(made, lam)
            yield other, _validation_error(other, lam, target)
        return
    # Lengths alone count: nothing needs to be turned back.
    gram = made.factor.gram
    P = linear.turned(gram, target.products)
    for lam in lams:
        U = linear.solve_shifted(gram, lam, P)
        fitted = float((gram.values / (gram.values + lam)).sum())
        gain = float((U * (P + lam * U)).sum())
        yield reweighed(made, lam), _error(gain, fitted, target)


def _validation_error(made: Ridge, lam: float, target: Target) -> float:
    """GCV of a ridge factored with this weight."""
    U, factor = solve(made, target.products), cast(Array, made.factor)
    if made.reduce is None:
        # PhiᵀPhi U = P − lam U: the residual needs no second product.
        gain = float((U * (target.products + lam * U)).sum())
        fitted = len(made.gram) - lam * float(factor.diagonal().sum())
    else:
        gain = float((U * (2.0 * target.products - U)).sum())
        fitted = float(factor.sum())
    return _error(gain, fitted, target)


def _error(gain: float, fitted: float, target: Target) -> float:
    """GCV from ‖B‖² − ‖B − H B‖² and the trace of H."""
    free = max(1.0 - fitted / max(target.n_rows, 1.0), LEAST_FREE)
    return max(target.square - gain, 0.0) / free**2
