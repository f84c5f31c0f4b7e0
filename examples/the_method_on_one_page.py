"""The order-free S²MVTC on one page, for complete and dense views: nothing hidden.

X (n, d) a view       Phi (n, m) its features, eq. (7)  F (n, r) smoothest vectors
A (m, d) its anchors  U (m, r) its ridge fit, eq. (12)  B, Y (n, r) eq. (14), (15)
C clusters            lam, beta, a weights              B_bar (n, r) consensus, (17)
"""

import numpy as np
from scipy.sparse.linalg import svds
from scipy.spatial.distance import cdist
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.neighbors import NearestCentroid
from sklearn.preprocessing import normalize


def scale(X, C):
    """Prepare a view by what it is, seen from shares: no unit of measure matters."""
    sums, mean, sd = X.sum(axis=1), X.mean(axis=0), X.std(axis=0, ddof=1)
    even = sums.std() < min(1e-3 * sums.mean(), 0.1 * np.linalg.norm(sd))
    if X.min() >= 0 and ((X == 0).mean() > 0.5 or even):
        return normalize(np.sqrt(X))  # counts and histograms: by angle
    R = np.corrcoef(X[:, sd > 0], rowvar=False)
    square = (np.sum(R**2) - len(R)) / (len(R) * (len(R) - 1)) - 1 / len(X)
    if X.shape[1] > C and square < 0.1**2:
        return normalize(X - mean)  # uncorrelated: principal components
    return (X - mean) / np.where(sd > 0, sd, np.inf)


def find_anchors(X, m, seed):  # a short k-means: to cover the rows, not to converge
    init = "k-means++" if m <= 200 else "random"
    short = KMeans(m, init=init, n_init=1, max_iter=10, random_state=seed)
    return short.fit(X).cluster_centers_


def features(X, A):
    """Phi = exp(−d²/2σ²), centred; σ is twice the mean distance to the nearest A."""
    d = cdist(X, A)
    Phi = np.exp(-(d**2) / (2 * (2 * d.min(axis=1).mean()) ** 2))
    return Phi - Phi.mean(axis=0)


def ridge(Phi, B):
    """R² = 1 − GCV/‖B‖² at the lam that predicts B best, that lam, and Phi U there."""
    G, B, tried = Phi.T @ Phi, B - B.mean(axis=0), []
    for lam in np.array([1e-4, 1e-3, 1e-2, 1e-1, 1]) * np.diag(G).mean():
        inverse = np.linalg.inv(G + lam * np.eye(len(G)))
        fit = Phi @ (inverse @ (Phi.T @ B))  # Phi U, eq. (12)
        free = max(1 - (len(G) - lam * np.trace(inverse)) / len(B), 0.05)
        tried.append((1 - np.sum((B - fit) ** 2) / free**2 / np.sum(B**2), lam, fit))
    return max(tried, key=lambda one: one[0])


def ties(X, A, k=5):
    """Z: weights of a row's k nearest anchors, falling to 0 at the next; sum 1."""
    d = cdist(X, A, "sqeuclidean")
    Z = np.maximum(np.partition(d, k, axis=1)[:, k : k + 1] - d, 0)
    return Z / Z.sum(axis=1, keepdims=True)


def graph(Xs, C, share, seed):
    """Smoothest vectors F of the graph H Hᵀ, their roughness, the views' weights w."""
    for steps in (np.array([1, 4, 16]), np.array([1, 4]), np.array([1])):
        sizes = min(int(share / np.sum(1 / steps)), len(Xs[0]) // 3) // steps
        if sizes[-1] >= max(2 * C, 12):
            break
    sizes, Hs, gaps = np.tile(sizes, np.clip(share // sizes.sum(), 1, 6)), [], []
    for X in Xs:
        Zs = [ties(X, find_anchors(X, m, seed + i)) for i, m in enumerate(sizes)]
        part = np.repeat(sizes**0.25 / np.sum(sizes**0.25), sizes)  # finer: a bit more
        Hs.append(np.hstack(Zs) * np.sqrt(part / np.hstack(Zs).sum(axis=0)))
        rough = 1 - svds(Hs[-1], C + 1, return_singular_vectors=False)[::-1] ** 2
        gaps.append(max(1 - rough[:C].mean() / max(rough[C], 1e-9), 1e-3))
    w = np.array(gaps) / np.sum(gaps)
    F, sigma, _ = svds(np.hstack([*map(np.multiply, Hs, np.sqrt(w))]), 2 * C)
    return F[:, ::-1], 1 - sigma[::-1] ** 2, w


def s2mvtc(views, C, anchors=None, beta=0.1, a=0.1, n_graph_anchors=4096, seed=0):
    """Labels of the rows, and their consensus embedding B_bar."""
    Xs = [scale(X, C) for X in views]
    As = anchors or [find_anchors(X, min(500, len(X) // 8), seed) for X in Xs]
    F, rough, w = graph(Xs, C, n_graph_anchors // len(Xs), seed)
    B_bar = normalize(F * np.exp(-rough / max(rough[C], 1e-3)))  # every B starts here
    means, some = NearestCentroid(), B_bar[:: max(len(B_bar) // (20 * C), 1)]
    ward = means.fit(some, AgglomerativeClustering(C).fit_predict(some)).centroids_
    runs = [KMeans(C, n_init=20, random_state=seed), KMeans(C, init=ward)]
    first = min((run.fit(B_bar) for run in runs), key=lambda run: run.inertia_).labels_
    Y, total = F @ (F.T @ B_bar), 0  # the smooth part, eq. (15)
    for X, A, weight in zip(Xs, As, w, strict=True):
        R2, _, fit = ridge(features(X, A), B_bar)
        total += weight * max(R2, 0.02) * (beta * B_bar + a * Y + fit)  # B: (14)
    B_bar = normalize(total)  # eq. (17), each view as much as it explains
    return KMeans(C, init=means.fit(B_bar, first).centroids_).fit_predict(B_bar), B_bar


if __name__ == "__main__":
    from manyview import datasets, metrics

    data = datasets.load_digits_views()
    print(metrics.clustering_scores(data.labels, s2mvtc(data.arrays, 10)[0]))
