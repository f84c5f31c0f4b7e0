"""Durations as people write them."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from manyview.errors import InputError, InputTypeError
from manyview.stages.durations import (
    as_times,
    check_duration,
    duration_text,
    seconds,
    steps_in_seconds,
)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("2s", 2.0),
        ("2 seconds", 2.0),
        (" 1h 30min ", 5400.0),
        ("0.5d", 43200.0),
        ("1 week", 604800.0),
        ("250ms", 0.25),
        ("3 Mins", 180.0),
        ("5µs", 5e-6),
        ("1e-09s", 1e-9),
        (timedelta(minutes=2), 120.0),
        (np.timedelta64(1500, "ms"), 1.5),
        (np.timedelta64(7, "ns"), 7e-9),
    ],
)
def test_seconds(value, expected):
    assert seconds(value) == pytest.approx(expected)


@pytest.mark.parametrize(
    "value", ["", "20", "2 parsecs", "2s or so", "-2s", "2m", np.timedelta64(1, "M")]
)
def test_what_is_no_duration_is_a_sentence(value):
    with pytest.raises(InputError, match=r"min_duration=.*no duration.*'2s'.*min"):
        seconds(value, "min_duration")


@pytest.mark.parametrize("value", [timedelta(days=2), np.timedelta64(1500, "us")])
def test_text_of_a_duration_reads_as_the_same(value):
    assert seconds(duration_text(value)) == seconds(value)


def test_a_duration_is_not_negative_and_no_flag():
    for fine in (0, 2.5, "2s", timedelta(0)):
        check_duration(fine, "min_duration")
    with pytest.raises(InputError, match="min_duration must be finite and at least 0"):
        check_duration(timedelta(days=-1), "min_duration")
    with pytest.raises(InputError, match="min_duration must be finite and at least 0"):
        check_duration(-1.0, "min_duration")
    with pytest.raises(InputError, match="at least 0"):
        check_duration(np.timedelta64("NaT"), "min_duration")
    with pytest.raises(InputTypeError, match="min_duration must be a number"):
        check_duration(True, "min_duration")


def test_dates_are_counted_from_the_first():
    moments = [datetime(2024, 1, 1, 12, tzinfo=UTC), datetime(2024, 1, 1, tzinfo=UTC)]
    found = as_times(np.array(moments, dtype=object))
    assert found.tolist() == [timedelta(0), timedelta(hours=-12)]
    days = as_times(np.array([date(2024, 1, 2), date(2024, 1, 5)], dtype=object))
    assert steps_in_seconds(days).tolist() == [3 * 86400.0]
    text = np.array(["a", "b"], dtype=object)
    assert as_times(text) is text


def test_dates_with_and_without_a_zone_are_a_sentence():
    mixed = np.array([datetime(2024, 1, 1, tzinfo=UTC), datetime(2024, 1, 1)])
    with pytest.raises(InputTypeError, match="time zone, or none"):
        as_times(mixed)


def test_months_are_as_long_as_they_are():
    months = np.array(["2024-01", "2024-02", "2024-03"], dtype="datetime64[M]")
    assert (steps_in_seconds(months) / 86400).tolist() == [31.0, 29.0]
    with pytest.raises(InputTypeError, match=r"timedelta64\[M\].*no length"):
        steps_in_seconds(months - months[0])
