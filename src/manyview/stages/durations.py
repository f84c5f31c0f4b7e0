"""Times and durations as people write them: dates, differences of dates, "2s"."""

import re
from datetime import date, timedelta
from typing import Any

import numpy as np

from manyview.arrays.ops import Matrix
from manyview.errors import InputError, InputTypeError
from manyview.views.arguments import check_number

_SECONDS = {
    "ns": 1e-9,
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "d": 86400.0,
    "w": 604800.0,
}
_WORDS = {
    "sec": "s",
    "second": "s",
    "min": "min",
    "minute": "min",
    "hour": "h",
    "day": "d",
    "week": "w",
}
_PART = re.compile(r"([0-9]*\.?[0-9]+(?:e[+-]?[0-9]+)?)\s*([a-zµ]+)\s*")


def is_duration(value: Any) -> bool:
    """Does the value say its own unit of time, as text or as a timedelta?"""
    return isinstance(value, (str, timedelta, np.timedelta64))


def check_duration(value: Any, name: str) -> None:
    """`value` must be a number of at least 0, or a duration with its unit."""
    if not is_duration(value):
        check_number(value, name)
    elif not 0 <= seconds(value, name) < np.inf:
        raise InputError(f"{name} must be finite and at least 0; got {value!r}.")


def seconds(value: Any, name: str = "The duration") -> float:
    """A duration in seconds."""
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, np.timedelta64):
        try:
            return float(value / np.timedelta64(1, "s"))
        except TypeError as error:  # months and years have no length in seconds
            raise _unreadable(value, name) from error
    found = _PART.findall(str(value).strip().lower())
    units = [_WORDS.get(u.removesuffix("s"), u) for _, u in found]
    whole = "".join(number + unit for number, unit in found)
    read = bool(found) and whole == re.sub(r"\s", "", str(value).lower())
    if not read or not set(units) <= set(_SECONDS):
        raise _unreadable(value, name)
    parts = zip(found, units, strict=True)
    return sum(float(number) * _SECONDS[unit] for (number, _), unit in parts)


def duration_text(value: timedelta | np.timedelta64) -> str:
    """A duration as text that `seconds` reads."""
    return f"{seconds(value)!r}s"


def _unreadable(value: Any, name: str) -> InputError:
    return InputError(
        f"{name}={value!r} is no duration we can read. Write a number and a unit, such "
        f"as '2s' or '1h 30min'; the units are {', '.join(_SECONDS)}."
    )


def as_times(values: Matrix) -> Matrix:
    """Date and duration objects as NumPy counts them, from the first on; others pass.

    Dates with a time zone are objects even in a pandas Series.
    """
    if values.dtype != object or not values.size:
        return values
    if all(isinstance(value, timedelta) for value in values):
        return np.array(list(values), dtype="timedelta64[us]")
    if not all(isinstance(value, date) for value in values):
        return values
    try:
        since = [value - values[0] for value in values]
    except TypeError as error:
        raise InputTypeError(
            f"The dates cannot be compared: {error}. Give all of them a time zone, or "
            "none."
        ) from error
    return np.array(since, dtype="timedelta64[us]")


def steps_in_seconds(times: Matrix) -> Matrix:
    """Seconds from each date or duration to the next."""
    if np.datetime_data(times.dtype)[0] in ("Y", "M") and times.dtype.kind == "M":
        times = times.astype("datetime64[D]")  # months differ in length
    try:
        return np.asarray(np.diff(times) / np.timedelta64(1, "s"))
    except TypeError as error:
        raise InputTypeError(
            f"order holds {times.dtype}, which has no length in seconds. Give dates, "
            "or durations in days or shorter units."
        ) from error
