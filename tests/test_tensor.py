"""The tensor algebra against its block-circulant definition and a full FFT."""

import math

import numpy as np
import pytest
from scipy.linalg import circulant

from manyview.errors import InputError, InputTypeError
from manyview.tensor import (
    identity_tensor,
    is_f_diagonal,
    is_orthogonal,
    stack_views,
    t_product,
    t_svd,
    tensor_transpose,
    tlfa,
    unstack,
)

SHAPES = [
    (1, 1, 1),
    (3, 2, 1),
    (2, 3, 2),
    (4, 4, 6),
    (5, 3, 7),
    (3, 5, 8),
    (2, 6, 13),
    (1, 4, 9),
    (6, 1, 16),
]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


def random_tensor(shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape)


def block_circulant(X):
    """bcirc(X): block (i, j) is the frontal slice (i - j) mod n3."""
    n3 = X.shape[2]
    return np.block([[X[:, :, (i - j) % n3] for j in range(n3)] for i in range(n3)])


def unfold(X):
    return np.concatenate(list(np.moveaxis(X, 2, 0)), axis=0)


@each_shape
def test_t_product_is_the_block_circulant_product(shape):
    X, Y = random_tensor(shape), random_tensor((shape[1], 3, shape[2]), seed=1)
    expected = block_circulant(X) @ unfold(Y)
    np.testing.assert_allclose(unfold(t_product(X, Y)), expected, atol=1e-12)


@each_shape
def test_tensor_transpose_transposes_the_block_circulant_matrix(shape):
    X = random_tensor(shape)
    np.testing.assert_array_equal(
        block_circulant(tensor_transpose(X)), block_circulant(X).T
    )


@each_shape
def test_transpose_of_a_product(shape):
    X, Y = random_tensor(shape), random_tensor((shape[1], 4, shape[2]), seed=1)
    np.testing.assert_allclose(
        tensor_transpose(t_product(X, Y)),
        t_product(tensor_transpose(Y), tensor_transpose(X)),
        atol=1e-12,
    )


@each_shape
def test_identity_is_neutral_on_both_sides(shape):
    n1, n2, n3 = shape
    X = random_tensor(shape)
    np.testing.assert_allclose(t_product(identity_tensor(n1, n3), X), X, atol=1e-12)
    np.testing.assert_allclose(t_product(X, identity_tensor(n2, n3)), X, atol=1e-12)


def test_tubes_multiply_as_circular_convolution():
    x, y = random_tensor(7), random_tensor(7, seed=1)
    product = t_product(x.reshape(1, 1, 7), y.reshape(1, 1, 7))
    np.testing.assert_allclose(product.ravel(), circulant(x) @ y, atol=1e-12)


@each_shape
def test_t_svd_reconstructs_with_real_orthogonal_factors(shape):
    n1, n2, n3 = shape
    X = random_tensor(shape)
    U, S, V = t_svd(X)
    assert (U.shape, S.shape, V.shape) == ((n1, n1, n3), shape, (n2, n2, n3))
    assert all(factor.dtype == np.float64 for factor in (U, S, V))
    assert is_orthogonal(U) and is_orthogonal(V)
    assert is_f_diagonal(S)
    rebuilt = t_product(t_product(U, S), tensor_transpose(V))
    np.testing.assert_allclose(rebuilt, X, atol=1e-10)


@each_shape
def test_t_svd_has_the_singular_values_of_every_fourier_slice(shape):
    X = random_tensor(shape)
    S_hat = np.fft.fft(t_svd(X)[1], axis=2)
    X_hat = np.fft.fft(X, axis=2)
    for i in range(shape[2]):
        expected = np.linalg.svd(X_hat[:, :, i], compute_uv=False)
        np.testing.assert_allclose(np.diagonal(S_hat[:, :, i]), expected, atol=1e-10)


@pytest.mark.parametrize("n_slices", [4, 5])
def test_t_svd_of_rank_deficient_and_zero_tensors(n_slices):
    low_rank = t_product(
        random_tensor((4, 1, n_slices)), random_tensor((1, 3, n_slices))
    )
    for X in (low_rank, np.zeros((4, 3, n_slices))):
        U, S, V = t_svd(X)
        assert is_orthogonal(U) and is_orthogonal(V)
        rebuilt = t_product(t_product(U, S), tensor_transpose(V))
        np.testing.assert_allclose(rebuilt, X, atol=1e-10)


@each_shape
def test_t_svd_decomposes_one_slice_of_every_mirror_pair(shape, monkeypatch):
    n_decomposed = []
    svd = np.linalg.svd

    def counting_svd(slices):
        n_decomposed.append(len(slices))
        return svd(slices)

    monkeypatch.setattr(np.linalg, "svd", counting_svd)
    t_svd(random_tensor(shape))
    assert sum(n_decomposed) == math.ceil((shape[2] + 1) / 2)


