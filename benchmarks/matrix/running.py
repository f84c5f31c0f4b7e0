"""Runs the cells, each in a process of its own, and keeps what they came to.

Every result is a line of JSON with a digest of the code it was found with: a stopped
run goes on where it was, and results of other code are found again, unless it is named
as code whose results count as well.
"""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from manyview.files.atomic import write_text

from . import ROOT
from .cells import AUTO, KILLED, Cell
from .child import load_done
from .verdict import FAILED, Verdict, judge

# Seconds after which a cell counts as hanging; the longest takes a sixth of it.
LONGEST = 900.0
# After the draw, the set-up and the rounds, as far as a method has them.
N_KILLS = 3


def digest_of_code() -> str:
    """A few letters that change with the package or with the matrix."""
    found = hashlib.sha256()
    for folder in (ROOT / "src" / "manyview", Path(__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            found.update(path.relative_to(ROOT).as_posix().encode())
            found.update(path.read_bytes())
    return found.hexdigest()[:12]


class Results:
    """Lines of JSON by cell; those of other code do not count.

    What code with one of the digests `also` has found counts where this code has found
    nothing: for a change that most cells do not touch.
    """

    def __init__(
        self, path: Path, digest: str, machine: str, also: Sequence[str] = ()
    ) -> None:
        self.path, self.digest, self.machine = path, digest, machine
        self.by_cell: dict[str, dict[str, Any]] = {}
        self._lock = threading.Lock()
        records = list(self._read())
        for one in (*also, digest):
            for record in records:
                if record.get("digest") == one:
                    self.by_cell[Cell(**record["cell"]).key] = record

    def _read(self) -> Iterable[dict[str, Any]]:
        lines = self.path.read_text("utf-8").splitlines() if self.path.exists() else []
        for line in lines:
            try:
                yield json.loads(line)
            except ValueError:  # the last line of a run that was killed
                continue

    def of(self, cell: Cell) -> dict[str, Any] | None:
        """What is known of a cell."""
        return self.by_cell.get(cell.key)

    def add(self, cell: Cell, record: dict[str, Any]) -> None:
        """Keep a result."""
        own = {"cell": asdict(cell), "digest": self.digest, "machine": self.machine}
        whole = own | record
        with self._lock:
            self.by_cell[cell.key] = whole
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(whole) + "\n")

    def tidy(self) -> None:
        """Leave one line for each cell of this code."""
        lines = (json.dumps(self.by_cell[key]) for key in sorted(self.by_cell))
        write_text(self.path, "".join(f"{line}\n" for line in lines))


class Runner:
    """Cells in child processes, several at a time.

    Parameters
    ----------
    results : Results
    work : path
        A folder for the data and the labels of plain fits; kept between runs.
    jobs : int
        Processes side by side.
    say : callable
        Is told a line about every cell.
    """

    def __init__(
        self, results: Results, work: Path, jobs: int, say: Callable[[str], None]
    ) -> None:
        self.results, self.work, self.jobs, self.say = results, work, jobs, say
        self._number, self._lock = 0, threading.Lock()

    def run(self, cells: Sequence[Cell]) -> None:
        """Few rows first, and the longest cells of as many rows, so that none is left
        to run alone; of these data come first, then plain fits, then cells."""
        ordered = sorted(cells, key=lambda cell: (cell.rows, cell.use != AUTO))
        with ThreadPoolExecutor(self.jobs) as pool:
            queued: list[Future[None]] = []
            for _, group in groupby(ordered, key=lambda cell: cell.rows):
                queued += self._queue(pool, list(group))
            for each in queued:
                each.result()

    def _queue(
        self, pool: ThreadPoolExecutor, cells: Sequence[Cell]
    ) -> list[Future[None]]:
        """Each waits for what it needs alone, which was queued before it."""
        plain = list(dict.fromkeys(cell.plain for cell in cells if cell.is_taken))
        made = {
            (c.input, c.rows): pool.submit(self._child, "data", c)
            for c in {(c.input, c.rows): c for c in [*plain, *cells]}.values()
        }
        known = {c: pool.submit(self._refer, c, made[c.input, c.rows]) for c in plain}
        return [
            pool.submit(self._one, c, made[c.input, c.rows], known.get(c.plain))
            for c in cells
        ]

    def _one(
        self, cell: Cell, data: Future[Any], plain: Future[None] | None = None
    ) -> None:
        data.result()
        if plain is not None:
            plain.result()
        start = time.monotonic()
        record = self._judged(cell) | {"seconds": time.monotonic() - start}
        self.results.add(cell, record)
        agreement = "" if record["ari"] is None else f"ARI {record['ari']:.4f}"
        words = (record["outcome"], cell.key, agreement, f"{record['seconds']:.0f} s")
        self.say("  ".join(word for word in words if word))
        if record["outcome"] == FAILED:
            self.say(f"    {record['said']}")

    def _judged(self, cell: Cell) -> dict[str, Any]:
        answer = self._answer(cell)
        if "error" in answer:
            verdict = Verdict(FAILED, said=answer["error"])
        else:
            done, plain = load_done(answer["labels"], answer), self._plain(cell.plain)
            known = plain.is_file() or done.refusal is not None
            if known:
                reference = load_done(plain, {}) if plain.is_file() else done
                verdict = judge(cell, done, reference)
            else:
                verdict = Verdict(FAILED, said="the plain fit in memory failed")
        kept = {k: answer.get(k) for k in ("held", "limit", "peak", "cpu")}
        return verdict._asdict() | kept

    def _answer(self, cell: Cell) -> dict[str, Any]:
        """The child's answer; of a fit that is killed, that of the last child."""
        folder = self._folder()
        if cell.use != KILLED:
            return self._child("cell", cell, folder)
        for kill in range(N_KILLS):
            answer = self._child("killed", cell, folder)
            if answer.get("killed"):
                continue
            if kill == 0 and answer.get("refusal") is None and "error" not in answer:
                return {"error": "the fit ended before it could be killed"}
            return answer
        return self._child("cell", cell, folder)

    def _refer(self, cell: Cell, data: Future[Any]) -> None:
        """Labels of the plain fit, unless they are there."""
        data.result()
        path = self._plain(cell)
        if not path.is_file():
            answer = self._child("plain", cell)
            if "error" in answer:
                self.say(f"plain fit failed  {cell.key}\n    {answer['error']}")
            else:
                answer["labels"].replace(path)

    def _plain(self, cell: Cell) -> Path:
        # Of this code and machine: rounding alone moves rows of methods that are
        # stopped after a few rounds.
        whole = "\n".join((self.results.digest, self.results.machine, cell.key))
        name = hashlib.sha256(whole.encode()).hexdigest()[:16]
        return self.work / f"plain-{name}.npz"

    def _folder(self) -> Path:
        with self._lock:
            self._number += 1
            folder = self.work / f"{os.getpid()}-{self._number}"
        folder.mkdir(parents=True)
        return folder

    def _child(
        self, kind: str, cell: Cell, folder: Path | None = None
    ) -> dict[str, Any]:
        """Run one child and read its answer."""
        folder = folder or self._folder()
        job, answer = folder / "job.json", folder / "answer.json"
        content = {
            "kind": kind,
            "cell": asdict(cell),
            "data": str(self.work / "data"),
            "scratch": str(folder),
            "labels": str(folder / "labels.npz"),
            "answer": str(answer),
        }
        job.write_text(json.dumps(content), encoding="utf-8")
        paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
        env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
        command = [sys.executable, "-m", "benchmarks.matrix.child", str(job)]
        with (folder / "said.txt").open("w") as said:
            try:
                code = subprocess.run(
                    command,
                    cwd=ROOT,
                    env=env,
                    stdout=said,
                    stderr=said,
                    timeout=LONGEST,
                    check=False,
                ).returncode
            except subprocess.TimeoutExpired:
                return {"error": f"over {LONGEST:.0f} s"}
        if kind == "killed" and code == -signal.SIGKILL:
            return {"killed": True}
        if not answer.is_file():
            last = (folder / "said.txt").read_text("utf-8", "replace")[-2000:]
            return {"error": f"exit status {code}: {last}"}
        found: dict[str, Any] = json.loads(answer.read_text(encoding="utf-8"))
        return found | {"labels": folder / "labels.npz"}
