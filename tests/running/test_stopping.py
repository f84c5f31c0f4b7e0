"""Ctrl-C while rounds run: labels of the last round, and the interrupt all the same."""

import os
import signal
import threading

import numpy as np
import pytest

from manyview import S2MVTC
from manyview.running import progress
from manyview.running.progress import finish_the_round

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such signals there")


@pytest.fixture(autouse=True)
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


def test_the_next_fit_is_a_whole_one(three_views):
    views, _ = three_views
    stopped = model(max_iter=5)
    with pytest.raises(KeyboardInterrupt), press("Round 2"):
        stopped.fit(views)
    assert stopped.fit(views).n_iter_ == 5


def test_a_second_ctrl_c_stops_at_once(three_views):
    stopped = model(max_iter=9)
    with pytest.raises(KeyboardInterrupt), press("Round 3", times=2):
        stopped.fit(three_views[0])
    assert not hasattr(stopped, "labels_")


def test_before_the_rounds_nothing_is_kept(three_views):
    stopped = model()
    with pytest.raises(KeyboardInterrupt), press("Anchor graph"):
        stopped.fit(three_views[0])
    assert not hasattr(stopped, "labels_")


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
