"""The ridge fit and its weight, from small matrices, equal those from all rows."""

import numpy as np
import pytest

from manyview.stages import ridge
from manyview.stages.ridge import (
    LEAST_EXPLAINED,
    SHARES,
    Target,
    choose_weight,
    choose_weights,
    with_weights,
)


def centred(phi):
    return phi - phi.mean(axis=0)


def fit_gram(phi, lam, rank_tol):
    gram = ridge.centred_gram(ridge.block_gram(phi)[0], phi.sum(axis=0), len(phi))
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
    gram = np.asarray(ridge.block_gram(xp.asarray(phi))[0])
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


@pytest.mark.parametrize("size", [1, 3, 5, 7, 10])
def test_panels_of_any_width_fill_the_lower_triangle(xp, size):
    phi = np.random.default_rng(size).normal(size=(6, size))
    gram = np.asarray(ridge.block_gram(xp.asarray(phi))[0])
    np.testing.assert_allclose(np.tril(gram), np.tril(phi.T @ phi), atol=1e-13)


def test_float32_is_only_multiplied_as_such_where_that_is_asked_for():
    phi = np.random.default_rng(4).normal(size=(9, 4))
    narrow = phi.astype(np.float32)
    quick = ridge.block_gram(narrow, exact=False)[0]
    assert quick.dtype == np.float32
    np.testing.assert_allclose(np.tril(quick), np.tril(phi.T @ phi), rtol=1e-5)
    assert ridge.block_gram(phi, exact=False)[0].dtype == np.float64
    assert ridge.block_gram(narrow)[0].dtype == np.float64


def test_quick_products_of_a_device_are_float64(xp):
    if xp.__name__.endswith("numpy"):
        pytest.skip("NumPy multiplies float32 as such")
    phi = xp.asarray(np.random.default_rng(4).normal(size=(9, 4)).astype(np.float32))
    assert ridge.block_gram(phi, exact=False)[0].dtype == xp.float64


@pytest.mark.parametrize("n_rows", [1, 2])
def test_few_rows_are_centred_by_their_own_number(n_rows):
    phi = np.arange(1.0, 1 + 3 * n_rows).reshape(n_rows, 3)
    gram = ridge.centred_gram(np.tril(phi.T @ phi), phi.sum(axis=0), n_rows)
    np.testing.assert_allclose(gram, centred(phi).T @ centred(phi), atol=1e-12)


def test_what_stands_above_the_diagonal_means_nothing(data):
    phi, _ = data
    dirty = np.where(np.tri(12, dtype=bool), phi.T @ phi, np.nan)
    gram = ridge.centred_gram(dirty, phi.sum(axis=0), len(phi))
    np.testing.assert_allclose(gram, centred(phi).T @ centred(phi), atol=1e-11)


def rotated(values, seed=5):
    """A Gram with these eigenvalues."""
    q = np.linalg.qr(np.random.default_rng(seed).normal(size=(len(values),) * 2))[0]
    return (q * np.asarray(values)) @ q.T


@pytest.mark.parametrize("lam", [0.0, 1e-2, 1.0])
def test_without_psi_the_factor_holds_the_same_directions(data, lam):
    phi, B = data
    low = phi[:, :3] @ np.random.default_rng(2).normal(size=(3, 12))
    gram = centred(low).T @ centred(low)
    mean = low.mean(axis=0)
    short = ridge.factor_gram(gram, mean, lam, 1e-3)
    plain = ridge.factor_gram(gram, mean, lam, 1e-3, reduces=False)
    assert plain.reduce is None and plain.factor.shape == (12, 12)
    np.testing.assert_array_equal(plain.mean, mean)
    np.testing.assert_array_equal(plain.gram, gram)
    np.testing.assert_array_equal(short.gram, gram)
    np.testing.assert_array_equal(short.mean, np.zeros(3))
    psi = kept(low, short)
    by_psi = psi @ ridge.solve(short, psi.T @ B)
    products = ridge.centred_products(plain, low.T @ B, B.sum(axis=0))
    by_phi = centred(low) @ ridge.solve(plain, products)
    np.testing.assert_allclose(by_phi, by_psi, atol=1e-8)
    if lam:
        np.testing.assert_allclose(by_phi, dense_fit(low, B, lam), atol=1e-6)


