"""The low-pass against FFT oracles; recordings, order keys, durations."""

import warnings
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
import scipy.fft
from hypothesis import given
from hypothesis import strategies as st

from manyview.engine.local import LocalEngine
from manyview.errors import InputError, InputTypeError, OrderWarning
from manyview.running import progress
from manyview.stages.sequence import (
    check_n_low,
    cosine_basis,
    fourier_basis,
    low_pass,
    make_sequence,
    put_filtered,
    put_sequence_basis,
)
from manyview.tensor import stack_views, tlfa, unstack
from manyview.views.views import Views


def rows_as_they_stand(n, n_low=3, **changes):
    settings = {"n_low": n_low, "min_duration": None, "periodic": False} | changes
    return make_sequence(n, **settings)


def basis_of(sequence, block_rows=None):
    n = sequence.group.size
    engine = LocalEngine(Views([np.ones((n, 1))]), np.float64, block_rows=block_rows)
    engine.put("B_bar", np.zeros((n, 1)))
    put_sequence_basis(engine, sequence)
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
    with pytest.warns(OrderWarning, match="^4 rows have the same value of order"):
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


@pytest.mark.parametrize("start", [0.0, 1000.0, 1.7e9])
@pytest.mark.parametrize("step", [0.1, 0.2, 0.3, 0.7])
def test_a_duration_of_whole_rows_is_one_however_times_are_rounded(start, step):
    time = start + np.arange(700) * step
    times = [time, time.astype(np.float32)] if start < 1e9 else [time]
    for order in times:
        found = rows_as_they_stand(700, order=order, min_duration=10 * step)
        assert found.n_low == [70]


def test_a_duration_between_two_rows_is_not_rounded():
    time = np.arange(120) * 0.1
    assert rows_as_they_stand(120, order=time, min_duration=0.999).n_low == [13]
    assert rows_as_they_stand(120, order=time, min_duration=1e308).n_low == [1]


def test_min_duration_below_one_row_keeps_everything():
    assert rows_as_they_stand(20, min_duration=0.01).n_low == [11]
    with pytest.warns(OrderWarning, match="same value of order"):
        assert rows_as_they_stand(20, order=np.zeros(20), min_duration=5.0).n_low == [4]


def test_times_that_recordings_share_are_no_ties_when_they_are_told_apart(recwarn):
    time, groups = np.tile(np.arange(10), 2), np.repeat(["a", "b"], 10)
    rows_as_they_stand(20, order=time, groups=groups)
    rows_as_they_stand(20, groups=groups)
    assert not recwarn.list
    with pytest.warns(OrderWarning, match="^10 rows .* tell them apart by groups="):
        rows_as_they_stand(20, order=time)


def test_irregular_key_is_said():
    time = np.cumsum(10.0 ** np.arange(-4, 4))
    said = r"^The order key is irregular.*; resample the recording if that is wrong\.$"
    with pytest.warns(OrderWarning, match=said):
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


@pytest.mark.parametrize("name", ["order", "groups"])
@pytest.mark.parametrize(
    ("key", "kind", "sentence"),
    [
        (np.array(["2024-01-01", "NaT", "2024-01-02"], "M8[D]"), InputError, "NaN"),
        (np.array([1, None, 2], dtype=object), InputTypeError, "no order.*NoneType"),
        ([{}, {}, {}], InputTypeError, "no order.*dict"),
        ([(1, 2), (1,), (3, 4)], InputTypeError, r"one entry per row \(3\).*list"),
    ],
)
def test_key_without_an_order_is_a_sentence(name, key, kind, sentence):
    with pytest.raises(kind, match=f"^{name} .*{sentence}"):
        rows_as_they_stand(3, 1, **{name: key})


def test_text_is_an_order_but_no_time():
    letters = list("cab")
    np.testing.assert_array_equal(
        rows_as_they_stand(3, 1, order=letters).position, [2, 0, 1]
    )
    said = r"min_duration=2 .*order.*<U1.*Give the time of every row, .* in rows\.$"
    with pytest.raises(InputTypeError, match=said):
        rows_as_they_stand(3, 1, order=letters, min_duration=2.0)
    with pytest.raises(InputTypeError, match="min_duration='2s' is counted"):
        rows_as_they_stand(3, 1, order=letters, min_duration="2s")


DAYS = np.datetime64("2024-01-01") + np.arange(40)
MOMENTS = [datetime(2024, 1, 1, tzinfo=UTC) + timedelta(days=i) for i in range(40)]


