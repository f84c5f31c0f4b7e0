"""Who listens to long work, and who stops it.

Ctrl-C while rounds run: labels of the last round, and the interrupt all the same.
"""

import io
import os
import signal
import sys
import threading

import numpy as np
import pytest

from manyview import S2MVTC
from manyview.running import progress
from manyview.running.progress import finish_the_round

signals = pytest.mark.usefixtures("plain_handler")
unix = pytest.mark.skipif(os.name == "nt", reason="no such signals there")


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


def test_a_log_hears_of_long_work_now_and_then(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threading, "Timer", Immediately)
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    with progress.shown(True, "Fitting"), progress.task("Round", 3) as advance:
        for clock[0] in (31.0, 60.0, 62.0):
            advance()
    said = ["Fitting …", "Fitting: Round 1/3", "Fitting: Round 3/3"]
    assert capsys.readouterr().err.splitlines() == said


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


@pytest.fixture
def plain_handler():
    """Python's own; a process that runs tests side by side may have another."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press(title, times=1):
    """A listener that sends Ctrl-C to this process when the named pass begins."""

    def listener(step, done, total):
        if (step, done) == (title, 0):
            for _ in range(times):
                os.kill(os.getpid(), signal.SIGINT)

    return progress.listen(listener)


def model(**options):
    return S2MVTC(4, n_anchors=40, n_graph_anchors=80, random_state=0, **options)


@unix
@signals
def test_the_round_is_finished_and_its_labels_are_kept(three_views):
    views, _ = three_views
    stopped = model(max_iter=9)
    with pytest.raises(KeyboardInterrupt), press("Round 3"):
        stopped.fit(views)
    wanted = model(max_iter=3).fit(views)
    assert stopped.n_iter_ == 3
    np.testing.assert_array_equal(stopped.labels_, wanted.labels_)
    np.testing.assert_array_equal(stopped.predict(views), wanted.predict(views))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@unix
@signals
def test_the_next_fit_is_a_whole_one(three_views):
    views, _ = three_views
    stopped = model(max_iter=5)
    with pytest.raises(KeyboardInterrupt), press("Round 2"):
        stopped.fit(views)
    assert stopped.fit(views).n_iter_ == 5


@unix
@signals
def test_a_second_ctrl_c_stops_at_once(three_views):
    stopped = model(max_iter=9)
    with pytest.raises(KeyboardInterrupt), press("Round 3", times=2):
        stopped.fit(three_views[0])
    assert not hasattr(stopped, "labels_")


@unix
@signals
def test_before_the_rounds_nothing_is_kept(three_views):
    stopped = model()
    with pytest.raises(KeyboardInterrupt), press("Anchor graph"):
        stopped.fit(three_views[0])
    assert not hasattr(stopped, "labels_")


@unix
@signals
def test_a_stopped_fit_resumes_from_its_checkpoint_to_the_same_end(
    three_views, tmp_path
):
    views, _ = three_views
    stopped = model(max_iter=6, checkpoint=tmp_path / "saved")
    with pytest.raises(KeyboardInterrupt), press("Round 3"):
        stopped.fit(views)
    early = stopped.labels_.copy()
    whole = model(max_iter=6).fit(views)
    np.testing.assert_array_equal(stopped.fit(views).labels_, whole.labels_)
    assert stopped.n_iter_ == 6
    assert early.shape == whole.labels_.shape


@unix
@signals
def test_other_threads_and_other_handlers_are_left_alone():
    def mine(number, frame):
        seen.append(number)

    seen = []
    signal.signal(signal.SIGINT, mine)
    with finish_the_round():
        assert signal.getsignal(signal.SIGINT) is mine
        os.kill(os.getpid(), signal.SIGINT)
    assert seen == [signal.SIGINT]
    ran = []

    def work():
        with finish_the_round():
            ran.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert ran and signal.getsignal(signal.SIGINT) is mine