def test_half_of_the_directions_is_few_and_more_is_not():
    lam, tiny = 1.0, 1e-9
    half = ridge.factor_gram(rotated([5, 4, tiny, tiny]), np.zeros(4), lam, 1e-3)
    assert half.reduce is not None and half.reduce.shape == (4, 2)
    most = ridge.factor_gram(rotated([5, 4, 3, tiny]), np.zeros(4), lam, 1e-3)
    assert most.reduce is None


def test_no_direction_is_dropped_without_a_rank_tol():
    values = [1.0, 1e-9, 1e-9, 1e-9]
    fitted = ridge.factor_gram(rotated(values), np.zeros(4), 1.0, 0.0)
    assert fitted.reduce is None
    inverse = np.linalg.inv(rotated(values) + np.eye(4))
    np.testing.assert_allclose(inverse_of(fitted), inverse, atol=1e-12)


def test_without_a_rank_tol_phi_is_kept_however_few_directions_there_are():
    fitted = ridge.factor_gram(np.diag([1.0, 0.0, 0.0, 0.0]), np.zeros(4), 1.0, 0.0)
    assert fitted.reduce is None
    np.testing.assert_allclose(inverse_of(fitted), np.diag([0.5, 1.0, 1.0, 1.0]))


@pytest.mark.parametrize("rank_tol", [1.0, 2.0])
def test_a_high_rank_tol_drops_whatever_lam_shrinks_more(rank_tol):
    """At 1 every direction is shrunk below it: none is left."""
    fitted = ridge.factor_gram(np.eye(4), np.zeros(4), 1.0, rank_tol)
    assert fitted.reduce is not None and fitted.reduce.shape == (4, 0)


def test_a_direction_on_the_border_stays():
    """Shrinkage of exactly rank_tol: 1 / (1 + 1) = 0.5."""
    values = np.array([1.0, 8.0])
    np.testing.assert_array_equal(ridge._kept(values, 1.0, 0.5), [True, True])
    np.testing.assert_array_equal(ridge._kept(values, 1.001, 0.5), [False, True])


def test_what_is_rounding_next_to_the_largest_is_dropped_even_without_lam():
    values = np.array([0.0, 0.9 * ridge.FLOOR, 1.1 * ridge.FLOOR, 1e-3, 1.0])
    wanted = [False, False, True, True, True]
    np.testing.assert_array_equal(ridge._kept(values, 0.0, 1e-3), wanted)
    np.testing.assert_array_equal(ridge._kept(np.zeros(3), 0.0, 1e-3), [False] * 3)


def inverse_of(made):
    """What a ridge that keeps Phi does to the products."""
    return ridge.solve(made, np.eye(len(made.gram)))


@pytest.mark.parametrize("lam", [0.0, 1e-16, 1e-3, 1.0, 100.0])
def test_every_way_to_the_inverse_agrees_where_it_is_safe(lam):
    gram = rotated([3.0, 2.0, 1.0, 0.5])
    wanted = np.linalg.inv(gram + lam * np.eye(4))
    made = ridge.factor_gram(gram, np.zeros(4), lam, 0.0)
    ranked = ridge.factor_gram(gram, np.zeros(4), lam, 1e-30)
    assert isinstance(made.factor, ridge.Factored) == (lam > 1e-10)
    assert isinstance(ranked.factor, ridge.Weighed) == (lam > 1e-10)
    for found in (
        inverse_of(made),
        inverse_of(ranked),
        ridge._inverse_by_eigenvectors(gram, lam),
        ridge._inverse(gram, lam),
    ):
        np.testing.assert_allclose(found, wanted, atol=1e-12)


