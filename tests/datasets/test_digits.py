import numpy as np
import pytest

from manyview.datasets import digits, load_digits_views


def test_six_views_of_the_same_digits():
    data = load_digits_views(random_state=3)
    assert data.names == (
        "pixels", "gradients", "fourier", "profiles", "moments", "zones",
    )  # fmt: skip
    assert data.n_features == (64, 72, 39, 46, 18, 20)
    assert all(np.isfinite(a).all() and a.dtype == np.float32 for a in data.arrays)
    assert all((a.std(axis=0) > 0).mean() > 0.85 for a in data.arrays)


def test_the_shuffle_moves_rows_of_all_views_together():
    plain = load_digits_views(random_state=None)
    mixed = load_digits_views(random_state=3)
    order = np.random.default_rng(3).permutation(len(plain))
    for a, b in zip(plain.arrays, mixed.arrays, strict=True):
        np.testing.assert_allclose(a[order], b, atol=1e-5)
    np.testing.assert_array_equal(plain.labels[order], mixed.labels)


@pytest.fixture
def images():
    return np.random.default_rng(0).random((5, 8, 8))


def test_profiles_sum_the_ink(images):
    lines = digits.profiles(images)
    ink = images.sum(axis=(1, 2))
    for part in np.split(lines, [8, 16, 31], axis=1):
        np.testing.assert_allclose(part.sum(axis=1), ink)


def test_fourier_magnitudes_do_not_see_a_shift(images):
    moved = np.roll(images, (2, 3), axis=(1, 2))
    np.testing.assert_allclose(
        digits.fourier_magnitudes(images), digits.fourier_magnitudes(moved)
    )


def test_central_moments_do_not_see_brightness(images):
    one, two = digits.moments(images), digits.moments(images * 2)
    np.testing.assert_allclose(one[:, 1:], two[:, 1:])
    np.testing.assert_allclose(one[:, 0] * 2, two[:, 0])


def test_gradient_histograms_have_unit_length(images):
    np.testing.assert_allclose(
        np.linalg.norm(digits.gradient_histograms(images), axis=1), 1, atol=1e-5
    )


def test_zones_are_means(images):
    zones = digits.zones(images)
    np.testing.assert_allclose(zones[:, 0], images[:, :2, :2].mean(axis=(1, 2)))
    np.testing.assert_allclose(zones[:, -1], images[:, 4:, 4:].mean(axis=(1, 2)))


def test_each_view_knows_something_of_the_digits():
    from sklearn.neighbors import KNeighborsClassifier

    data = load_digits_views()
    half = len(data) // 2
    for view in data.arrays:
        near = KNeighborsClassifier(5).fit(view[:half], data.labels[:half])
        assert near.score(view[half:], data.labels[half:]) > 0.5
