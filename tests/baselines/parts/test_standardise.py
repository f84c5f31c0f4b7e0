"""The standardisations against NumPy, with constants, tiny and huge values."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyview.arrays.ops import unit_rows
from manyview.baselines.parts.standardise import (
    feature_moments,
    scaled,
    z_feature,
    z_sample,
)


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    return rng.normal(3, 2, (5000, 4)) * [1.0, 1e-3, 1e4, 1.0]


def test_z_feature_is_mean_and_ddof_1_deviation(X):
    expected = (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)
    np.testing.assert_allclose(z_feature(X), expected, atol=1e-12)


def test_z_feature_of_new_rows_uses_the_training_moments(X):
    moments = feature_moments(X)
    np.testing.assert_array_equal(z_feature(X[:7], moments), z_feature(X)[:7])


def test_constant_features_become_zero_here_and_in_new_rows():
    X = np.full((10, 2), 0.1)
    X[:, 1] = np.arange(10)
    assert (z_feature(X)[:, 0] == 0).all()
    assert z_feature(np.array([[9.0, 0.0]]), feature_moments(X))[0, 0] == 0


def test_one_row_becomes_zero():
    assert z_feature(np.array([[3.0, -1.0]])).tolist() == [[0.0, 0.0]]


def test_z_sample_is_the_transposed_rule(X):
    expected = z_feature(np.ascontiguousarray(X[:50].T)).T
    np.testing.assert_allclose(z_sample(X[:50]), expected, atol=1e-12)


def test_constant_or_single_feature_samples_become_zero():
    assert (z_sample(np.full((3, 3), 0.1)) == 0).all()
    assert (z_sample(np.arange(4.0)[:, None]) == 0).all()


def test_unit_rows_have_length_one_or_stay_zero():
    U = unit_rows(np.array([[3.0, -4.0], [0.0, 0.0], [1e-300, 0.0]]))
    np.testing.assert_allclose(np.linalg.norm(U, axis=1), [1, 0, 1])


@pytest.mark.parametrize("scale", [z_feature, z_sample, unit_rows])
def test_float32_stays_float32_and_input_is_untouched(scale, X):
    narrow = X.astype(np.float32)
    kept = narrow.copy()
    assert scale(narrow).dtype == np.float32
    np.testing.assert_array_equal(narrow, kept)


def test_float32_moments_of_a_far_off_centre_feature():
    X = (1e3 + np.random.default_rng(1).normal(size=(20000, 1))).astype(np.float32)
    mean, std = feature_moments(X)
    np.testing.assert_allclose(mean, X.astype(np.float64).mean(0), rtol=1e-6)
    np.testing.assert_allclose(std, X.astype(np.float64).std(0, ddof=1), rtol=1e-5)


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_unit_rows_of_sparse_float32_at_any_size(size):
    x = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -2.0]], dtype=np.float32)
    found = unit_rows(sp.csr_array(x * np.float32(size)))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.toarray(), [[0.6, 0.8], [0, 0], [0, -1]], 1e-6)


def test_a_word_names_the_same_scaling_in_every_method(X):
    np.testing.assert_array_equal(scaled(X, "standard"), z_feature(X))
    np.testing.assert_array_equal(scaled(X, "sample"), z_sample(X))
    np.testing.assert_array_equal(scaled(X, "unit"), unit_rows(X))
    assert scaled(X, None) is X