@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_a_device_keeps_gram_mean_and_inverse(lam):
    xp = pytest.importorskip("torch")
    gram, mean = rotated([3.0, 2.0, 1.0, 0.5]), np.arange(4.0)
    made = ridge.factor_gram(xp.asarray(gram), xp.asarray(mean), lam, 1e-3)
    assert made.reduce is None
    np.testing.assert_array_equal(np.asarray(made.mean), mean)
    np.testing.assert_array_equal(np.asarray(made.gram), gram)
    found = ridge.solve(made, xp.asarray(np.eye(4)))
    wanted = np.linalg.inv(gram + lam * np.eye(4))
    np.testing.assert_allclose(np.asarray(found), wanted, atol=1e-12)


def test_at_or_below_the_rounding_of_the_trace_nothing_is_positive_definite():
    gram = np.diag([0.25, 0.25, 0.25, 0.25])
    assert not ridge._is_safe(gram, ridge.FLOOR)
    assert ridge._is_safe(gram, 2 * ridge.FLOOR)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_rounding_is_relative_to_the_gram(scale):
    gram = scale * np.diag([0.9 * ridge.FLOOR, 1.1 * ridge.FLOOR, 1.0])
    found = ridge._inverse_by_eigenvectors(gram, 0.0)
    wanted = np.diag([0.0, 1 / gram[1, 1], 1 / scale])
    np.testing.assert_allclose(found, wanted, rtol=1e-9)
    unit = scale * np.eye(4) / 4
    assert not ridge._is_safe(unit, 0.9 * scale * ridge.FLOOR)
    assert ridge._is_safe(unit, 1.1 * scale * ridge.FLOOR)


def test_directions_of_rounding_are_left_out_of_the_inverse():
    gram = np.diag([0.9 * ridge.FLOOR, 1.1 * ridge.FLOOR, 1.0])
    found = ridge._inverse_by_eigenvectors(gram, 0.0)
    np.testing.assert_allclose(found, np.diag([0.0, 1 / gram[1, 1], 1.0]), rtol=1e-9)
    assert not ridge._inverse_by_eigenvectors(np.zeros((3, 3)), 0.0).any()


@pytest.mark.parametrize("rank_tol", [0.0, 0.5])
def test_another_weight_gives_the_ridge_made_with_it(rank_tol):
    rng = np.random.default_rng(8)
    Phi = rng.normal(size=(40, 6)) * [9.0, 7.0, 0.1, 0.1, 0.1, 0.1]
    Phi -= Phi.mean(axis=0)
    made = ridge.factor_gram(Phi.T @ Phi, np.zeros(6), 5.0, rank_tol)
    assert (made.reduce is None) == (rank_tol == 0.0)
    B = rng.normal(size=(40, 2))
    kept = Phi if made.reduce is None else ridge.reduced(Phi, np.zeros(6), made.reduce)
    fit = kept @ ridge.solve(ridge.reweighed(made, 0.3), kept.T @ B)
    basis = Phi if made.reduce is None else kept @ (kept.T @ Phi)
    inner = basis.T @ basis + 0.3 * np.eye(6)
    np.testing.assert_allclose(fit, basis @ np.linalg.solve(inner, basis.T @ B))


def many_features(n_rows=20_000, size=40):
    """Float32 features of mean near 1, whose spread is small."""
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(n_rows, 3)) @ rng.normal(size=(3, size))
    return (0.8 + 0.05 * np.tanh(shared)).astype(np.float32)


def block_errors(phi, centre, n_rows=500):
    """Spectral norm of the error of a Gram whose blocks are float32."""
    exact = (phi.astype(np.float64) - centre).T @ (phi.astype(np.float64) - centre)
    quick = np.zeros_like(exact)
    for first in range(0, len(phi), n_rows):
        quick += ridge.block_gram(phi[first : first + n_rows] - centre, exact=False)[0]
    return np.linalg.norm(quick - exact, 2)


