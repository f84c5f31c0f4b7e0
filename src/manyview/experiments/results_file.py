"""Results as JSON Lines: one record a line, appended as each run ends.

A line is one write to a file opened for appending, followed by a sync, under a
lock that other processes respect. A line torn by a crash is cut off before the
next is written and skipped by readers.
"""

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from filelock import FileLock, Timeout

from manyview.experiments.planned_run import Record, Run, Task
from manyview.files.failures import FilesTold

FILE = "results.jsonl"


class Results:
    """The results in a folder (made if need be), shared by any number of processes."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        advice = "Name a folder that can be written."
        with FilesTold(f"{folder} cannot hold results", advice):
            self.folder.mkdir(parents=True, exist_ok=True)
        self.path = self.folder / FILE

    def append(self, record: Record) -> None:
        """Add one record, whole or not at all."""
        line = json.dumps(record, sort_keys=True, allow_nan=False) + "\n"
        with (
            _told(self.path),
            FileLock(self.folder / f".{FILE}.lock"),
            self.path.open("ab+", buffering=0) as file,
        ):
            file.seek(max(file.seek(0, os.SEEK_END) - 1, 0))
            if file.read(1) not in (b"", b"\n"):  # a writer died in the middle
                file.seek(0)
                file.truncate(file.readall().rfind(b"\n") + 1)
            _write(file, line.encode())

    def read(self) -> dict[str, Record]:
        """The latest record of every key; damaged lines are left out."""
        if not self.path.exists():
            return {}
        lines = self.path.read_bytes().split(b"\n")
        return {r["key"]: r for r in map(_parse, lines) if r is not None}

    def of(self, runs: list[Run]) -> list[Record]:
        """The records of these runs, as far as there are any, in their order.

        A run that is named twice counts once; rows have the name they have now.
        """
        known = self.read()
        wanted = dict.fromkeys((r.key, r.data.name) for r in runs)
        return [known[key] | {"data": name} for key, name in wanted if key in known]

    @contextmanager
    def claim(self, task: Task) -> Iterator[bool]:
        """False while another process works on the same task."""
        path = self.folder / ".claims" / task.key
        lock = FileLock(path, timeout=0)
        with _told(path.parent):
            path.parent.mkdir(exist_ok=True)
            with suppress(Timeout):
                lock.acquire()
        try:
            yield lock.is_locked
        finally:
            if lock.is_locked:
                path.unlink(missing_ok=True)
                lock.release()


def _parse(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and "key" in record else None


def _write(file: FileIO, line: bytes) -> None:
    """The line at the end of the file; the file as it was if that fails."""
    end, left = file.seek(0, os.SEEK_END), line
    try:
        while left:  # a disk that fills up takes a part first and does not complain
            left = left[file.write(left) :]
        os.fsync(file.fileno())
    except OSError:
        file.truncate(end)
        raise


def _told(path: Path) -> FilesTold:
    advice = "Make room, or name a folder you may write to; finished runs are kept."
    return FilesTold(f"{path} could not be written", advice)