@pytest.mark.parametrize(
    "days",
    [
        DAYS,
        DAYS.astype("datetime64[ns]"),
        DAYS - DAYS[0],
        MOMENTS,
        [m.date() for m in MOMENTS],
        [m - MOMENTS[0] for m in MOMENTS],
    ],
    ids=["days", "nanoseconds", "since", "zoned", "dates", "timedeltas"],
)
@pytest.mark.parametrize(
    "length", ["8d", "192 hours", timedelta(days=8), np.timedelta64(8, "D")]
)
def test_durations_are_durations_whatever_the_dates_count_in(days, length):
    assert rows_as_they_stand(40, order=days, min_duration=length).n_low == [5]


def test_pandas_dates_and_durations():
    pandas = pytest.importorskip("pandas")
    days = pandas.Series(pandas.date_range("2024-01-01", periods=40, tz="Asia/Tokyo"))
    length = pandas.Timedelta("8 days")
    assert rows_as_they_stand(40, order=days, min_duration=length).n_low == [5]


def test_a_duration_and_its_order_must_be_of_one_kind():
    with pytest.raises(InputError, match=r"min_duration=8 has no unit.*'8s'"):
        rows_as_they_stand(40, order=DAYS, min_duration=8.0)
    said = r"'8s' is a time, and order holds numbers\. Give a number .* as order\.$"
    with pytest.raises(InputError, match=said):
        rows_as_they_stand(40, order=np.arange(40.0), min_duration="8s")
    with pytest.raises(InputError, match=r"no row has one.*order="):
        rows_as_they_stand(40, min_duration="8s")


def test_irregular_dates_say_their_median_in_seconds():
    uneven = np.datetime64("2024-01-01", "s") + np.cumsum([0, 1, 9, 2, 30, 1, 60])
    with pytest.warns(OrderWarning, match=r"median \([0-9.]+ s\)"):
        rows_as_they_stand(7, 1, order=uneven, min_duration="2s")


def test_moments_that_are_all_the_same_keep_everything():
    still = np.full(20, np.datetime64("2024-01-01"))
    assert rows_as_they_stand(20, order=still, min_duration="5s").n_low == [11]


def test_places_are_whole_numbers():
    """They index rows; recordings start at 0 each."""
    sequence = rows_as_they_stand(5, 2, groups=["b", "a", "b", "b", "a"])
    assert sequence.group.dtype.kind == sequence.position.dtype.kind == "i"
    np.testing.assert_array_equal(sequence.group, [1, 0, 1, 1, 0])
    np.testing.assert_array_equal(sequence.position, [0, 0, 1, 2, 1])
    np.testing.assert_array_equal(sequence.lengths, [2, 3])
    plain = rows_as_they_stand(4, 2)
    assert plain.group.dtype.kind == plain.position.dtype.kind == "i"
    np.testing.assert_array_equal(plain.position, [0, 1, 2, 3])
    assert plain.periodic is False


def test_cut_is_checked_for_one_recording_and_shortened_for_several():
    with pytest.raises(InputError, match="n_low=9 "):
        rows_as_they_stand(10, 9)
    groups = np.repeat([0, 1], [30, 4])
    sequence = rows_as_they_stand(34, 9, groups=groups)
    np.testing.assert_array_equal(sequence.n_low, [9, 3])


def test_min_duration_rounds_the_cut_up():
    assert rows_as_they_stand(21, min_duration=10.0).n_low == [3]
    assert rows_as_they_stand(20, min_duration=10.0).n_low == [2]
    assert rows_as_they_stand(20, min_duration=1e9).n_low == [1]


def irregular(steps):
    """Do these steps of an order key bring the warning?"""
    time = np.concatenate([[0.0], np.cumsum(steps)])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        rows_as_they_stand(len(time), 1, order=time, min_duration=2.0)
    return [w for w in seen if w.category is OrderWarning]


def test_a_key_is_irregular_when_most_steps_are_far_from_their_median():
    assert not irregular([2, 3, 1, 3, 1])  # half the median away is near
    assert not irregular([2, 2, 2, 9, 9])
    assert not irregular([2, 2, 9, 2, 9, 9, 2, 2, 9, 0.5])  # exactly half of them
    (warning,) = irregular([0.1, 0.1, 2, 9, 9])
    assert "by more than half" in str(warning.message)
    assert "(2)" in str(warning.message)


