import io
import sys
import threading

import pytest

from manyview import progress


def test_listener_hears_every_step() -> None:
    heard = []
    with progress.listen(lambda *what: heard.append(what)):
        with progress.task("Round", 2) as advance:
            advance()
            advance()
    assert heard == [("Round", 0, 2), ("Round", 1, 2), ("Round", 2, 2)]


def test_nobody_listens_after_the_block() -> None:
    heard = []
    with progress.listen(lambda *what: heard.append(what)):
        pass
    with progress.task("Round", 1) as advance:
        advance()
    assert heard == []


def test_short_work_shows_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.shown(True, "Fitting"), progress.task("Round", 1) as advance:
        advance()
    assert capsys.readouterr() == ("", "")


def test_long_work_is_announced_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "Timer", Immediately)
    with progress.shown(True, "Fitting [x]"):
        pass
    assert capsys.readouterr().err == "Fitting [x] …\n"


def test_long_work_gets_a_bar_in_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(threading, "Timer", Immediately)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    with progress.shown(True, "Fitting"), progress.task("Round", 4) as advance:
        advance()
    assert "Fitting: Round" in screen.getvalue()


def test_a_bar_inside_a_listener_is_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "Timer", Immediately)
    heard = []
    with progress.listen(lambda *what: heard.append(what)), progress.shown(True):
        with progress.task("Round", 1):
            pass
    assert heard == [("Round", 0, 1)]
    assert capsys.readouterr().err == ""


class Immediately(threading.Thread):
    """A timer without patience."""

    def __init__(self, delay: float, begin) -> None:
        super().__init__(target=begin)

    def start(self) -> None:
        super().start()
        self.join()

    def cancel(self) -> None:
        pass


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True
