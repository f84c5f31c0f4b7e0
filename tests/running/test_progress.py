import io
import sys
import threading

import pytest

from manyview.running import progress


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


def test_an_outer_listener_hears_what_an_inner_one_hears():
    outer, inner = [], []
    with progress.listen(lambda *step: outer.append(step)):
        with progress.listen(lambda *step: inner.append(step)):
            with progress.task("work", 1) as advance:
                advance()
    assert outer == inner == [("work", 0, 1), ("work", 1, 1)]


def test_a_wish_to_stop_ends_with_its_listener():
    assert not progress.stop_is_asked()
    with progress.listen(lambda *step: None):
        progress.ask_to_stop()
        assert progress.stop_is_asked()
    assert not progress.stop_is_asked()
