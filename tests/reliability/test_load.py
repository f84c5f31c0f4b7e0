"""The short form of ``reliability/load.py``."""

import sys

import pytest

from reliability.load import _judge, measure


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_fits_leave_nothing_behind():
    """Memory has not settled after so few fits; its growth is not looked at."""
    part = measure(30)
    (row,) = part.rows
    assert row["fits"] == 30
    assert row["more threads"] <= 0
    assert row["more open files"] <= 0
    assert row["temporary files left"] == 0


def test_growth_and_leaks_are_losses():
    found = {
        "growth": 0.02,
        "more threads": 1,
        "more open files": 0,
        "temporary files left": 2,
    }
    assert len(_judge(found)) == 3
