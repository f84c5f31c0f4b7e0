"""Column moments in one pass, and the preparation they lead to."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from manyview.engine.local import LocalEngine, open_engine
from manyview.errors import InputError
from manyview.stages.scaling import (
    SCALINGS,
    along_directions,
    apply_scaling,
    correlation_level,
    hide_empty_rows,
    inverse,
    make_scaling,
    mark_gaps,
    measure,
    near_one,
    suggest,
)
from manyview.views.views import Block, Views


def moments_of(x, block_rows=None, dtype=np.float64, present=None):
    views = Views([x, np.ones((x.shape[0], 1))], present=present)
    engine = LocalEngine(views, dtype, block_rows=block_rows, view_order=(0, 1))
    return measure(engine)[0]


def scaling_of(x, kind, dtype=np.float64):
    return make_scaling(moments_of(x, dtype=dtype), kind)


def suggestion(x, n_clusters=3):
    return suggest(moments_of(x), x, n_clusters)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    return rng.normal(3.0, [0.1, 1.0, 50.0], size=(80, 3))


@given(st.integers(1, 30), st.integers(1, 31), st.integers(0, 99))
def test_moments_do_not_depend_on_blocks(n, block_rows, seed):
    x = np.random.default_rng(seed).normal(1e3, 1.0, size=(n, 3))
    found = moments_of(x, block_rows)
    assert found.n_rows == n
    np.testing.assert_allclose(found.mean, x.mean(axis=0), rtol=1e-12)
    spread = x.std(axis=0, ddof=1) if n > 1 else np.zeros(3)
    np.testing.assert_allclose(found.std, spread, rtol=1e-7, atol=1e-12)


def test_moments_keep_their_digits_far_from_zero():
    x = 1e6 + np.random.default_rng(1).normal(size=(500, 2))
    found = moments_of(x, block_rows=50)
    np.testing.assert_allclose(found.std, x.std(axis=0, ddof=1), rtol=1e-9)


@pytest.mark.parametrize("offset", [0.0, 3.0, 1e6])
def test_moments_of_tensors_equal_those_of_arrays(offset):
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).normal(size=(500, 4)) + offset
    x[:, 3] = offset
    for rows in (x, x.astype(np.float32)):
        wanted = measure(open_engine(Views([rows]), rows.dtype))[0]
        near = Views([torch.as_tensor(rows)])
        found = measure(open_engine(near, rows.dtype))[0]
        np.testing.assert_allclose(found.mean, wanted.mean, rtol=1e-13, atol=1e-13)
        np.testing.assert_allclose(found.std, wanted.std, rtol=1e-11, atol=1e-13)


def test_moments_count_only_rows_that_have_the_view(table):
    present = np.ones((80, 2), dtype=bool)
    present[1::3, 0] = False
    found = moments_of(table, 11, present=present)
    there = table[present[:, 0]]
    assert found.n_rows == len(there)
    np.testing.assert_allclose(found.mean, there.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.std, there.std(axis=0, ddof=1), rtol=1e-12)


def test_block_without_the_view_changes_nothing(table):
    present = np.ones((80, 2), dtype=bool)
    present[:20, 0] = False
    found = moments_of(table, 10, present=present)
    np.testing.assert_allclose(found.mean, table[20:].mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(found.std, table[20:].std(axis=0, ddof=1), rtol=1e-12)


def test_sparse_moments_equal_dense_ones():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(60, 5)) * (rng.random((60, 5)) < 0.3)
    dense, sparse = moments_of(x), moments_of(sp.csr_array(x), 13)
    assert sparse.sparse and not dense.sparse
    for name in ("mean", "std"):
        np.testing.assert_allclose(getattr(sparse, name), getattr(dense, name))


@pytest.mark.parametrize("value", [0.0, 0.1, 1e30, 1 / 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rounding_of_a_constant_column_is_no_spread(value, dtype):
    x = np.full((10_001, 2), value, dtype=dtype)
    x[::2, 1] = np.nextafter(x[::2, 1], dtype(2 * value))
    found = moments_of(x, 1000, dtype=dtype)
    assert not found.std.any() and not found.inverse_std.any()


# Seconds since 1970, a minute apart: float32 has one number for all of them.
@pytest.mark.parametrize("kind", [np.float64, np.int64, np.uint32])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_times_keep_their_digits_through_centring(kind, dtype):
    times = (1_700_000_000 + 60 * (np.arange(90) % 2)).astype(kind)[:, None]
    found = moments_of(times, 20, dtype=dtype)
    np.testing.assert_allclose(found.std, times.std(ddof=1), rtol=1e-9)
    block = Views([times]).block(slice(0, 90), dtype)
    prepared = apply_scaling(block.views[0], make_scaling(found, "standard"))
    assert prepared.dtype == dtype
    np.testing.assert_allclose(np.abs(prepared), 1.0, atol=0.01)
    assert suggest(found, block.views[0], 2) == "standard"


def test_inverse_of_zero_is_zero():
    np.testing.assert_array_equal(inverse(np.array([0.0, 2.0])), [0.0, 0.5])


def test_standard_scaling(table):
    scaling = scaling_of(table, "standard")
    found = apply_scaling(table, scaling)
    np.testing.assert_allclose(found.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(found.std(axis=0, ddof=1), 1.0)


def test_global_scaling_keeps_the_columns_ratios(table):
    scaling = scaling_of(table, "global")
    found = apply_scaling(table, scaling)
    ratio = found.std(axis=0) / table.std(axis=0)
    np.testing.assert_allclose(ratio, ratio[0])
    assert np.mean(found.var(axis=0, ddof=1)) == pytest.approx(1.0)


def test_no_scaling_only_centres(table):
    found = apply_scaling(table, scaling_of(table, None))
    np.testing.assert_allclose(found, table - table.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("power", [-100, -60, 60, 100])
def test_no_scaling_brings_near_one_what_could_not_be_squared(table, make, power):
    far = (table * 2.0**power).astype(np.float32)
    scaling = scaling_of(make(far), None, np.float32)
    found = apply_scaling(make(far), scaling)
    sized = found.toarray() if sp.issparse(found) else found
    assert sized.dtype == np.float32
    assert 0.1 < np.abs(sized).mean() < 10.0
    # A power of two: every digit is still there.
    mantissas = np.frexp(sized if scaling.shift is None else sized.std(axis=0))[0]
    plain = far if scaling.shift is None else (far - scaling.shift).std(axis=0)
    np.testing.assert_allclose(mantissas, np.frexp(plain)[0], rtol=1e-5)


@pytest.mark.parametrize(("size", "factor"), [(0.0, 1.0), (1e12, 1.0), (1e-12, 1.0)])
def test_what_is_near_enough_stays_as_it_is(size, factor):
    assert near_one(size) == factor
    assert 0.5 < 2.0**-300 * near_one(2.0**-300) < 2.0
    assert np.isfinite(near_one(5e-324))


@pytest.mark.parametrize(
    ("factor", "dtype", "seen"),
    [
        (1e37, "float32", "about"),
        (1e-37, "float32", "about"),
        (1e153, "float64", r"about \de\+153"),
        (1e290, "float64", "(about 4e|beyond 1e150)"),
    ],
)
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_values_without_room_are_refused_by_number_and_size(make, factor, dtype, seen):
    x = np.random.default_rng(0).normal(size=(30, 3)) * factor
    with pytest.raises(InputError, match=f"number 0 .*{seen}.*{dtype} no room"):
        moments_of(make(x.astype(dtype)), dtype=np.dtype(dtype))


def test_a_column_too_small_to_compute_with_is_constant(table):
    table[:, 1] *= 1e-40
    found = moments_of(table.astype(np.float32), dtype=np.float32)
    assert (found.std > 0).tolist() == [True, False, True]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_unit_rows_have_length_one_and_zero_rows_stay(make):
    x = np.array([[3.0, 4.0], [0.0, 0.0], [-1.0, 0.0]])
    found = apply_scaling(make(x), scaling_of(make(x), "unit"))
    dense = found.toarray() if sp.issparse(found) else found
    np.testing.assert_allclose(dense, [[0.6, 0.8], [0.0, 0.0], [-1.0, 0.0]])


@pytest.mark.parametrize("kind", SCALINGS[1:])
def test_sparse_stays_sparse_and_untouched(kind):
    x = sp.csr_array(np.array([[1.0, 0.0], [0.0, 4.0], [2.0, 0.0]]))
    before = x.toarray()
    found = apply_scaling(x, scaling_of(x, kind))
    assert sp.issparse(found)
    np.testing.assert_array_equal(x.toarray(), before)


@pytest.mark.parametrize("factor", [1e-30, 1e-3, 1e3, 1e30])
@pytest.mark.parametrize("kind", ["standard", "global", "cosine"])
def test_units_of_the_view_do_not_matter(table, factor, kind):
    plain = apply_scaling(table, scaling_of(table, kind))
    scaled = table * factor
    found = apply_scaling(scaled, scaling_of(scaled, kind))
    np.testing.assert_allclose(found, plain, rtol=1e-6, atol=1e-9)


def test_cosine_scaling_is_the_unit_row_of_centred_features(table):
    found = apply_scaling(table, scaling_of(table, "cosine"))
    away = table - table.mean(axis=0)
    expected = away / np.linalg.norm(away, axis=1, keepdims=True)
    np.testing.assert_allclose(found, expected)


def test_root_scaling_is_the_unit_row_of_square_roots():
    x = np.array([[9.0, 16.0], [0.0, 0.0], [-4.0, 0.0]])
    for made in (x, sp.csr_array(x)):
        found = apply_scaling(made, scaling_of(made, "root"))
        dense = found.toarray() if sp.issparse(found) else found
        np.testing.assert_allclose(dense, [[0.6, 0.8], [0.0, 0.0], [-1.0, 0.0]])


def words(n_rows=900, n_terms=700, n_topics=5):
    """Counts of texts whose topics have words of their own; the last is in no text."""
    rng = np.random.default_rng(1)
    share = rng.gamma(0.2, size=(n_topics, n_terms - 1))
    share /= share.sum(axis=1, keepdims=True)
    counts = rng.multinomial(60, share[rng.integers(n_topics, size=n_rows)])
    return sp.csr_array(np.pad(counts.astype(np.float64), ((0, 0), (0, 1))))


@pytest.mark.parametrize("make", [sp.csr_array, sp.csr_array.toarray])
def test_wide_rows_of_zeros_are_compared_by_angle_along_few_directions(make):
    x = words()
    plain = scaling_of(x, "root")
    scaling = along_directions(plain, make(x), 5)
    assert scaling.directions.shape == (700, 128)
    found = apply_scaling(make(x), scaling)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0)
    # Leading ones: no other so many directions keep much more of the rows.
    rows = apply_scaling(x, plain).toarray()
    sizes = np.maximum((rows**2).mean(axis=0), 1e-12) ** 0.25
    best = np.linalg.svd(rows / sizes, compute_uv=False)[:128]
    kept = np.linalg.norm(rows @ scaling.directions) ** 2
    assert 0.9 < kept / (best**2).sum() <= 1.0
    np.testing.assert_allclose(
        along_directions(plain, x, 5).directions, scaling.directions, atol=1e-10
    )


def test_a_row_of_words_that_no_drawn_row_has_is_a_row_of_zeros():
    x = words()
    other = sp.csr_array(np.eye(700)[-1:])
    scaling = along_directions(scaling_of(x, "root"), x, 5)
    assert not apply_scaling(other, scaling).any()


def test_rows_that_few_directions_would_not_quicken_stay_as_they_are():
    x = words()
    plain = scaling_of(x, "root")
    few = sp.csr_array(x.multiply(np.arange(700) % 8 == 0))
    for rows in (x[:, :400], x[:400], few, x.toarray() + 1.0):
        assert along_directions(plain, rows, 5) is plain
    standard = scaling_of(x, "standard")
    assert along_directions(standard, x, 5) is standard
    assert along_directions(plain, x, 80).directions.shape[1] == 160
    assert along_directions(plain, x, 100) is plain


@pytest.mark.parametrize("factor", [1e-20, 1.0, 1e20])
def test_suggestion_looks_at_shares(factor):
    rng = np.random.default_rng(3)
    counts = rng.poisson(0.3, size=(200, 6)) * factor
    mixed = rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6)) * factor
    shares = rng.dirichlet(np.ones(5), size=200) * factor
    assert suggestion(counts) == suggestion(sp.csr_array(counts)) == "root"
    assert suggestion(shares) == "root"
    assert suggestion(mixed) == "standard"
    loose = rng.normal(size=(200, 6)) * factor
    assert suggestion(loose) == "cosine"
    assert suggestion(loose, n_clusters=6) == "standard"
    assert suggestion(sp.csr_array(mixed)) == "unit"


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_suggestion_for_positive_features_that_are_mostly_there(make):
    rng = np.random.default_rng(4)
    level = rng.gamma(3.0, size=(100, 1))
    found = suggestion(make(level + 0.1 * rng.random((100, 6))))
    assert found in SCALINGS


def test_correlation_level():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(4000, 5))
    assert correlation_level(x) < 0.05
    assert correlation_level(np.repeat(x[:, :1], 3, axis=1)) > 0.99
    assert correlation_level(np.column_stack([x, np.ones(4000)])) < 0.05
    assert correlation_level(x[:, :1]) == correlation_level(x[:2]) == 1.0


def test_scaling_in_every_namespace(xp, table):
    for kind in SCALINGS[1:]:
        scaling = scaling_of(table, kind)
        found = apply_scaling(xp.asarray(table), scaling)
        np.testing.assert_allclose(np.asarray(found), apply_scaling(table, scaling))


def test_float32_stays_float32(table):
    narrow = table.astype(np.float32)
    for kind in SCALINGS[1:]:
        scaling = scaling_of(narrow, kind, np.float32)
        assert apply_scaling(narrow, scaling).dtype == np.float32


def rows_with_gaps():
    x = np.random.default_rng(4).poisson(0.4, size=(30, 6)).astype(float)
    x[:, 0] += 1.0
    x[[2, 5, 11]] = 0.0
    return x


@pytest.mark.parametrize("kind", SCALINGS[1:])
def test_rows_of_zeros_are_gaps_where_angles_are_compared(kind):
    x = rows_with_gaps()
    found = mark_gaps(scaling_of(x, kind), x, 3)
    assert found.gaps == (kind in ("unit", "root"))
    assert not mark_gaps(scaling_of(x, kind), x + 1.0, 3).gaps


def test_a_view_of_next_to_nothing_but_zeros_has_no_gaps():
    x = np.zeros((30, 6))
    x[:3] = 1.0
    assert mark_gaps(scaling_of(x, "root"), x, 3).gaps
    assert not mark_gaps(scaling_of(x, "root"), x, 4).gaps


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_of_zeros_are_seen_as_missing(sparse):
    x = rows_with_gaps()
    scaling = mark_gaps(scaling_of(x, "root"), x, 3)
    kept = sp.csr_array(x) if sparse else x
    if sparse:
        kept.data[kept.indptr[7] : kept.indptr[8]] = 0.0
    present = np.ones((30, 2), dtype=bool)
    present[5, 1] = False
    block = Block(40, (kept, x), present)
    found = hide_empty_rows(block, (scaling, scaling._replace(gaps=False)))
    gone = [2, 7, 11] if sparse else [2, 11]
    assert np.flatnonzero(~found.present[:, 0]).tolist() == gone
    # Row 5 has but this view: it stays, as what it is.
    assert found.present[5].tolist() == [True, False]
    assert np.array_equal(found.present[:, 1], present[:, 1])
    assert found.start == 40 and found.views is block.views
    assert hide_empty_rows(block, (scaling._replace(gaps=False),) * 2) is block
    assert present.sum() == 59