def test_the_step_between_two_recordings_is_none():
    """Three of four steps lead from one recording to the next."""
    time = np.array([0.0, 1.0, 500.0, 900.0, 1300.0])
    groups = [0, 0, 1, 2, 3]
    cut = rows_as_they_stand(5, order=time, groups=groups, min_duration=2.0).n_low
    np.testing.assert_array_equal(cut, [1, 1, 1, 1])
    again = rows_as_they_stand(5, order=time, groups=groups, min_duration=1.0).n_low
    np.testing.assert_array_equal(again, [2, 1, 1, 1])


def test_no_duration_is_shorter_than_a_row():
    time = np.arange(20) * 2.0
    assert rows_as_they_stand(20, order=time, min_duration=1.0).n_low == [11]
    assert rows_as_they_stand(20, order=time, min_duration=3.0).n_low == [11]
    flat = rows_as_they_stand(20, order=np.zeros(20), min_duration=1.5)
    assert flat.n_low == [11]


class Unreadable:
    """A view on disk that nobody may read."""

    shape, dtype, chunks = (12, 1), np.dtype(float), (4, 1)

    def __getitem__(self, rows):
        raise AssertionError("the views were read")


@pytest.mark.usefixtures("rows_stay_on_disk")
def test_the_basis_is_made_in_one_pass_that_reads_no_views():
    titles = []
    engine = LocalEngine(Views([Unreadable()]), np.float64, block_rows=5)
    engine.put("B_bar", np.zeros((12, 1)))
    with progress.listen(lambda title, done, total: titles.append(title)):
        put_sequence_basis(engine, rows_as_they_stand(12, 2))
    assert set(titles) == {"Basis"}


def test_steps_backwards_and_ties_are_no_steps():
    """Ties carry no duration: four rows per second, each second written four times."""
    time = np.repeat(np.arange(10.0), 4)
    assert rows_as_they_stand(40, order=time, min_duration=4.0).n_low == [10]


def test_filtered_basis_of_a_graph_is_its_low_pass():
    sequence = rows_as_they_stand(12, 2)
    engine = LocalEngine(Views([np.ones((12, 1))]), np.float64, block_rows=5)
    F = np.random.default_rng(0).normal(size=(12, 3))
    engine.put("F", F)
    put_filtered(engine, sequence)
    np.testing.assert_allclose(engine.read("F_out"), low_pass(F, sequence))
    np.testing.assert_array_equal(engine.read("F"), F)


def test_the_basis_leaves_nothing_else_behind():
    sequence = rows_as_they_stand(12, 2, groups=np.repeat([0, 1], 6))
    engine = LocalEngine(Views([np.ones((12, 1))]), np.float64)
    engine.put("B_bar", np.zeros((12, 1)))
    put_sequence_basis(engine, sequence)
    for name in ("group", "position"):
        with pytest.raises(KeyError):
            engine.read(name)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("groups", [None, np.repeat([0, 1], 6)])
def test_the_basis_has_the_type_of_the_embedding(dtype, groups):
    sequence = rows_as_they_stand(12, 2, groups=groups)
    engine = LocalEngine(Views([np.ones((12, 1))]), dtype)
    engine.put("B_bar", np.zeros((12, 1), dtype))
    put_sequence_basis(engine, sequence)
    assert engine.read("F").dtype == dtype


@pytest.mark.parametrize("make", [fourier_basis, cosine_basis])
def test_bases_agree_between_namespaces(xp, make):
    for n, n_low in ((12, 7), (12, 4), (13, 7)):
        found = make(xp.asarray(np.arange(float(n))), n, n_low)
        np.testing.assert_allclose(
            np.asarray(found), make(np.arange(n), n, n_low), atol=1e-14
        )


def test_positions_of_one_block_give_its_rows_of_the_basis():
    for make in (fourier_basis, cosine_basis):
        whole = make(np.arange(20), 20, 4)
        np.testing.assert_array_equal(make(np.arange(7, 12), 20, 4), whole[7:12])


def test_cosines_are_those_of_the_discrete_cosine_transform():
    F = cosine_basis(np.arange(9), 9, 3)
    wanted = scipy.fft.idct(np.eye(9)[:, :5], axis=0, norm="ortho")
    np.testing.assert_allclose(F, wanted, atol=1e-14)


def test_fourier_vectors_are_the_constant_then_cosines_then_sines():
    at = 2 * np.pi * np.arange(8) / 8
    columns = [np.ones(8) / np.sqrt(8)]
    columns += [np.cos(f * at) / 2 for f in (1, 2)]
    columns += [np.sin(f * at) / 2 for f in (1, 2)]
    np.testing.assert_allclose(
        fourier_basis(np.arange(8), 8, 3), np.column_stack(columns), atol=1e-14
    )
