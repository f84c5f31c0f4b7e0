"""ADMM for unit rows = graph x anchors + sparse rows, the graph's fold of low rank.

The fold cuts the row index into runs of consecutive rows. Rows are swept in blocks
that stay in cache; besides the data only one array of its size is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh
from sklearn.utils import gen_batches

from manyview.base import FloatArray
from manyview.baselines.parts.procrustes import polar

# The residual that ends the rounds, and the first penalties of the fold and of the
# data, doubled every round up to a cap: the authors' public drivers.
TOLERANCE = 1e-6
MU_TENSOR, MU_DATA, MU_CAP = 1e-3, 5e-4, 1e11
# Entries of a block of rows: 2 MB, which stay in cache through a sweep.
SWEEP_ENTRIES = 250_000


class Decomposition(NamedTuple):
    """Result of `admm`."""

    As: list[FloatArray]
    Zs: list[FloatArray]
    objective: float
    residuals: list[tuple[float, float]]


class Residual(NamedTuple):
    """``R_v`` and the share of each row that is ``Lam_v / mu2``; the rest is E_v.

    Neither E nor Lam is ever stored.
    """

    R: FloatArray
    kept: FloatArray


def admm(
    arrays: list[FloatArray],
    fold: tuple[int, int],
    *,
    n_anchors: int,
    rank: int,
    lam: float,
    max_iter: int,
) -> Decomposition:
    """The iteration of `SMERAMVC` on unit rows; everything starts at zero."""
    n_samples = len(arrays[0])
    Z = np.zeros((len(arrays), n_samples, n_anchors))
    Y, Gam = np.zeros_like(Z), np.zeros_like(Z)
    left = [Residual(np.zeros_like(X), np.ones(n_samples, X.dtype)) for X in arrays]
    As = [np.empty(0)] * len(arrays)
    mu1, mu2, shrunk = MU_TENSOR, MU_DATA, 1.0
    residuals: list[tuple[float, float]] = []
    for _ in range(max_iter):
        gap = 0.0
        for v, X in enumerate(arrays):
            As[v] = polar(anchor_target(X, left[v], Z[v], shrunk))
            pull = (mu1 * Y[v] - Gam[v]) / mu2
            moved = sweep(X, left[v], Z[v], As[v], pull, (mu1, mu2, shrunk), lam)
            gap = max(gap, moved)
        Y = low_rank_fold(Z + Gam / mu1, fold, rank)
        Gam += mu1 * (Z - Y)
        residuals.append((gap, float(np.abs(Z - Y).max())))
        if max(residuals[-1]) < TOLERANCE:
            break
        shrunk = mu2 / min(2 * mu2, MU_CAP)
        mu1, mu2 = min(2 * mu1, MU_CAP), min(2 * mu2, MU_CAP)
    return Decomposition(As, list(Z), lam * _length_sum(left), residuals)


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


def _length_sum(left: list[Residual]) -> float:
    """``Σ_v || E_v ||_{2,1}``."""
    return float(sum(((1 - r.kept) * np.linalg.norm(r.R, axis=1)).sum() for r in left))


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
    p = M.shape[1]
    first = max(0, p - rank)
    _, Q = eigh(M.T @ M, subset_by_index=[first, p - 1], check_finite=False)
    return np.asarray((M @ Q) @ Q.T)
