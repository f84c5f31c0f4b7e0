"""Anchors, kernel widths and features against their definitions."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import S2MVTC
from manyview.engine.contract import open_engine
from manyview.errors import InputError, InputTypeError
from manyview.stages.anchors import (
    Kernel,
    anchor_count,
    anchors_of_views,
    choose_anchors,
    features,
    make_kernels,
    spacing,
)
from manyview.arrays.ops import expanded_distances, squared_distances
from manyview.stages.sampling import draw
from manyview.stages.scaling import Scaling, make_scaling
from manyview.views.views import Views

PLAIN = Scaling("none")


def brute(x, a):
    return ((x[:, None, :] - a[None, :, :]) ** 2).sum(axis=2)


def engine_of(*views, block_rows=None, present=None):
    return open_engine(
        Views(list(views), present=present), np.float64, block_rows=block_rows
    )


def widths(engine, *anchors):
    scalings = (PLAIN,) * len(anchors)
    return [k.width for k in make_kernels(engine, "rbf", scalings, anchors)]


def test_squared_distances_equal_brute_force(xp):
    rng = np.random.default_rng(0)
    x, a = rng.normal(size=(9, 4)), rng.normal(size=(5, 4))
    found = np.asarray(squared_distances(xp.asarray(x), a))
    np.testing.assert_allclose(found, brute(x, a), atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squared_distances_of_sparse_rows_keep_the_dtype(dtype):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(9, 4)) * (rng.random((9, 4)) < 0.5)
    found = squared_distances(sp.csr_array(x.astype(dtype)), x[:3])
    assert found.dtype == dtype
    np.testing.assert_allclose(found, brute(x, x[:3]), atol=1e-5)


@pytest.mark.parametrize("width", [1, 6, 7, 14])
def test_lengths_enter_the_product_of_views_of_any_width(xp, width):
    rng = np.random.default_rng(width)
    x, a = rng.normal(size=(5, width)), rng.normal(size=(4, width))
    found = np.asarray(expanded_distances(xp.asarray(x), xp.asarray(a)))
    np.testing.assert_allclose(found, brute(x, a), atol=1e-12)


def test_rows_that_are_anchors_have_features_of_one_to_rounding():
    x = np.random.default_rng(3).normal(size=(40, 6)).astype(np.float32) + 5.0
    kernel = Kernel("rbf", x, 0.5)
    own = features(x, PLAIN, kernel).diagonal()
    np.testing.assert_allclose(own, 1.0, atol=1e-4)


def test_squared_distances_are_never_negative():
    x = np.full((3, 5), 1e8) + np.random.default_rng(2).random((3, 5))
    assert squared_distances(x, x).min() >= 0


@pytest.mark.parametrize(
    ("n_anchors", "n_samples", "n_clusters", "expected"),
    [
        (1000, 10_000, 8, 1000),
        (1000, 100, 8, 50),
        (1000, 20, 8, 20),
        (1000, 30, 8, 24),
        (5, 100, 8, 5),
        (1000, 1, 1, 1),
        (1000, 2, 1, 2),
    ],
)
def test_anchor_count(n_anchors, n_samples, n_clusters, expected):
    assert anchor_count(n_anchors, n_samples, n_clusters) == expected


def test_kernel_width_is_twice_the_mean_nearest_distance():
    rng = np.random.default_rng(3)
    x, a = rng.normal(size=(50, 3)), rng.normal(size=(7, 3))
    expected = 2 * np.sqrt(brute(x, a).min(axis=1)).mean()
    assert widths(engine_of(x), a) == [pytest.approx(expected, rel=1e-12)]
    assert widths(engine_of(x, block_rows=7), a) == [pytest.approx(expected, rel=1e-12)]


def test_anchors_among_the_rows_count_as_the_authors_do_it():
    x = np.random.default_rng(4).normal(size=(50, 3))
    nearest = np.sqrt(brute(x, x[:10]).min(axis=1))
    assert widths(engine_of(x), x[:10]) == [pytest.approx(2 * nearest.mean())]


def test_width_uses_the_non_zero_distances_where_most_are_zero():
    x = np.random.default_rng(5).normal(size=(20, 3))
    nearest = np.sqrt(brute(x, x[:15]).min(axis=1))
    assert widths(engine_of(x), x[:15]) == [pytest.approx(2 * nearest[15:].mean())]


def test_width_where_every_row_is_an_anchor_is_the_anchors_spacing():
    x = np.random.default_rng(6).normal(size=(20, 3))
    apart = brute(x, x) + np.diag(np.full(20, np.inf))
    expected = np.sqrt(apart.min(axis=1)).mean()
    assert spacing(x) == pytest.approx(expected)
    assert widths(engine_of(x), x) == [pytest.approx(2 * expected)]


def test_spacing_ignores_copies_and_needs_two_places():
    assert spacing(np.array([[0.0], [0.0], [3.0]])) == pytest.approx(3.0)
    assert spacing(np.ones((4, 2))) == 0.0
    assert spacing(np.ones((1, 2))) == 0.0


def test_rows_without_the_view_do_not_count_for_its_width():
    rng = np.random.default_rng(7)
    x, other, a = rng.normal(size=(30, 3)), rng.normal(size=(30, 2)), np.eye(3)
    present = np.ones((30, 2), dtype=bool)
    present[::3, 0] = False
    engine = engine_of(x, other, present=present)
    expected = 2 * np.sqrt(brute(x, a).min(axis=1))[present[:, 0]].mean()
    assert widths(engine, a, other[:4])[0] == pytest.approx(expected)


def test_linear_kernel_has_no_width_and_needs_no_pass():
    assert make_kernels(None, "linear", (PLAIN,), (np.eye(2),))[0].width == 0.0


def test_rbf_features_are_the_papers(xp):
    rng = np.random.default_rng(8)
    x, a = rng.normal(size=(9, 4)), rng.normal(size=(5, 4))
    found = np.asarray(features(xp.asarray(x), PLAIN, Kernel("rbf", a, 1.7)))
    np.testing.assert_allclose(found, np.exp(-brute(x, a) / (2 * 1.7**2)), atol=1e-12)


def test_linear_features_are_inner_products():
    rng = np.random.default_rng(9)
    x, a = rng.normal(size=(9, 4)), rng.normal(size=(5, 4))
    kernel = Kernel("linear", a, 0.0)
    np.testing.assert_allclose(features(x, PLAIN, kernel), x @ a.T)
    sparse = features(sp.csr_array(x), PLAIN, kernel)
    assert isinstance(sparse, np.ndarray)
    np.testing.assert_allclose(sparse, x @ a.T)


def test_features_do_not_write_into_the_rows():
    x = np.ones((3, 2))
    x.flags.writeable = False
    features(x, PLAIN, Kernel("rbf", np.eye(2), 1.0))


def test_zero_width_gives_equal_features_not_nan():
    kernel = Kernel("rbf", np.ones((2, 3)), 0.0)
    assert (features(np.ones((4, 3)), PLAIN, kernel) == 1.0).all()


@pytest.fixture
def drawn():
    rng = np.random.default_rng(10)
    engine = engine_of(rng.normal(size=(60, 3)), rng.normal(size=(60, 2)))
    found = draw(engine, 60, 0)
    return found, tuple(make_scaling(m, "standard") for m in found.moments)


def test_random_anchors_are_the_first_drawn_rows_prepared(drawn):
    found, scalings = drawn
    anchors = choose_anchors(found, scalings, "random", 9, 0)
    for v, a in enumerate(anchors):
        moments = found.moments[v]
        rows = (found.view(v)[:9] - moments.mean) / moments.std
        np.testing.assert_allclose(a, rows, atol=1e-12)


def test_given_anchors_are_in_input_units(drawn):
    found, scalings = drawn
    given = [found.view(0)[:4], found.view(1)[:6]]
    first, second = choose_anchors(found, scalings, given, 99, 0)
    assert first.shape == (4, 3) and second.shape == (6, 2)
    moments = found.moments[1]
    np.testing.assert_allclose(second, (given[1] - moments.mean) / moments.std)


@pytest.mark.parametrize(
    "given", [[np.ones((4, 3))], [np.ones((4, 3)), np.ones((4, 5))]]
)
def test_given_anchors_must_fit_the_views(drawn, given):
    found, scalings = drawn
    with pytest.raises(InputError, match=r"given anchors have \[3.*data \[3, 2\]"):
        choose_anchors(found, scalings, given, 99, 0)


def test_kmeans_anchors_are_seeded_and_fewer_than_rows():
    rows = np.random.default_rng(11).normal(size=(200, 3))
    first, again = anchors_of_views([rows], 8, 3)[0], anchors_of_views([rows], 8, 3)[0]
    assert first.shape == (8, 3)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_array_equal(anchors_of_views([rows], 200, 3)[0], rows)


def test_kmeans_anchors_of_few_distinct_rows_give_no_warning(recwarn):
    assert anchors_of_views([np.repeat(np.eye(3), 10, axis=0)], 9, 0)[0].shape == (9, 3)
    assert not recwarn.list


def test_kmeans_anchors_of_sparse_rows_equal_those_of_dense_ones():
    rng = np.random.default_rng(12)
    rows = rng.random((80, 5)) * (rng.random((80, 5)) < 0.4)
    dense = anchors_of_views([rows], 6, 0)[0]
    found = anchors_of_views([sp.csr_array(rows)], 6, 0)[0]
    np.testing.assert_allclose(found, dense, atol=1e-15)


def test_anchors_do_not_feel_rounding_where_rows_tie():
    # Many anchors: k-means++ must choose between rows that are mutual neighbours.
    rng = np.random.default_rng(14)
    rows = rng.normal(size=(300, 6))
    noisy = rows + 1e-15 * rng.normal(size=rows.shape)
    first, second = (
        anchors_of_views([rows], 150, 0)[0],
        anchors_of_views([noisy], 150, 0)[0],
    )
    np.testing.assert_allclose(first, second, atol=1e-12)


@pytest.mark.parametrize("given", [-1, None, np.zeros((3, 2)), object(), [1, 2]])
def test_anchors_of_another_kind_are_refused_by_name(three_views, given):
    views, _ = three_views
    with pytest.raises(InputTypeError, match="anchors"):
        S2MVTC(3, anchors=given).fit(views)


def test_a_flag_is_true_or_false(three_views):
    views, _ = three_views
    with pytest.raises(InputTypeError, match="consensus must be True or False"):
        S2MVTC(3, consensus=np.array([True, False])).fit(views)
