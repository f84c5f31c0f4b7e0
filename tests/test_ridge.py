"""The ridge fit from small matrices equals the one from all rows."""

import numpy as np
import pytest

from manyview import ridge


def centred(phi):
    return phi - phi.mean(axis=0)


def fit_gram(phi, lam, rank_tol):
    gram = ridge.centred_gram(ridge.block_gram(phi), phi.sum(axis=0), len(phi))
    return ridge.factor_gram(gram, phi.mean(axis=0), lam, rank_tol)


def kept(phi, fitted):
    if fitted.reduce is None:
        return phi
    return ridge.reduced(phi, phi.mean(axis=0), fitted.reduce)


def dense_fit(phi, B, lam):
    phi = centred(phi)
    U = np.linalg.solve(phi.T @ phi + lam * np.eye(phi.shape[1]), phi.T @ B)
    return phi @ U


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    return rng.random((90, 12)), rng.normal(size=(90, 5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_block_gram_is_float64_and_its_lower_triangle_right(xp, dtype):
    phi = np.random.default_rng(1).normal(size=(7, 4)).astype(dtype)
    gram = np.asarray(ridge.block_gram(xp.asarray(phi)))
    wide = phi.astype(np.float64)
    assert gram.dtype == np.float64
    np.testing.assert_allclose(np.tril(gram), np.tril(wide.T @ wide), rtol=1e-13)


def test_centred_gram_equals_gram_of_centred_features(data):
    phi, _ = data
    lower = np.tril(phi.T @ phi)
    gram = ridge.centred_gram(lower, phi.sum(axis=0), len(phi))
    np.testing.assert_allclose(gram, centred(phi).T @ centred(phi), atol=1e-11)


def test_centred_gram_of_no_rows_is_zero():
    assert not ridge.centred_gram(np.zeros((3, 3)), np.zeros(3), 0.0).any()


@pytest.mark.parametrize("lam", [1e-6, 1e-2, 1.0, 1e3])
@pytest.mark.parametrize("rank_tol", [0.0, 1e-9, 0.999])
def test_fit_equals_dense_solve(data, lam, rank_tol):
    phi, B = data
    fitted = fit_gram(phi, lam, rank_tol)
    features = kept(phi, fitted)
    products = ridge.centred_products(fitted, features.T @ B, B.sum(axis=0))
    U = ridge.solve(fitted, products)
    found = features @ U - fitted.mean @ U
    # Dropped directions were shrunk below rank_tol or kept: never more is lost.
    lost = np.linalg.norm(found - dense_fit(phi, B, lam))
    assert lost <= max(1e-7, rank_tol if fitted.reduce is not None else 0.0) * (
        np.linalg.norm(B)
    )


def test_few_directions_are_kept_as_orthonormal_features(data):
    phi, B = data
    low = phi[:, :3] @ np.random.default_rng(2).normal(size=(3, 12))
    fitted = fit_gram(low, 1e-3, 1e-3)
    assert fitted.reduce is not None and fitted.reduce.shape == (12, 3)
    psi = kept(low, fitted)
    np.testing.assert_allclose(psi.T @ psi, np.eye(3), atol=1e-9)
    np.testing.assert_allclose(psi.sum(axis=0), 0.0, atol=1e-9)
    U = ridge.solve(fitted, psi.T @ B)
    np.testing.assert_allclose(psi @ U, dense_fit(low, B, 1e-3), atol=1e-6)


def test_direction_goes_only_where_its_shrinkage_is_below_rank_tol():
    values = np.array([1e6, 1e3, 1.0, 1e-4, 1e-5, 1e-6])
    fitted = ridge.factor_gram(np.diag(values), np.zeros(6), 1.0, 1e-3)
    assert fitted.reduce is not None
    np.testing.assert_allclose(
        np.sort(fitted.factor), values[2::-1] / (values[2::-1] + 1)
    )
    # The same spectrum with a small lam keeps every direction, however small.
    assert ridge.factor_gram(np.diag(values), np.zeros(6), 1e-9, 1e-3).reduce is None


@pytest.mark.parametrize("rank_tol", [0.0, 1e-3])
def test_singular_gram_without_lam_gives_the_pseudo_inverse(rank_tol):
    gram = np.diag([4.0, 2.0, 1.0, 0.0])
    fitted = ridge.factor_gram(gram, np.zeros(4), 0.0, rank_tol)
    assert fitted.reduce is None
    np.testing.assert_allclose(fitted.factor, np.diag([0.25, 0.5, 1.0, 0.0]))


def test_gram_of_constant_features_is_harmless():
    fitted = ridge.factor_gram(np.zeros((4, 4)), np.ones(4), 1.0, 1e-3)
    products = ridge.start_products(fitted, ridge.express(fitted, np.ones((4, 2))))
    assert not (ridge.solve(fitted, products)).any()


@pytest.mark.parametrize("rank", [3, 12])
def test_start_products_equal_those_of_the_rows(data, rank):
    phi, _ = data
    rng = np.random.default_rng(3)
    phi = phi[:, :rank] @ rng.normal(size=(rank, 12))
    weights = rng.normal(size=(12, 4))
    fitted = fit_gram(phi, 1e-3, 1e-3)
    assert (fitted.reduce is not None) == (rank == 3)
    features = kept(phi, fitted)
    own = ridge.express(fitted, weights)
    B = features @ own - fitted.mean @ own
    np.testing.assert_allclose(B, centred(phi) @ weights, atol=1e-8)
    expected = (features - fitted.mean).T @ B
    np.testing.assert_allclose(ridge.start_products(fitted, own), expected, atol=1e-8)
