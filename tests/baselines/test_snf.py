"""SNF against its formulas written out, and its limits."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import norm

from manyview.baselines import SNF
from manyview.baselines.snf import (
    MOST_ROWS,
    affinity,
    fuse,
    nearest_only,
    require_few_rows,
    with_half_inside,
)
from manyview.errors import ResourceError
from manyview.metrics import accuracy, ari


def by_loops(kernels, k, n_rounds):
    """The authors' rounds, entry by entry."""
    n = len(kernels[0])

    def half_inside(W):
        P = np.empty((n, n))
        for i in range(n):
            out = sum(W[i, j] for j in range(n) if j != i)
            P[i] = [0.5 if j == i else W[i, j] / (2 * out) for j in range(n)]
        return (P + P.T) / 2

    P = [half_inside(W) for W in kernels]
    S = []
    for p in P:
        kept = np.where(p >= np.sort(p, axis=1)[:, -k][:, None], p, 0)
        S.append(kept / kept.sum(axis=1, keepdims=True))
    for _ in range(n_rounds):
        others = [
            sum(P[u] for u in range(len(P)) if u != v) / (len(P) - 1)
            for v in range(len(P))
        ]
        P = [half_inside(S[v] @ others[v] @ S[v].T) for v in range(len(P))]
    return half_inside(sum(P) / len(P))


def test_the_kernel_is_the_density_of_the_authors_program():
    X = np.random.default_rng(0).normal(size=(30, 4))
    d = cdist(X, X)
    own = np.sort(d, axis=1)[:, 1:6].mean(axis=1)
    width = 0.4 * (own[:, None] + own + d) / 3
    wanted = norm.pdf(d, 0, width) * np.sqrt(2 * np.pi)
    np.testing.assert_allclose(affinity(X, 5, 0.4), wanted)


def test_the_unit_of_a_view_does_not_matter():
    X = np.random.default_rng(0).normal(size=(30, 4))
    W, V = (with_half_inside(affinity(x, 5, 0.5)) for x in (X, 1000 * X))
    np.testing.assert_allclose(W, V, rtol=1e-9)


def test_rounds_against_loops():
    rng = np.random.default_rng(1)
    kernels = [affinity(rng.normal(size=(25, d)), 5, 0.5) for d in (3, 4, 6)]
    np.testing.assert_allclose(fuse(kernels, 6, 4), by_loops(kernels, 6, 4), atol=1e-12)


def test_rows_of_both_matrices_sum_to_one():
    W = affinity(np.random.default_rng(2).normal(size=(20, 3)), 5, 0.5)
    S = nearest_only(W, 7)
    np.testing.assert_allclose(S.sum(axis=1), 1)
    assert (np.diff(S.indptr) == 7).all()
    P = with_half_inside(W)
    np.testing.assert_allclose(np.diag(P), 0.5)
    np.testing.assert_allclose(P, P.T)


def test_finds_separate_groups(three_views):
    views, labels = three_views
    assert ari(labels, SNF(4, random_state=0).fit_predict(views)) > 0.95


def test_row_order_does_not_matter(three_views):
    views = [x[:150] for x in three_views[0]]
    order = np.random.default_rng(0).permutation(150)
    labels = SNF(6, random_state=3).fit_predict(views)
    mixed = SNF(6, random_state=3).fit_predict([x[order] for x in views])
    np.testing.assert_array_equal(labels[order], mixed)


def test_too_many_rows_are_refused():
    with pytest.raises(ResourceError, match=r"n × n .* 10000 rows; got 10001"):
        require_few_rows(MOST_ROWS + 1, 2)


@pytest.mark.data
def test_real_data(load_npz):
    views, labels = load_npz("ORL")
    assert accuracy(labels, SNF(40, random_state=0).fit_predict(views)) > 0.8
