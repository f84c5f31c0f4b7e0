"""Every kind of field is checked, by its type alone."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import pytest

from manyview.baselines.parts.parameters import check_parameters
from manyview.errors import DependencyError, ManyviewError


@dataclass
class Settings:
    needs: ClassVar[dict[str, str]] = {}

    count: int = 1
    number: float = 0.0
    flag: bool = False
    word: Literal["one", None] = None
    other: Any = "anything"


@pytest.mark.parametrize(
    "good", [{}, {"count": 5, "number": 2}, {"flag": True, "word": "one", "other": -1}]
)
def test_good_values_pass(good):
    check_parameters(Settings(**good))


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"count": 0}, "count must be at least 1"),
        ({"count": 1.5}, "count must be a whole number"),
        ({"count": True}, "count must be a whole number"),
        ({"number": -1.0}, "number must be finite and at least 0"),
        ({"number": float("nan")}, "number must be finite"),
        ({"flag": 1}, "flag must be True or False"),
        ({"word": "two"}, "word='two' is unknown; choose one of 'one', None"),
    ],
)
def test_bad_values_are_named(bad, message):
    with pytest.raises(ManyviewError, match=message):
        check_parameters(Settings(**bad))


def test_a_missing_library_comes_first():
    class Needy(Settings):
        needs: ClassVar[dict[str, str]] = {"numpy": "plot", "no_such_library": "plot"}

    with pytest.raises(DependencyError, match=r"Needy needs no_such_library, .*pip"):
        check_parameters(Needy(count=0))
