"""The polar factor: orthogonal, optimal, and the identity for a zero matrix."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from manyview.baselines.parts.procrustes import polar


@pytest.mark.parametrize("shape", [(7, 3), (3, 7), (4, 4)])
def test_is_semi_orthogonal_and_beats_random_candidates(shape):
    rng = np.random.default_rng(0)
    M = rng.normal(size=shape)
    W = polar(M)
    gram = W.T @ W if shape[0] >= shape[1] else W @ W.T
    np.testing.assert_allclose(gram, np.eye(min(shape)), atol=1e-12)
    best = np.sum(W * M)
    np.testing.assert_allclose(best, np.linalg.svd(M)[1].sum())
    for _ in range(50):
        candidate = polar(W + 0.3 * rng.normal(size=shape))
        assert np.sum(candidate * M) <= best + 1e-12


@pytest.mark.parametrize("shape", [(4, 2), (2, 4), (3, 3)])
def test_zero_matrix_gives_the_rectangular_identity(shape):
    np.testing.assert_array_equal(polar(np.zeros(shape)), np.eye(*shape))


def test_semi_orthogonal_input_is_its_own_polar_factor():
    Q = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 3)))[0]
    np.testing.assert_allclose(polar(5 * Q), Q, atol=1e-12)


def test_float32_stays_float32():
    assert polar(np.ones((3, 2), np.float32)).dtype == np.float32
    assert polar(np.zeros((3, 2), np.float32)).dtype == np.float32


@given(
    arrays(
        float,
        st.tuples(st.integers(1, 6), st.integers(1, 6)),
        elements=st.floats(-1e6, 1e6, allow_subnormal=False),
    )
)
def test_any_matrix_gets_a_semi_orthogonal_factor_of_the_highest_trace(M):
    W = polar(M)
    gram = W.T @ W if M.shape[0] >= M.shape[1] else W @ W.T
    np.testing.assert_allclose(gram, np.eye(min(M.shape)), atol=1e-9)
    highest = np.linalg.svd(M)[1].sum()
    np.testing.assert_allclose(np.sum(W * M), highest, rtol=1e-9, atol=1e-9)
