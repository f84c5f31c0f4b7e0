"""The low-pass against FFT oracles; recordings, order keys, durations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manyview.engine import open_engine
from manyview.errors import InputError, OrderWarning
from manyview.smoothing import (
    check_n_low,
    cosine_basis,
    fourier_basis,
    low_pass,
    make_sequence,
    put_basis,
)
from manyview.tensor import stack_views, tlfa, unstack
from manyview.views import Views


def rows_as_they_stand(n, n_low=3, **changes):
    settings = {"n_low": n_low, "min_duration": None, "periodic": False} | changes
    return make_sequence(n, **settings)


def basis_of(sequence, block_rows=None):
    n = sequence.group.size
    engine = open_engine(Views([np.ones((n, 1))]), np.float64, block_rows=block_rows)
    engine.put("B_bar", np.zeros((n, 1)))
    put_basis(engine, sequence)
    return engine.read("F")


cuts = st.integers(1, 40).flatmap(
    lambda n: st.tuples(st.just(n), st.integers(1, n // 2 + 1))
)


@given(cuts)
def test_fourier_basis_is_the_papers_low_pass(cut):
    n, n_low = cut
    B = np.random.default_rng(n).normal(size=(n, 3))
    F = fourier_basis(np.arange(n), n, n_low)
    np.testing.assert_allclose(F.T @ F, np.eye(F.shape[1]), atol=1e-10)
    expected = unstack(tlfa(stack_views([B]), n_low))[0]
    np.testing.assert_allclose(F @ (F.T @ B), expected, atol=1e-10)
    spectrum = np.fft.rfft(B, axis=0)
    spectrum[n_low:] = 0
    by_fft = np.fft.irfft(spectrum, n=n, axis=0)
    np.testing.assert_allclose(F @ (F.T @ B), by_fft, atol=1e-10)


@pytest.mark.parametrize(("n", "n_low"), [(12, 7), (13, 7), (101, 18), (997, 40)])
def test_fourier_basis_of_odd_even_and_prime_lengths(n, n_low):
    F = fourier_basis(np.arange(n), n, n_low)
    nyquist = n % 2 == 0 and n_low == n // 2 + 1
    assert F.shape == (n, 2 * n_low - 1 - nyquist)
    B = np.random.default_rng(0).normal(size=(n, 2))
    expected = unstack(tlfa(stack_views([B]), n_low))[0]
    np.testing.assert_allclose(F @ (F.T @ B), expected, atol=1e-10)


@given(cuts)
def test_cosine_basis_is_orthonormal(cut):
    n, n_low = cut
    F = cosine_basis(np.arange(n), n, n_low)
    assert F.shape[1] == min(2 * n_low - 1, n)
    np.testing.assert_allclose(F.T @ F, np.eye(F.shape[1]), atol=1e-10)


def test_cosines_do_not_join_the_end_to_the_start():
    step = np.zeros((100, 1))
    step[50:] = 1.0
    for make, joined in ((fourier_basis, True), (cosine_basis, False)):
        F = make(np.arange(100), 100, 4)
        edge = (F @ (F.T @ step))[0, 0]
        assert (edge > 0.3) == joined


@given(
    st.lists(st.integers(1, 12), min_size=1, max_size=4),
    st.integers(1, 5),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_low_pass_equals_the_basis_form(lengths, n_low, periodic, random):
    groups = [g for g, n in enumerate(lengths) for _ in range(n)]
    random.shuffle(groups)
    n = len(groups)
    key = random.sample(range(n), n)
    n_low = min(n_low, n // 2 + 1)
    sequence = rows_as_they_stand(n, n_low, periodic=periodic, groups=groups, order=key)
    F = basis_of(sequence, block_rows=5)
    B = np.random.default_rng(n).normal(size=(n, 2))
    np.testing.assert_allclose(F @ (F.T @ B), low_pass(B, sequence), atol=1e-10)


def test_n_vectors_counts_the_columns_of_the_basis():
    sequence = rows_as_they_stand(30, 4, groups=np.repeat([0, 1, 2], [20, 9, 1]))
    assert basis_of(sequence).shape[1] == sequence.n_vectors == 7 + 7 + 1


@pytest.mark.parametrize("periodic", [False, True])
def test_recordings_never_mix(periodic):
    groups = np.array(["b", "a"] * 15)
    sequence = rows_as_they_stand(30, groups=groups, periodic=periodic)
    B = np.random.default_rng(1).normal(size=(30, 2))
    other = B.copy()
    other[groups == "b"] += 100.0
    mine = groups == "a"
    np.testing.assert_array_equal(
        low_pass(B, sequence)[mine], low_pass(other, sequence)[mine]
    )
    F = basis_of(sequence)
    assert not (F[mine].any(axis=0) & F[~mine].any(axis=0)).any()


def test_order_key_is_the_same_as_sorted_rows():
    rng = np.random.default_rng(2)
    B, shuffle = rng.normal(size=(31, 2)), rng.permutation(31)
    time = np.linspace(-3, 8, 31)
    straight = low_pass(B, rows_as_they_stand(31))
    keyed = low_pass(B[shuffle], rows_as_they_stand(31, order=time[shuffle]))
    np.testing.assert_allclose(keyed, straight[shuffle], atol=1e-12)


def test_ties_of_the_order_key_keep_the_rows_order():
    sequence = rows_as_they_stand(6, order=[1, 1, 0, 0, 1, 0])
    np.testing.assert_array_equal(sequence.position, [3, 4, 0, 1, 5, 2])


def test_dates_are_an_order():
    days = np.array(["2024-03-02", "2024-03-01", "2024-03-03"], dtype="datetime64[D]")
    sequence = rows_as_they_stand(3, 1, order=days)
    np.testing.assert_array_equal(sequence.position, [1, 0, 2])


def test_min_duration_sets_the_cut_of_every_recording():
    groups = np.repeat([0, 1], [100, 33])
    sequence = rows_as_they_stand(133, groups=groups, min_duration=10)
    np.testing.assert_array_equal(sequence.n_low, [10, 4])


def test_min_duration_is_in_units_of_the_key():
    time = np.arange(100) * 0.5
    assert rows_as_they_stand(100, order=time, min_duration=5.0).n_low == [10]
    assert rows_as_they_stand(100, min_duration=5.0).n_low == [20]


def test_min_duration_below_one_row_keeps_everything():
    assert rows_as_they_stand(20, min_duration=0.01).n_low == [11]
    assert rows_as_they_stand(20, order=np.zeros(20), min_duration=5.0).n_low == [4]


def test_irregular_key_is_said():
    time = np.cumsum(10.0 ** np.arange(-4, 4))
    with pytest.warns(OrderWarning, match="irregular"):
        rows_as_they_stand(8, order=time, min_duration=2.0)


def test_steps_between_recordings_are_not_durations():
    groups, time = np.repeat([0, 1], 20), np.arange(40) * 1.0
    time[20:] += 1e6
    sequence = rows_as_they_stand(40, groups=groups, order=time, min_duration=4.0)
    np.testing.assert_array_equal(sequence.n_low, [5, 5])


def test_short_recordings_keep_what_they_have():
    sequence = rows_as_they_stand(8, 3, groups=[0, 0, 0, 0, 0, 0, 1, 2])
    np.testing.assert_array_equal(sequence.n_low, [3, 1, 1])


@pytest.mark.parametrize(("n_low", "n_rows"), [(0, 9), (6, 9), (7, 10), (2, 1)])
def test_impossible_cut_is_a_sentence(n_low, n_rows):
    most = n_rows // 2 + 1
    with pytest.raises(InputError, match=f"n_low={n_low} .*{n_rows} rows.*<= {most}"):
        check_n_low(n_low, n_rows)
    check_n_low(most, n_rows)


@pytest.mark.parametrize("name", ["order", "groups"])
def test_key_of_wrong_length_or_with_nan_is_a_sentence(name):
    with pytest.raises(InputError, match=rf"{name} must have one entry per row \(9\)"):
        rows_as_they_stand(9, **{name: np.arange(8)})
    with pytest.raises(InputError, match=f"{name} holds NaN"):
        rows_as_they_stand(9, **{name: np.full(9, np.nan)})
