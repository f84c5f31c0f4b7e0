import io
import sys

import pytest

from manyview.cli import terminal
from manyview.running import progress


@pytest.fixture
def clock(monkeypatch):
    """Time that stands still until it is set."""
    now = [100.0]
    monkeypatch.setattr(terminal.time, "monotonic", lambda: now[0])
    return now


def test_a_line_every_half_minute_with_the_time_left(clock, capsys):
    tell = terminal._lines()
    tell("Runs", 0, 10)
    clock[0] += 10
    tell("Runs", 1, 10)
    assert capsys.readouterr().err == ""
    clock[0] += 50
    tell("Runs", 4, 10)
    assert capsys.readouterr().err == "Runs: 4 of 10, about 2 min left\n"


def test_what_an_earlier_call_has_done_says_nothing_of_speed(clock, capsys):
    tell = terminal._lines()
    for done in range(5):
        tell("Runs", done, 10)
    clock[0] += 60
    tell("Runs", 5, 10)
    assert capsys.readouterr().err == "Runs: 5 of 10, about 5 min left\n"


def test_work_that_begins_late_knows_no_time_yet(clock, capsys):
    tell = terminal._lines()
    clock[0] += 60
    tell("Runs", 0, 10)
    assert capsys.readouterr().err == "Runs: 0 of 10\n"


def test_a_terminal_gets_a_bar(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    with terminal.with_remaining_time(), progress.task("Runs", 2) as advance:
        advance()
        advance()
    assert "Runs" in capsys.readouterr().err


def test_without_a_terminal_there_are_lines(clock, capsys):
    with terminal.with_remaining_time(), progress.task("Runs", 9) as advance:
        for _ in range(3):
            clock[0] += 20
            advance()
    assert "Runs: 2 of 9" in capsys.readouterr().err


def test_letters_that_a_terminal_does_not_know_stop_nothing(monkeypatch):
    narrow = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", narrow)
    terminal.start()
    terminal.say("größer − kleiner")
    narrow.flush()
    assert narrow.buffer.getvalue() == b"gr??er ? kleiner\n"