def test_float32_stays_float32_and_integers_become_float64():
    X = random_tensor((2, 3, 5)).astype(np.float32)
    Y = np.arange(24).reshape(2, 2, 6)
    assert t_product(X, tensor_transpose(X)).dtype == np.float32
    assert tlfa(X, 2).dtype == np.float32
    assert {factor.dtype for factor in t_svd(X)} == {np.dtype(np.float32)}
    assert t_product(Y, Y).dtype == np.float64


@pytest.mark.parametrize("n_samples", [1, 2, 6, 7, 12, 13])
def test_tlfa_keeps_low_bins_and_their_mirrors(n_samples):
    B = random_tensor((3, 2, n_samples))
    for n_low in range(1, n_samples // 2 + 2):
        B_hat = np.fft.fft(B, axis=2)
        kept = [i for i in range(n_samples) if min(i, n_samples - i) < n_low]
        Y_hat = np.zeros_like(B_hat)
        Y_hat[:, :, kept] = B_hat[:, :, kept]
        expected = np.fft.ifft(Y_hat, axis=2)
        np.testing.assert_allclose(expected.imag, 0, atol=1e-12)
        np.testing.assert_allclose(tlfa(B, n_low), expected.real, atol=1e-12)


@pytest.mark.parametrize(("n_samples", "n_low"), [(11, 3), (12, 3), (12, 7), (5, 3)])
def test_tlfa_equals_the_projection_on_cosines_and_sines(n_samples, n_low):
    angles = 2 * np.pi * np.outer(np.arange(n_samples), np.arange(n_low)) / n_samples
    waves = np.hstack([np.cos(angles), np.sin(angles[:, 1:])])
    F, sizes, _ = np.linalg.svd(waves, full_matrices=False)
    F = F[:, sizes > 1e-10]
    B = random_tensor((3, 2, n_samples))
    np.testing.assert_allclose(tlfa(B, n_low), (B @ F) @ F.T, atol=1e-10)


def test_tlfa_is_a_projection_and_all_frequencies_change_nothing():
    B = random_tensor((2, 3, 10))
    np.testing.assert_allclose(tlfa(tlfa(B, 3), 3), tlfa(B, 3), atol=1e-12)
    np.testing.assert_allclose(tlfa(B, 6), B, atol=1e-12)
    assert not np.allclose(tlfa(B, 5), B)


def test_stacking_puts_components_views_and_samples_in_place():
    Bs = [random_tensor((5, 3), seed) for seed in range(2)]
    B = stack_views(Bs)
    assert B.shape == (3, 2, 5)
    assert B[2, 1, 4] == Bs[1][4, 2]
    for B_v, back in zip(Bs, unstack(B), strict=True):
        np.testing.assert_array_equal(back, B_v)


def test_orthogonality_test_can_say_no():
    assert not is_orthogonal(random_tensor((3, 3, 4)))
    assert not is_orthogonal(identity_tensor(3, 4)[:, :2])
    nearly = identity_tensor(3, 4)
    nearly[0, 1, 2] = 1e-6
    assert not is_orthogonal(nearly)
    assert is_orthogonal(nearly, tol=1e-5)


def test_f_diagonality_test_can_say_no():
    S = np.zeros((2, 3, 4))
    S[1, 1] = 1.0
    assert is_f_diagonal(S)
    S[0, 2, 3] = 1e-6
    assert not is_f_diagonal(S)
    assert is_f_diagonal(S, tol=1e-5)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: t_product(np.ones((2, 3, 4)), np.ones((2, 3, 4))), InputError, "row"),
        (lambda: t_product(np.ones((2, 3, 4)), np.ones((3, 2, 5))), InputError, "slic"),
        (lambda: t_svd(np.ones((2, 3))), InputError, r"shape \(2, 3\)"),
        (lambda: t_svd(np.ones((2, 0, 3))), InputError, "empty"),
        (lambda: t_svd(np.full((2, 2, 2), np.nan)), InputError, "NaN"),
        (lambda: t_svd(np.ones((2, 2, 2)) * 1j), InputTypeError, "complex128"),
        (lambda: tlfa(np.ones((2, 2, 8)), 0), InputError, "n_low is 0"),
        (lambda: tlfa(np.ones((2, 2, 8)), 6), InputError, "1 to 5"),
        (lambda: stack_views([]), InputError, "at least one"),
        (lambda: stack_views([np.ones((2, 3)), np.ones((3, 3))]), InputError, "same"),
    ],
)
def test_bad_tensors_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()
