import sys

import pytest

from manyview.engine import resources as limits
from manyview.engine.resources import (
    limit_address_space,
    parse_size,
    physical_memory,
    require_room,
    show_size,
)
from manyview.errors import InputError, ResourceError


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("2GB", 2 * 10**9),
        ("1.5 GiB", 3 * 2**29),
        ("500mb", 500 * 10**6),
        ("123", 123),
        (4096, 4096),
    ],
)
def test_sizes_are_understood(text, n_bytes):
    assert parse_size(text) == n_bytes


def test_the_default_is_half_of_the_machine():
    assert parse_size(None) == physical_memory() // 2 > 2**20


@pytest.mark.parametrize("text", ["much", "2 apples", "-5GB", 0, -1, float("nan")])
def test_other_words_are_refused(text):
    with pytest.raises(InputError, match="memory_limit"):
        parse_size(text)


def test_room_is_checked_to_the_byte():
    require_room(100, 100, "data")
    with pytest.raises(ResourceError, match=r"data .* 101 bytes .* limit of 100 bytes"):
        require_room(101, 100, "data")


def test_sizes_are_shown_for_people():
    assert [show_size(s) for s in (12, 1500, 2 * 10**9)] == [
        "12 bytes",
        "1.5 kB",
        "2 GB",
    ]


def test_the_cap_counts_from_the_present_size_and_can_be_lifted(monkeypatch):
    resource = pytest.importorskip("resource")
    caps = []
    monkeypatch.setattr(resource, "setrlimit", lambda kind, pair: caps.append(pair))
    limit_address_space(10**9)
    limit_address_space(10**6)
    limit_address_space(None)
    assert len(caps) in (0, 3)  # only Linux tells a process its size
    if caps:
        assert caps[0][0] - caps[1][0] == pytest.approx(10**9 - 10**6, abs=10**7)
        assert caps[2][0] == caps[2][1]


def test_a_system_that_does_not_say_its_memory(monkeypatch):
    def silent(name):
        raise ValueError("unrecognized configuration name")

    monkeypatch.setattr(limits.os, "sysconf", silent, raising=False)
    assert physical_memory() == 4 * 2**30
    assert parse_size(None) == 2 * 2**30


def test_a_system_without_limits_does_without(monkeypatch):
    monkeypatch.setitem(sys.modules, "resource", None)
    limit_address_space(10**9)
