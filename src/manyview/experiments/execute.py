"""Run what has no result yet: processes side by side, limits, records.

Time and memory are those of the process that ran the method. A run that fails,
crashes or goes over a limit is recorded with its reason; the rest goes on.
"""

import asyncio
import json
import os
import sys
import tempfile
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from manyview.engine.resources import n_cores, show_size
from manyview.experiments.planned_run import Record, Run, Task, group
from manyview.experiments.results_file import Results
from manyview.running import progress

# Until the first run of a process starts, it imports and loads; generous, because
# a large file on a slow disk takes minutes.
LOAD_SECONDS = 600.0
MOST_LINE_BYTES = 2**24  # of a result; a thousand times what one takes
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
        return max(1, n_cores() // self.jobs)


def execute(
    runs: Iterable[Run], results: Results, limits: Limits | None = None
) -> list[Record]:
    """Run what is not in `results` yet, added as runs end; the records of all."""
    wanted = list(runs)
    with progress.task("Runs", len(wanted)) as advance:
        work = _Execution(results, limits or Limits(), advance)
        asyncio.run(work.do_all(wanted))
    return results.of(wanted)


@dataclass(frozen=True)
class _Execution:
    """One call of `execute`; `advance` is told of every run that has a result now."""

    results: Results
    limits: Limits
    advance: Callable[[], None]

    async def do_all(self, runs: list[Run]) -> None:
        """What is left of the runs, so many tasks at a time as there are jobs."""
        left = self._left(runs)
        for _ in range(len(runs) - len(left)):
            self.advance()
        free = asyncio.Semaphore(self.limits.jobs)
        await asyncio.gather(*(self._do(task, free) for task in group(left)))

    def _left(self, runs: Iterable[Run]) -> list[Run]:
        """Those without a result that counts."""
        status = {key: r["status"] for key, r in self.results.read().items()}
        wrong = {None, "failed"} if self.limits.retry_failed else {None}
        return [r for r in runs if status.get(r.key) in wrong]

    async def _do(self, task: Task, free: asyncio.Semaphore) -> None:
        """Run what is left of a task, unless another process works on it."""
        async with free:
            with self.results.claim(task) as mine:
                left = self._left(task.runs) if mine else []
                for _ in range(len(task.runs) - len(left)):
                    self.advance()
                if left:
                    await self._run(left)

    async def _run(self, runs: list[Run]) -> None:
        """Start the process and record what it says, until it ends or must be ended."""
        open_runs, current = {r.key: r for r in runs}, None
        told = {"memory_limit": self.limits.memory, "runs": [*map(self._told, runs)]}
        with tempfile.TemporaryFile("w+") as stderr:
            async with _child(told, self.limits.threads(), stderr) as child:
                late, seconds = False, LOAD_SECONDS
                try:
                    while open_runs and (line := await _line(child, seconds)):
                        said, seconds = json.loads(line), self.limits.seconds
                        current = said["key"] if said.pop("event") == "start" else None
                        if current is None:
                            self._record(open_runs.pop(said["key"]), said)
                except TimeoutError:
                    late = True
            reason = self._reason(late, child.returncode, stderr)
        for key, run in open_runs.items():
            why = reason if current in (None, key) else f"Not tried after: {reason}"
            self._record(run, {"status": "failed", "error": why})

    def _record(self, run: Run, outcome: Record) -> None:
        self.results.append(run.describe() | outcome)
        self.advance()

    def _told(self, run: Run) -> Record:
        """The run as the process is told it, with the places for its arrays."""
        told = run.to_json()
        labels_to = labels_of(told, self.results).absolute()
        trace_to = trace_of(told, self.results).absolute()
        return told | {"labels_to": str(labels_to), "trace_to": str(trace_to)}

    def _reason(self, late: bool, status: int | None, stderr: IO[str]) -> str:
        """Why a process ended before its task did."""
        if late:
            return f"TimeLimit: a run took more than {self.limits.seconds:g} s."
        stderr.seek(0)
        last, memory = stderr.read()[-400:].strip(), self.limits.memory
        limit = f" (memory limit {show_size(memory)})" if memory else ""
        return f"ProcessDied: the process ended with status {status}{limit}. {last}"


@asynccontextmanager
async def _child(told: Record, threads: int, stderr: IO[str]) -> AsyncIterator[Process]:
    """A process with its task, ended at the end of the block."""
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", f"{__package__}.task_worker"),
        stdin=PIPE,
        stdout=PIPE,
        stderr=stderr,
        limit=MOST_LINE_BYTES,
        env=os.environ | {f"{name}_NUM_THREADS": str(threads) for name in _BLAS},
    )
    assert child.stdin is not None
    try:
        # One that died at once is seen where its lines are read.
        with suppress(ConnectionError):
            child.stdin.write(json.dumps(told).encode() + b"\n")
            await child.stdin.drain()
        yield child
    finally:
        with suppress(ProcessLookupError):
            child.kill()
        await child.wait()


async def _line(child: Process, seconds: float) -> bytes:
    """What the process says next; not by `wait_for`, which may swallow an interrupt."""
    assert child.stdout is not None
    async with asyncio.timeout(seconds):
        return await child.stdout.readline()


def labels_of(record: Record, results: Results) -> Path:
    """Where the labels of a run are, in the order of the file."""
    return results.folder / "arrays" / f"{record['key']}.npy"


def trace_of(record: Record, results: Results) -> Path:
    """Where the traced arrays of a run are."""
    return labels_of(record, results).with_suffix(".npz")
