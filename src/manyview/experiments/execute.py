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
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import joblib  # type: ignore[import-untyped]

from manyview.engine.resources import show_size
from manyview.experiments.planned_run import Record, Run, Task, group
from manyview.experiments.results_file import Results
from manyview.running import progress

# Until the first run of a process starts, it imports and loads; generous, because
# a large file on a slow disk takes minutes.
LOAD_SECONDS = 600.0
# How long a stop, a late run or a finished one may go unseen.
LOOK_SECONDS = 0.5
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
        return int(max(1, joblib.cpu_count() // self.jobs))


def execute(
    runs: Iterable[Run], results: Results, limits: Limits | None = None
) -> list[Record]:
    """Run what is not in `results` yet, added as runs end; the records of all."""
    wanted, work = list(runs), _Execution(results, limits or Limits())
    left = work.left(wanted)
    with (
        progress.task("Runs", len(wanted)) as advance,
        ThreadPoolExecutor(work.limits.jobs) as pool,
    ):
        for _ in range(len(wanted) - len(left)):
            advance()
        jobs = {pool.submit(work.do, task) for task in group(left)}
        try:
            while jobs:
                over, jobs = wait(jobs, timeout=LOOK_SECONDS)
                while not work.ended.empty():
                    work.ended.get()
                    advance()
                for job in over:
                    job.result()
        except BaseException:
            work.stop.set()
            pool.shutdown(cancel_futures=True)
            raise
    return results.of(wanted)


@dataclass(frozen=True)
class _Execution:
    """What the threads of one call share; `ended` are runs that have a result now."""

    results: Results
    limits: Limits
    stop: threading.Event = field(default_factory=threading.Event)
    ended: queue.Queue[Run] = field(default_factory=queue.Queue)

    def left(self, runs: Iterable[Run]) -> list[Run]:
        """Those without a result that counts."""
        status = {key: r["status"] for key, r in self.results.read().items()}
        wrong = {None, "failed"} if self.limits.retry_failed else {None}
        return [r for r in runs if status.get(r.key) in wrong]

    def do(self, task: Task) -> None:
        """Run what is left of a task, unless another process works on it."""
        with self.results.claim(task) as mine:
            left = self.left(task.runs) if mine else []
            for run in task.runs:
                if run not in left:
                    self.ended.put(run)
            if left and not self.stop.is_set():
                self._run(left)

    def _run(self, runs: list[Run]) -> None:
        """Start the process and record what it says, until it ends or must be ended."""
        open_runs = {r.key: r for r in runs}
        told = {"memory_limit": self.limits.memory, "runs": [*map(self._told, runs)]}
        with _child(told, self.limits) as (child, lines, stderr):
            deadline, current, late = time.monotonic() + LOAD_SECONDS, None, False
            while open_runs and not (self.stop.is_set() or late):
                left = max(deadline - time.monotonic(), 0)
                try:
                    line = lines.get(timeout=min(LOOK_SECONDS, left))
                except queue.Empty:
                    late = time.monotonic() >= deadline
                    continue
                if line is None:
                    break
                said = json.loads(line)
                current = said["key"] if said.pop("event") == "start" else None
                deadline = time.monotonic() + self.limits.seconds
                if current is None:
                    self._record(open_runs.pop(said["key"]), said)
            if self.stop.is_set():
                return
            child.kill()
            reason = _reason(late, child.wait(), stderr, self.limits)
        for key, run in open_runs.items():
            why = reason if current in (None, key) else f"Not tried after: {reason}"
            self._record(run, {"status": "failed", "error": why})

    def _record(self, run: Run, outcome: Record) -> None:
        self.results.append(run.describe() | outcome)
        self.ended.put(run)

    def _told(self, run: Run) -> Record:
        """The run as the process is told it, with the places for its arrays."""
        told = run.to_json()
        labels_to = labels_of(told, self.results).absolute()
        trace_to = trace_of(told, self.results).absolute()
        return told | {"labels_to": str(labels_to), "trace_to": str(trace_to)}


@contextmanager
def _child(
    told: Record, limits: Limits
) -> Iterator[tuple[subprocess.Popen[str], queue.Queue[str | None], IO[str]]]:
    """A process with its task; its lines come through a queue, None at their end."""
    threads = str(limits.threads())
    with tempfile.TemporaryFile("w+") as stderr:
        child = subprocess.Popen(
            [sys.executable, "-m", f"{__package__}.task_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            text=True,
            env=os.environ | {f"{name}_NUM_THREADS": threads for name in _BLAS},
        )
        assert child.stdin is not None and child.stdout is not None
        lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(
            target=_listen, args=(child.stdout, lines), daemon=True
        ).start()
        try:
            # One that died at once is seen where its lines are read.
            with suppress(BrokenPipeError):
                child.stdin.write(json.dumps(told) + "\n")
                child.stdin.flush()
            yield child, lines, stderr
        finally:
            child.kill()
            child.wait()


def _listen(stdout: IO[str], lines: queue.Queue[str | None]) -> None:
    for line in stdout:
        lines.put(line)
    lines.put(None)


def _reason(late: bool, status: int, stderr: IO[str], limits: Limits) -> str:
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


def trace_of(record: Record, results: Results) -> Path:
    """Where the traced arrays of a run are."""
    return labels_of(record, results).with_suffix(".npz")
