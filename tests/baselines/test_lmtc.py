"""LMTC: the tensor step against a plain SVD and its optimality, figures on CCV."""

import numpy as np
import pytest

from manyview.arrays.ops import unit_rows
from manyview.baselines import LMTC
from manyview.baselines.lmtc import Stack, iterate, shrink, shrink_stack, start
from manyview.metrics import clustering_scores


def test_shrink_equals_the_singular_value_decomposition():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(30, 5)) + 1j * rng.normal(size=(30, 5))
    U, s, Vh = np.linalg.svd(M, full_matrices=False)
    for threshold in (0.0, s[2], 2 * s[0]):
        expected = (U * np.maximum(s - threshold, 0)) @ Vh
        np.testing.assert_allclose(shrink(M, threshold), expected, atol=1e-10)


def tensor_norm(T):
    """Mean over the views' Fourier slices of their nuclear norms."""
    slices = np.moveaxis(np.fft.fft(T, axis=2), 2, 0)
    return np.mean([np.linalg.svd(s, compute_uv=False).sum() for s in slices])


@pytest.mark.parametrize("n_views", [1, 2, 3, 4, 5])
def test_shrinking_the_stack_minimises_norm_plus_distance(n_views):
    rng = np.random.default_rng(1)
    T = rng.normal(size=(12, 3, n_views))
    threshold = 1.5

    def value(G):
        return threshold * tensor_norm(G) + 0.5 * np.sum((G - T) ** 2)

    G = shrink_stack(T, threshold)
    assert np.isrealobj(G)
    best = value(G)
    for size in (1e-3, 1e-1, 1.0):
        for _ in range(20):
            assert value(G + size * rng.normal(size=T.shape)) > best


def test_identical_views_stay_identical_and_lose_rank_together():
    H = np.linalg.qr(np.random.default_rng(2).normal(size=(20, 3)))[0]
    T = np.repeat(H[:, :, None], 4, axis=2)
    # All energy is in the zero frequency, where the slice is 4 H.
    np.testing.assert_allclose(shrink_stack(T, 1.0), 0.75 * T, atol=1e-12)
    np.testing.assert_allclose(shrink_stack(T, 4.0), 0, atol=1e-12)


def test_embedding_step_never_lowers_its_bound():
    # H = polar(XX'H + ρG + W) maximises a linear bound, so the sum below cannot fall.
    rng = np.random.default_rng(3)
    X = unit_rows(rng.normal(size=(40, 7)))
    now, rho = start([X], 3, 0), 0.5
    W = 0.1 * rng.normal(size=now.H.shape)

    def value(H):
        pull = np.sum(H * (rho * now.G + W))
        return np.sum((X.T @ H[:, :, 0]) ** 2) / 2 + pull

    H = now.H
    for _ in range(10):
        new = iterate([X], Stack(H, now.G, W), 1.0, rho).H
        assert value(new) >= value(H) - 1e-12
        H = new


def test_start_is_the_leading_singular_vectors():
    rng = np.random.default_rng(4)
    Xs = [
        rng.normal(size=(50, d)) * np.array([9, 7, 5, *[0.1] * (d - 3)]) for d in (5, 6)
    ]
    H, G, W = start(Xs, 3, 0)
    assert not G.any() and not W.any()
    U = np.linalg.svd(np.concatenate(Xs, axis=1), full_matrices=False)[0][:, :3]
    for v in range(2):
        np.testing.assert_allclose(H[:, :, v] @ H[:, :, v].T, U @ U.T, atol=1e-6)
    assert start(Xs, 30, 0).H.shape == (50, 11, 2)


def test_copies_agree_at_the_end(three_views):
    model = LMTC(4, random_state=0).fit(three_views[0])
    assert model.residuals_[-1] < 1e-6 < model.residuals_[0]
    assert model.n_iter_ == len(model.residuals_) <= 50


def test_strong_ties_bring_the_views_together(three_views):
    def spread(lam):
        E = LMTC(4, tensor_weight=lam, random_state=0).fit(three_views[0]).embedding_
        parts = np.array(np.split(E, 3, axis=1))
        return np.sum((parts - parts.mean(axis=0)) ** 2)

    assert spread(10.0) < 0.7 * spread(1e-3)


def test_sum_norm_is_the_mean_norm_with_v_times_the_weight(three_views):
    views = three_views[0]
    total = LMTC(4, tensor_weight=2.0, norm="sum", random_state=0).fit(views)
    mean = LMTC(4, tensor_weight=6.0, norm="mean", random_state=0).fit(views)
    np.testing.assert_allclose(total.embedding_, mean.embedding_, atol=1e-10)


@pytest.mark.data
@pytest.mark.slow
def test_level_on_shuffled_ccv(load_npz):
    views, labels = load_npz("CCV")
    order = np.random.default_rng(0).permutation(len(labels))
    shuffled = [v[order] for v in views]
    # Seeds differ by .005: five of them do not settle the third digit.
    found = (LMTC(20, random_state=s).fit_predict(shuffled) for s in range(10))
    scores = [clustering_scores(labels[order], f) for f in found]
    assert np.mean([s["ACC"] for s in scores]) >= 0.225
    assert np.mean([s["NMI"] for s in scores]) >= 0.185


def shrunk_by_the_released_loop(T, threshold):
    """The loop over the frequencies with its last index rounded up."""
    slices = np.fft.fft(T, axis=2)
    n = T.shape[2]
    for i in range(int(np.floor(n / 2 + 1 + 0.5))):
        U, s, V = np.linalg.svd(slices[:, :, i], full_matrices=False)
        slices[:, :, i] = (U * np.maximum(s - threshold, 0)) @ V
        if i > 0:
            slices[:, :, n - i] = slices[:, :, i].conj()
    return np.fft.ifft(slices, axis=2).real


@pytest.mark.parametrize("n_views", [2, 3, 4, 5])
def test_an_odd_number_of_views_shrinks_one_pair_twice_in_the_release(n_views):
    T = np.random.default_rng(n_views).normal(size=(12, 3, n_views))
    odd = n_views % 2 == 1
    found = shrink_stack(T, 1.0, last_twice=odd)
    np.testing.assert_allclose(found, shrunk_by_the_released_loop(T, 1.0), atol=1e-12)
    assert np.allclose(found, shrink_stack(T, 1.0)) != odd


def test_protocols_differ_for_an_odd_number_of_views_alone(three_views):
    views = three_views[0]
    for n_views, same in ((2, True), (3, False)):
        embeddings = [
            LMTC(4, protocol=p, random_state=0).fit(views[:n_views]).embedding_
            for p in ("manyview", "authors")
        ]
        assert np.allclose(*embeddings, atol=1e-9) == same
