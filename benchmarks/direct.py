"""The yardstick: the paper's Algorithm 3 written down directly, float64 and FFT.

Every array of the paper is there in full; nothing is blocked, reduced or shared.
Rows are samples. Start weights and anchors are given, so that the library and
this file solve the same problem.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft
import scipy.linalg

Matrix = np.ndarray[Any, Any]


def direct_s2mvtc(
    views: list[Matrix],
    anchors: list[Matrix],
    starts: list[Matrix],
    rows: Matrix,
    *,
    n_low: int,
    lam: float,
    beta: float,
    growth: float,
    max_iter: int,
) -> Matrix:
    """Labels (n,) of the rows; `rows` of the first B_bar label them at first."""
    Xs = [np.asarray(x, dtype=np.float64) for x in views]
    Phis = [features(x, a) for x, a in zip(Xs, anchors, strict=True)]
    Bs = [phi @ w for phi, w in zip(Phis, starts, strict=True)]
    Y = np.stack(Bs)
    B_bar = np.mean(Bs, axis=0)
    first = np.argmax(B_bar @ B_bar[rows].T, axis=1)
    for t in range(max_iter):
        for v, phi in enumerate(Phis):
            gram = phi.T @ phi + lam * np.eye(phi.shape[1])
            U = scipy.linalg.solve(gram, phi.T @ Bs[v], assume_a="pos")
            Bs[v] = z_score(beta * B_bar + growth**t * Y[v] + phi @ U)
        Y = low_pass(np.stack(Bs), n_low)
        B_bar = z_score(np.mean(Bs, axis=0))
    return correlation_labels(B_bar, first, len(rows))


def features(x: Matrix, anchors: Matrix) -> Matrix:
    """Centred RBF features, eq. (7) as the authors compute it."""
    shift = x.mean(axis=0)
    x, a = x - shift, np.asarray(anchors, dtype=np.float64)
    d = (x**2).sum(axis=1)[:, None] + (a**2).sum(axis=1) - 2.0 * x @ a.T
    d = np.maximum(d, 0.0)
    sigma = 2.0 * np.sqrt(d).min(axis=1).mean()
    phi = np.exp(-d / (2.0 * sigma**2))
    return phi - phi.mean(axis=0)


def low_pass(B: Matrix, n_low: int) -> Matrix:
    """TLFA: the first L bins along the rows and their conjugate mirrors, eq. (15)."""
    spectrum = scipy.fft.fft(B, axis=1)
    spectrum[:, n_low : B.shape[1] - n_low + 1] = 0
    return scipy.fft.ifft(spectrum, axis=1).real


def z_score(B: Matrix) -> Matrix:
    """Rows to mean 0 and sd 1."""
    away = B - B.mean(axis=1, keepdims=True)
    return away / away.std(axis=1, ddof=1, keepdims=True)


def correlation_labels(
    B_bar: Matrix, labels: Matrix, n_clusters: int, max_iter: int = 10
) -> Matrix:
    """k-means by correlation from given labels, eq. (18)."""
    for _ in range(max_iter):
        centres = np.zeros((n_clusters, B_bar.shape[1]))
        np.add.at(centres, labels, B_bar)
        used = np.unique(labels)
        centres[used] = z_score(centres[used])
        labels = np.argmax(B_bar @ centres.T, axis=1)
    return labels


def counted(n: int, widths: list[int], m: int, k: int, rounds: int, r: int) -> float:
    """Floating-point operations the method needs, at two per multiply-add.

    Features and one symmetric Gram per view once; two thin products with the
    features and two with the basis per view and round. The last round needs one of
    them less, the start one more.
    """
    v = len(widths)
    once = 2.0 * n * sum(widths) * m + 1.0 * n * m * m * v
    return once + rounds * v * (4.0 * n * m * k + 4.0 * n * r * k)