def test_the_rounding_of_a_quick_gram_is_foreseen_from_a_few_rows():
    phi = many_features()
    plain = block_errors(phi, np.zeros(40, np.float32))
    centre = ridge.quick_centre(phi[:500], 1.0, len(phi))
    error = block_errors(phi, centre)
    assert error < plain / 50
    least = error / ridge.MOST_ROUNDING
    assert ridge.quick_centre(phi[:500], 4.0 * least, len(phi)) is not None
    assert ridge.quick_centre(phi[:500], least / 4.0, len(phi)) is None


def test_a_quick_centre_is_the_mean_of_every_column():
    phi = many_features(500)
    phi[:, 0] += 3.0
    centre = ridge.quick_centre(phi, np.inf, len(phi))
    assert centre.dtype == np.float32
    wanted = phi.astype(np.float64).mean(axis=0)
    np.testing.assert_allclose(centre, wanted, rtol=1e-7)


def test_rounding_grows_with_the_root_of_the_blocks():
    some = many_features(500)
    wide = some.astype(np.float64)
    error = wide.T @ wide - ridge.block_gram(some, exact=False)[0]
    wanted = 2.0 * np.linalg.norm(error) / np.sqrt(40)
    assert ridge._rounding(some, 500) == pytest.approx(wanted, rel=1e-6)
    assert ridge._rounding(some, 8000) == pytest.approx(4.0 * wanted, rel=1e-6)


def test_only_float32_features_of_the_host_have_a_quick_gram(xp):
    phi = many_features(50)
    assert ridge.quick_centre(phi.astype(np.float64), 1.0, 100) is None
    if not xp.__name__.endswith("numpy"):
        assert ridge.quick_centre(xp.asarray(phi), 1.0, 100) is None


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_column_sums_come_with_the_gram_in_float64(xp, dtype, exact):
    phi = many_features(3000).astype(dtype)
    sums = ridge.block_gram(xp.asarray(phi), exact=exact)[1]
    assert sums.dtype == xp.float64
    expected = phi.astype(np.float64).sum(axis=0)
    quick = xp.__name__.endswith("numpy") and dtype == np.float32 and not exact
    rtol = 1e-6 if quick else 1e-13
    np.testing.assert_allclose(np.asarray(sums), expected, rtol=rtol)


def problem(noise, n=80, m=12, seed=0):
    """Centred features of unequal size and what they are to predict."""
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(n, m)) * np.geomspace(3.0, 0.05, m)
    Phi -= Phi.mean(axis=0)
    B = Phi @ rng.normal(size=(m, 4)) + noise * rng.normal(size=(n, 4)) + 7.0
    return Phi, B


def target_of(features, B):
    away = B - B.mean(axis=0)
    return Target(features.T @ away, float((away**2).sum()), len(B))


def error_from_all_rows(Phi, B, lam):
    """GCV by its definition, with the n × n matrix H."""
    away = B - B.mean(axis=0)
    H = Phi @ np.linalg.solve(Phi.T @ Phi + lam * np.eye(Phi.shape[1]), Phi.T)
    return ((away - H @ away) ** 2).sum() / (1.0 - np.trace(H) / len(B)) ** 2


def error_of(made, lam, target):
    ((_, error),) = with_weights(made, [lam], target)
    return error


def plain_ridge(Phi, lam):
    return ridge.factor_gram(Phi.T @ Phi, np.zeros(Phi.shape[1]), lam, 0.0)


@pytest.mark.parametrize("lam", [1e-3, 0.5, 40.0])
def test_error_from_small_matrices_equals_the_one_from_all_rows(lam):
    Phi, B = problem(noise=1.0)
    made, wanted = plain_ridge(Phi, 1.0), error_from_all_rows(Phi, B, lam)
    inverted = made._replace(factor=inverse_of(made))  # as on a device
    for one in (made, inverted):
        found = error_of(one, lam, target_of(Phi, B))
        assert found == pytest.approx(wanted, rel=1e-9)


