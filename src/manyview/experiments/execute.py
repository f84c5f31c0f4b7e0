"""Run what has no result yet: processes side by side, limits, records.

Time and memory are those of the process that ran the method. A run that fails,
crashes or goes over a limit is recorded with its reason; the rest goes on.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from manyview.engine.resources import show_size
from manyview.experiments.planned_run import Record, Run, Task, group
from manyview.experiments.results_file import Results
from manyview.running import progress

# Until the first run of a process starts, it imports and loads.
LOAD_SECONDS = 600.0
# Runs that have a result now, from the threads to the one that shows progress.
Ended = queue.Queue[Run]
_BLAS = ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "BLIS", "VECLIB_MAXIMUM")


@dataclass(frozen=True)
class Limits:
    """What one run may take, and how many processes run side by side."""

    seconds: float = 1800.0
    memory: int | None = None
    jobs: int = 1
    retry_failed: bool = False

    def threads(self) -> int:
        """Cores of each process."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
        return max(1, (cores or os.cpu_count() or 1) // self.jobs)


def execute(
    runs: Iterable[Run], results: Results, limits: Limits | None = None
) -> list[Record]:
    """Run what is not in `results` yet; the records of all `runs`.

    Parameters
    ----------
    runs : iterable of Run
    results : Results
        Records are appended to it as runs end.
    limits : Limits, optional
        Time and memory of a run, number of processes side by side.
    """
    limits = limits or Limits()
    wanted = list(runs)
    known = results.read()
    left = [r for r in wanted if not _is_done(known.get(r.key), limits)]
    stop, ended = threading.Event(), Ended()
    with (
        progress.task("Runs", len(wanted)) as advance,
        ThreadPoolExecutor(max(1, limits.jobs)) as pool,
    ):
        for _ in range(len(wanted) - len(left)):
            advance()
        jobs = {pool.submit(_do, t, results, limits, stop, ended) for t in group(left)}
        try:
            while jobs:
                over, jobs = wait(jobs, timeout=0.5)
                while not ended.empty():
                    ended.get()
                    advance()
                for job in over:
                    job.result()
        except BaseException:
            stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return results.of(wanted)


def _is_done(record: Record | None, limits: Limits) -> bool:
    if record is None:
        return False
    return record["status"] == "ok" or not limits.retry_failed


def _do(
    task: Task, results: Results, limits: Limits, stop: threading.Event, ended: Ended
) -> None:
    """Run what is left of a task, unless another process works on it."""
    left: list[Run] = []
    with results.claim(task) as mine:
        if mine:
            known = results.read()
            left = [r for r in task.runs if not _is_done(known.get(r.key), limits)]
        for run in task.runs:
            if run not in left:
                ended.put(run)
        if left and not stop.is_set():
            _run_task(Task(tuple(left)), results, limits, stop, ended)


def _run_task(
    task: Task, results: Results, limits: Limits, stop: threading.Event, ended: Ended
) -> None:
    """Start the process and record what it says, until it ends or must be ended."""
    open_runs = {r.key: r for r in task.runs}
    with _child(_message(task, results, limits), limits) as (lines, stderr, child):
        deadline, current, late = time.monotonic() + LOAD_SECONDS, None, False
        while open_runs and not stop.is_set():
            try:
                line = lines.get(timeout=min(0.5, max(deadline - time.monotonic(), 0)))
            except queue.Empty:
                late = time.monotonic() >= deadline
                if late:
                    break
                continue
            if line is None:
                break
            said = json.loads(line)
            if said.pop("event") == "start":
                current, deadline = said["key"], time.monotonic() + limits.seconds
                continue
            run = open_runs.pop(said["key"])
            results.append(run.describe() | said)
            ended.put(run)
            current, deadline = None, time.monotonic() + limits.seconds
        if stop.is_set():
            return
        child.kill()
        reason = _reason(late, child.wait(), stderr, limits)
    for key, run in open_runs.items():
        why = reason if current in (None, key) else f"Not tried after: {reason}"
        results.append(run.describe() | {"status": "failed", "error": why})
        ended.put(run)


def _message(task: Task, results: Results, limits: Limits) -> Record:
    """The task as the process is told it, with the places for its arrays."""
    told = task.to_json() | {"memory_limit": limits.memory}
    arrays = results.folder.absolute() / "arrays"
    for run in told["runs"]:
        run["labels_to"] = str(arrays / f"{run['key']}.npy")
        if "trace" in run["extras"]:
            run["trace_to"] = str(arrays / f"{run['key']}.npz")
    return told


Child = subprocess.Popen[str]


@contextmanager
def _child(
    told: Record, limits: Limits
) -> Iterator[tuple[queue.Queue[str | None], IO[str], Child]]:
    """A process with its task; its lines come through a queue, None at their end."""
    threads = str(limits.threads())
    env = os.environ | {f"{name}_NUM_THREADS": threads for name in _BLAS}
    with tempfile.TemporaryFile("w+") as stderr:
        child = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.task_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=env,
        )
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=_listen, args=(child, lines), daemon=True).start()
        try:
            _tell(child, told)
            yield lines, stderr, child
        finally:
            child.kill()
            child.wait()


def _tell(child: Child, told: Record) -> None:
    assert child.stdin is not None
    try:
        child.stdin.write(json.dumps(told) + "\n")
        child.stdin.flush()
    except BrokenPipeError:
        return  # it died at once; its end is seen where its lines are read


def _listen(child: Child, lines: queue.Queue[str | None]) -> None:
    assert child.stdout is not None
    for line in child.stdout:
        lines.put(line)
    lines.put(None)


def _reason(late: bool, status: int, stderr: Any, limits: Limits) -> str:
    """Why a process ended before its task did."""
    if late:
        return f"TimeLimit: a run took more than {limits.seconds:g} s."
    stderr.seek(0)
    last = stderr.read()[-400:].strip()
    memory = f" (memory limit {show_size(limits.memory)})" if limits.memory else ""
    return f"ProcessDied: the process ended with status {status}{memory}. {last}"


def labels_of(record: Record, results: Results) -> Path:
    """Where the labels of a run are, in the order of the file."""
    return results.folder / "arrays" / f"{record['key']}.npy"
