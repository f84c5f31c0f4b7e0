"""Jobs in threads: results in order, the process's state given back."""

import multiprocessing
import os
import threading
import time
from contextlib import contextmanager

import pytest

from manyview.engine.threads import InCommon, in_the_background, side_by_side


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_the_order_of_the_jobs(monkeypatch, threads):
    monkeypatch.setattr("manyview.engine.threads.CORES", threads)
    assert side_by_side([lambda i=i: i * i for i in range(20)]) == [
        i * i for i in range(20)
    ]
    assert side_by_side([]) == []


def test_jobs_run_at_the_same_time(monkeypatch):
    monkeypatch.setattr("manyview.engine.threads.CORES", 2)
    meeting = threading.Barrier(2, timeout=60)
    assert sorted(side_by_side([meeting.wait] * 2)) == [0, 1]


def test_jobs_may_ask_for_threads_themselves():
    nested = [lambda: side_by_side([lambda: 1, lambda: 2])] * 20
    assert side_by_side(nested) == [[1, 2]] * 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_process_has_threads_of_its_own():
    assert side_by_side([lambda: 1, lambda: 2]) == [1, 2]
    with multiprocessing.get_context("fork").Pool(1) as pool:
        assert pool.apply_async(_two_jobs).get(60) == [3, 4]


def _two_jobs():
    return side_by_side([lambda: 3, lambda: 4])


def test_an_error_of_a_job_is_raised(monkeypatch):
    monkeypatch.setattr("manyview.engine.threads.CORES", 2)
    with pytest.raises(ZeroDivisionError):
        side_by_side([lambda: 1, lambda: 1 // 0])


def test_what_is_held_in_common_is_entered_once_and_left_by_the_last():
    seen = []

    @contextmanager
    def holding():
        seen.append("in")
        yield
        seen.append("out")

    common = InCommon(holding)
    with common:
        with common:
            assert seen == ["in"]
        assert seen == ["in"]
    assert seen == ["in", "out"]
    with pytest.raises(ValueError, match="odd"), common:
        raise ValueError("odd")
    assert seen == ["in", "out"] * 2


@pytest.mark.parametrize("allowed", [True, False])
def test_jobs_of_the_background_may_wait_for_earlier_ones(allowed):
    with in_the_background(allowed) as background:
        first = background(lambda: time.sleep(0.05) or 1)
        others = [background(lambda n=n: first() + n) for n in range(3)]
        last = background(lambda: sum(other() for other in others))
        assert last() == 6