def test_error_of_leading_directions_is_that_of_the_features_they_span():
    Phi, B = problem(noise=1.0)
    lam, zero = 30.0, np.zeros(12)
    made = ridge.factor_gram(Phi.T @ Phi, zero, lam, 0.5)
    assert made.reduce is not None
    Psi = ridge.reduced(Phi, zero, made.reduce)
    found = error_of(made, lam, target_of(Psi, B))
    U = np.linalg.svd(Phi, full_matrices=False)[0][:, : Psi.shape[1]]
    few = U @ (U.T @ Phi)
    assert found == pytest.approx(error_from_all_rows(few, B, lam), rel=1e-8)


@pytest.mark.parametrize("noise", [0.0, 0.3, 3.0])
@pytest.mark.parametrize("unit", [1.0, 1e-4])
def test_the_weight_of_least_error_is_chosen(noise, unit):
    Phi, B = (unit * x for x in problem(noise))
    size = np.trace(Phi.T @ Phi) / 12
    errors = [error_from_all_rows(Phi, B, s * size) for s in SHARES]
    best = SHARES[int(np.argmin(errors))] * size
    made, explained = choose_weight(plain_ridge(Phi, 1.0), target_of(Phi, B))
    inverse = np.linalg.inv(Phi.T @ Phi + best * np.eye(12))
    np.testing.assert_allclose(inverse_of(made), inverse, rtol=1e-8)
    square = ((B - B.mean(axis=0)) ** 2).sum()
    assert explained == pytest.approx(max(1 - min(errors) / square, LEAST_EXPLAINED))


def test_more_noise_asks_for_a_larger_weight_and_explains_less():
    found = []
    for noise in (0.0, 5.0):
        Phi, B = problem(noise)
        made, explained = choose_weight(plain_ridge(Phi, 1.0), target_of(Phi, B))
        found.append((np.trace(inverse_of(made)), explained))
    assert found[0][0] > found[1][0] and found[0][1] > 0.99 > found[1][1]


def test_features_that_tell_nothing_keep_their_ridge():
    nothing = plain_ridge(np.zeros((9, 3)), 0.0)
    target = Target(np.zeros((3, 2)), 5.0, 9)
    assert choose_weight(nothing, target) == (nothing, LEAST_EXPLAINED)
    Phi, _ = problem(0.0)
    constant = Target(np.zeros((12, 2)), 0.0, 80)
    assert choose_weight(plain_ridge(Phi, 1.0), constant)[1] == LEAST_EXPLAINED


def test_noise_explains_next_to_nothing():
    rng = np.random.default_rng(3)
    Phi, B = problem(0.0)
    noise = rng.normal(size=B.shape)
    _, explained = choose_weight(plain_ridge(Phi, 1.0), target_of(Phi, noise))
    assert explained == LEAST_EXPLAINED


def test_weights_are_chosen_view_by_view():
    of_views = [problem(noise, seed=seed) for seed, noise in enumerate((0.0, 1.0, 5.0))]
    ridges = tuple(plain_ridge(Phi, 1.0) for Phi, _ in of_views)
    targets = [target_of(Phi, B) for Phi, B in of_views]
    chosen, explained = choose_weights(ridges, targets)
    for v, pair in enumerate(zip(ridges, targets, strict=True)):
        alone, share = choose_weight(*pair)
        assert explained[v] == share
        np.testing.assert_array_equal(inverse_of(chosen[v]), inverse_of(alone))
    with pytest.raises(ValueError, match="shorter"):
        choose_weights(ridges, targets[:2])


def test_one_row_leaves_as_little_free_as_it_has():
    target = Target(np.zeros((1, 1)), 3.0, 1.0)
    assert ridge._error(1.0, 0.5, target) == pytest.approx(2.0 / 0.5**2)
