"""Methods against plain loops, written apart from the package, from the same start.

Samples are in columns, as in the papers and the authors' programs.
"""

import math
from itertools import combinations

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.linalg import eigh as dense_eigh

from manyview import SequenceS2MVTC, sequence_s2mvtc
from manyview.baselines import BMVC, bmvc, fastmice, sfmc
from manyview.stages import sequence_setup


def generated(n=75, widths=(4, 3, 6), n_clusters=3, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.permutation(np.arange(n) % n_clusters)
    centres = [3 * rng.normal(size=(n_clusters, d)) for d in widths]
    return [c[labels] + rng.normal(size=(n, c.shape[1])) for c in centres]


def z_columns(M):
    return (M - M.mean(axis=0)) / M.std(axis=0, ddof=1)


def on_simplex(v):
    """The projection, by bisection of the shift."""
    low, high = v.min() - 1, v.max()
    for _ in range(200):
        shift = (low + high) / 2
        low, high = (
            (shift, high) if np.maximum(v - shift, 0).sum() > 1 else (low, shift)
        )
    return np.maximum(v - high, 0)


def rbf(X, A):
    """Centred features (m, n) of the rows of X to the anchors A."""
    D = np.array([[((x - a) ** 2).sum() for x in X] for a in A])
    sigma = 2 * np.sqrt(D.min(axis=0)).mean()
    Phi = np.exp(-D / (2 * sigma**2))
    return Phi - Phi.mean(axis=1, keepdims=True)


# S²MVTC as published


def s2mvtc_labels(Phis, firsts, rows, *, beta, lam, n_low):
    """The readable core: labels of every sample, and those fixed before the rounds."""
    n_views, n = len(Phis), Phis[0].shape[1]
    Bs = Ys = firsts
    B_hat = sum(Bs) / n_views
    G = np.argmax(B_hat.T @ B_hat[:, rows], axis=1)
    first, alpha = G, 1.0
    for _ in range(7):
        UX = [
            B @ P.T @ np.linalg.inv(P @ P.T + lam * np.eye(len(P))) @ P
            for B, P in zip(Bs, Phis, strict=True)
        ]
        pairs = zip(UX, Ys, strict=True)
        Bs = [z_columns((beta * B_hat + u + alpha * y) / (beta + 2)) for u, y in pairs]
        kept = [np.fft.fft(B, axis=1) for B in Bs]
        for spectrum in kept:
            spectrum[:, n_low : n - n_low + 1] = 0
        Ys = [np.fft.ifft(spectrum, axis=1).real for spectrum in kept]
        B_hat, alpha = z_columns(sum(Bs) / n_views), 1.1 * alpha
    for _ in range(10):
        sums = np.stack(
            [B_hat[:, j == G].sum(axis=1) for j in range(len(rows))], axis=1
        )
        empty = [not (G == j).any() for j in range(len(rows))]
        with np.errstate(invalid="ignore"):
            C = z_columns(sums)
            C[:, empty] = 1.0
            for _ in range(3):
                C = z_columns(C + 100 * sums)
                C[:, empty] = 1.0
        G = np.argmax(B_hat.T @ C, axis=1)
    return G, first


@pytest.mark.filterwarnings("ignore::manyview.errors.DegenerateWarning")
@pytest.mark.parametrize("seed", range(3))
def test_s2mvtc_as_published_label_for_label(monkeypatch, seed):
    Xs, caught = generated(seed=seed), {}

    def weights(*args, make=sequence_setup.principal_start, **options):
        start = make(*args, **options)
        caught["weights"] = start.weights
        return start

    def rows(engine, chosen, keep=sequence_s2mvtc.keep_first_labels):
        caught["rows"] = engine.caller_rows(chosen)
        keep(engine, chosen)

    monkeypatch.setattr(sequence_setup, "principal_start", weights)
    monkeypatch.setattr(sequence_s2mvtc, "keep_first_labels", rows)
    anchors = [X[np.random.default_rng(1).choice(75, 20, replace=False)] for X in Xs]
    setting = {"beta": 0.1, "lam": 1e-2, "n_low": 5}
    model = SequenceS2MVTC.as_published("CCV").set_params(
        n_clusters=12, anchors=anchors, n_components=8, random_state=seed, **setting
    )
    labels = model.fit_predict(Xs)
    visited = model._passes.view_order
    Phis = [rbf(Xs[v], anchors[v]) for v in visited]
    firsts = [W.T @ Phi for W, Phi in zip(caught["weights"], Phis, strict=True)]
    expected, first = s2mvtc_labels(Phis, firsts, caught["rows"], **setting)
    np.testing.assert_array_equal(labels, expected)
    # What was empty before the rounds stays empty.
    assert set(expected) <= set(first) < set(range(12))


# BMVC


def bmvc_columns(Phis, B, C, model, n_rounds):
    """The released updates on codes (L, n) and centroids (L, c)."""
    G = np.argmax(B.T @ C, axis=1)
    a = np.full(len(Phis), 1 / len(Phis))
    for _ in range(n_rounds):
        Us = []
        for P in Phis:
            gram = (1 - model.gamma) * P @ P.T + model.beta * np.eye(len(P))
            Us.append(B @ P.T @ np.linalg.inv(gram))
        terms = zip(a, Us, Phis, strict=True)
        mixed = sum(w**model.r * U @ P for w, U, P in terms)
        B = np.where(mixed + model.cluster_weight * C[:, G] > 0, 1.0, -1.0)
        for _ in range(10):
            C = C.copy()
            for j in set(G.tolist()):
                S = B[:, j == G].sum(axis=1)
                c = np.where(S >= 0, 1.0, -1.0)
                for _ in range(3):
                    step = (S - model.rho * c.sum()) / model.mu
                    c = np.where(c + step >= 0, 1.0, -1.0)
                C[:, j] = c
            distances = [[(b != c).sum() for c in C.T] for b in B.T]
            G = np.argmin(distances, axis=1)
        h = [
            ((B - U @ P) ** 2).sum()
            - model.gamma * ((U @ P) ** 2).sum()
            + model.beta * (U**2).sum()
            for U, P in zip(Us, Phis, strict=True)
        ]
        a = np.array(h) ** (1 / (1 - model.r))
        a /= a.sum()
    return B, C, G, a


def test_bmvc_bit_for_bit():
    Xs = generated(n=90)
    Phis = [rbf(X, X[:15]) for X in Xs]
    model = BMVC(4, protocol="authors")
    rng = np.random.default_rng(0)
    B = bmvc.first_codes([Phis[0].T], 10, rng)
    C, G = bmvc.first_clusters(B, model, rng)
    factors = [bmvc.factor(P.T, model.beta, model.gamma) for P in Phis]
    now = bmvc.State([], B, C, G, np.full(3, 1 / 3))
    for _ in range(7):
        now, _ = bmvc.iterate([P.T for P in Phis], factors, now, model)
    B, C, G, a = bmvc_columns(Phis, B.T, C.T, model, 7)
    np.testing.assert_array_equal(now.B.T, B)
    np.testing.assert_array_equal(now.C.T, C)
    np.testing.assert_array_equal(now.G, G)
    np.testing.assert_allclose(now.a, a, rtol=1e-9)


# SFMC


def anchor_graph_by_rows(X, anchors, k):
    B = np.zeros((len(X), len(anchors)))
    for i, x in enumerate(X):
        h = ((x - anchors) ** 2).sum(axis=1)
        near = np.argsort(h, kind="stable")[: k + 1]
        last = h[near[k]]
        B[i, near[:k]] = (last - h[near[:k]]) / (k * last - h[near[:k]].sum())
    return B


def bent(G, c):
    """The P-step with dense matrices: rows and columns projected, then averaged."""

    def embedding(P):
        d1, d2 = P.sum(axis=1), P.sum(axis=0)
        scale1 = np.array([1 / np.sqrt(d) if d > 0 else 0.0 for d in d1])
        scale2 = np.array([1 / np.sqrt(d) if d > 0 else 0.0 for d in d2])
        U, s, Vt = np.linalg.svd(scale1[:, None] * P * scale2)
        roots = math.sqrt(0.5)
        return roots * U[:, :c], roots * Vt[:c].T, scale1, scale2, s**2

    support = G > 0
    U, V, _, _, w = embedding(G)
    assert w[:c].sum() < c * (1 - 1e-10)  # else there is nothing to bend
    scale1, scale2, lam = np.ones(len(G)), np.full(G.shape[1], 10.0), 0.1
    for _ in range(50):
        t = (
            (scale1[:, None, None] * U[:, None, :] - (scale2[:, None] * V)[None]) ** 2
        ).sum(axis=2)
        target = G - lam / 2 * t
        by_rows, by_columns = np.zeros_like(G), np.zeros_like(G)
        for i, row in enumerate(support):
            by_rows[i, row] = on_simplex(target[i, row])
        for j, column in enumerate(support.T):
            if column.any():
                by_columns[column, j] = on_simplex(target[column, j])
        P = (by_rows + by_columns) / 2
        U, V, scale1, scale2, w = embedding(P)
        if w[:c].sum() < c - 1e-7:
            lam *= 2
        elif w[: c + 1].sum() > c + 1 - 1e-7:
            lam /= 2
        else:
            break
    return P


def best_weights(graphs, P):
    """min a'Aa - a'h on the simplex: the best of all supports."""
    A = np.array([[(b * c).sum() for c in graphs] for b in graphs])
    h = np.array([2 * (b * P).sum() for b in graphs])
    best, value = None, np.inf
    n = len(graphs)
    for size in range(1, n + 1):
        for chosen in map(list, combinations(range(n), size)):
            kkt = np.zeros((size + 1, size + 1))
            kkt[:size, :size] = 2 * A[np.ix_(chosen, chosen)]
            kkt[size, :size] = kkt[:size, size] = 1
            a = np.zeros(n)
            a[chosen] = np.linalg.solve(kkt, [*h[chosen], 1])[:size]
            if (a >= -1e-12).all() and a @ A @ a - a @ h < value:
                best, value = a, a @ A @ a - a @ h
    return best


def test_sfmc_from_the_same_anchors():
    Xs = generated(n=48, n_clusters=3, seed=4)
    anchors = np.arange(0, 48, 3)
    dense = [anchor_graph_by_rows(X, X[anchors], 5) for X in Xs]
    ours = [sfmc.anchor_graph(X, X[anchors], 5) for X in Xs]
    for B, expected in zip(ours, dense, strict=True):
        np.testing.assert_allclose(B.toarray(), expected, atol=1e-12)
    weights, joint, n_rounds = sfmc.fuse_graphs(ours, 3, 10, False)
    a = np.full(3, 1 / 3)
    for _ in range(n_rounds):
        P = bent(sum(w * B for w, B in zip(a, dense, strict=True)), 3)
        before, a = a, best_weights(dense, P)
    if np.abs(a - before).max() >= 1e-9:
        P = bent(sum(w * B for w, B in zip(a, dense, strict=True)), 3)
    np.testing.assert_allclose(weights, a, atol=1e-6)
    np.testing.assert_allclose(joint.P.toarray(), P, atol=1e-6)


# FastMICE


def transfer_cut(B, k):
    """Rows of unit length, as the released program takes them from its eigenvectors."""
    Dx = np.diag(1 / B.sum(axis=1))
    W = B.T @ Dx @ B
    D = np.diag(1 / np.sqrt(np.maximum(W.sum(axis=1), np.finfo(float).eps)))
    _, vectors = dense_eigh(D @ W @ D)
    E = Dx @ B @ D @ vectors[:, ::-1][:, :k]
    return E / np.linalg.norm(E, axis=1, keepdims=True)


def test_fastmice_member_and_consensus_from_the_same_anchors():
    Xs = generated(n=60, widths=(5, 4), seed=2)
    k, parts, sparse = 3, [], []
    for X in Xs:
        anchors = X[::4] + 0.1
        distances = np.array([[np.linalg.norm(x - a) for a in anchors] for x in X])
        near = np.argsort(distances, axis=1)[:, :k]
        scale = np.take_along_axis(distances, near, axis=1).mean()
        B = np.zeros_like(distances)
        for i, columns in enumerate(near):
            w = np.exp(-(distances[i, columns] ** 2) / (2 * scale**2))
            B[i, columns] = w / np.linalg.norm(w)
        parts.append(B)
        sparse.append(fastmice.neighbour_graph(X, anchors, k, "euclidean"))
        np.testing.assert_allclose(sparse[-1].toarray(), B, atol=1e-10)
    found = fastmice.transfer_cut(sp.csr_array(sp.hstack(sparse)), 4)
    expected = transfer_cut(np.hstack(parts), 4)
    # Eigenvectors have free signs; angles between rows have not.
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-8)
    rng = np.random.default_rng(0)
    members = [rng.integers(c, size=60) for c in (3, 5)]
    hot = np.hstack([np.eye(labels.max() + 1)[labels] for labels in members])
    together = fastmice.transfer_cut(fastmice.memberships(members), 3)
    expected = transfer_cut(hot, 3)
    np.testing.assert_allclose(together @ together.T, expected @ expected.T, atol=1e-8)
