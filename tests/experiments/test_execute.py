import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from manyview.engine.resources import n_cores
from manyview.experiments.execute import Limits, _line, execute, labels_of
from manyview.experiments.planned_run import Run
from manyview.experiments.results_file import Results
from manyview.running.progress import listen

DRIVER = """
import sys
from manyview.experiments.data_set import DataSet
from manyview.experiments.execute import execute
from manyview.experiments.results_file import Results
from manyview.experiments.planned_run import Run
data = DataSet.generated(
    "small", n_samples=90, n_features=[4, 5], n_clusters=3, random_state=0
)
first = int(sys.argv[2])
runs = [
    Run(data, "file", "ConcatKMeans", {"n_init": n}, 0) for n in range(first, first + 4)
]
execute(runs, Results(sys.argv[1]))
"""


def test_records_hold_scores_time_memory_and_what_was_run(executed):
    records, runs, results = executed
    ok = records[0]
    assert ok["status"] == "ok"
    assert ok["key"] == runs[0].key
    assert (ok["method"], ok["order"], ok["seed"]) == ("ConcatKMeans", "shuffled", 0)
    assert ok["scores"]["ACC"] == 1.0
    assert ok["wall_s"] > 0
    assert ok["cpu_s"] > 0
    assert ok["peak_bytes"] > 10_000_000
    labels = np.load(labels_of(ok, results))
    again = np.load(labels_of(records[1], results))
    assert labels.shape == (90,)
    # Labels are in file order, whatever the shuffle: both seeds find the groups.
    assert len(set(zip(labels.tolist(), again.tolist(), strict=True))) == 3


def test_a_failing_run_is_recorded_and_the_rest_goes_on(executed):
    records, _, _ = executed
    assert [r["status"] for r in records] == ["ok", "ok", "failed"]
    assert records[2]["error"].startswith("InputError: n_init must be at least 1")


def test_what_has_a_result_is_not_run_again(executed):
    records, runs, results = executed
    before = results.path.read_bytes()
    assert execute(runs, results) == records
    assert results.path.read_bytes() == before


def test_progress_counts_every_run_once(executed, tmp_path):
    _, runs, results = executed
    seen = []
    with listen(lambda title, done, total: seen.append((done, total))):
        execute(runs, results)
        execute(runs, Results(tmp_path))
    assert seen == [(n, len(runs)) for n in range(len(runs) + 1)] * 2


@pytest.mark.usefixtures("tasks_here")
def test_failed_runs_are_tried_again_when_asked(executed):
    _, runs, results = executed
    n_lines = len(results.path.read_text().splitlines())
    execute(runs, results, Limits(retry_failed=True))
    assert len(results.path.read_text().splitlines()) == n_lines + 1


def test_killed_half_way_it_goes_on_without_redoing_runs(tmp_path, small):
    results = Results(tmp_path)
    driver = subprocess.Popen([sys.executable, "-c", DRIVER, str(tmp_path), "1"])
    while not results.read() and driver.poll() is None:
        time.sleep(0.05)
    os.kill(driver.pid, signal.SIGKILL)
    driver.wait()
    done = results.read()
    assert 1 <= len(done) < 4
    runs = [Run(small, "file", "ConcatKMeans", {"n_init": n}, 0) for n in range(1, 5)]
    records = execute(runs, results)
    assert [r["status"] for r in records] == ["ok"] * 4
    lines = [json.loads(x) for x in results.path.read_text().splitlines()]
    assert len(lines) == 4
    assert {k: r for r in lines if (k := r["key"]) in done} == done


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_interrupt_ends_the_processes(tmp_path):
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path), "10_000"],
        # A shell starts what runs in the background with interrupts ignored.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    own = psutil.Process(driver.pid)
    while not (workers := own.children()) and driver.poll() is None:
        time.sleep(0.05)
    driver.send_signal(signal.SIGINT)
    assert driver.wait() != 0
    assert workers and not psutil.wait_procs(workers, timeout=10)[1]
    assert not Results(tmp_path).read()


def test_an_interrupt_beside_a_line_is_not_swallowed():
    async def interrupted():
        child = SimpleNamespace(stdout=asyncio.StreamReader())
        reading = asyncio.ensure_future(_line(child, 10.0))
        await asyncio.sleep(0.01)
        child.stdout.feed_data(b"said\n")
        reading.cancel()
        await asyncio.wait([reading])
        return reading.cancelled()

    assert asyncio.run(interrupted())


def test_a_run_over_its_time_is_stopped_and_recorded(tmp_path):
    from manyview.experiments.data_set import DataSet

    large = DataSet.generated(
        "large", n_samples=20_000, n_features=[200] * 3, n_clusters=50, view_quality=0
    )
    run = Run(large, "file", "ConcatKMeans", {"n_init": 1000}, 0)
    later = Run(large, "file", "ConcatKMeans", {"n_init": 1000}, 1)
    first, second = execute([run, later], Results(tmp_path), Limits(seconds=1.0))
    assert first["error"] == "TimeLimit: a run took more than 1 s."
    assert second["error"].startswith("Not tried after: TimeLimit")


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits on address space")
def test_a_run_over_its_memory_is_recorded(tmp_path):
    from manyview.experiments.data_set import DataSet

    large = DataSet.generated(
        "large", n_samples=50_000, n_features=[1000], n_clusters=2
    )
    run = Run(large, "file", "ConcatKMeans", {}, 0)
    (record,) = execute([run], Results(tmp_path), Limits(memory=50_000_000))
    assert record["status"] == "failed"
    assert "Memory" in record["error"]


@pytest.mark.usefixtures("tasks_here")
def test_a_data_file_that_is_gone_fails_every_run_of_it(tmp_path):
    from manyview.experiments.data_set import DataSet

    path = tmp_path / "toy.npz"
    np.savez(path, view0=np.eye(6), labels=np.arange(6) % 2)
    run = Run(DataSet.of(path), "file", "ConcatKMeans", {}, 0)
    assert run.key
    path.unlink()
    (record,) = execute([run], Results(tmp_path / "out"))
    assert record["error"].startswith("FileError")


def test_threads_allowed_are_divided_among_jobs(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert [Limits(jobs=n).threads() for n in (1, 2, 7, 10_000)] == [7, 3, 1, 1]
    monkeypatch.delenv("OMP_NUM_THREADS")
    assert Limits(jobs=1).threads() == n_cores()
