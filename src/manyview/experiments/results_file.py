"""Results as JSON Lines: one record a line, appended as each run ends.

A line is one write to a file opened for appending, followed by a sync, under a
lock that other processes respect. A line torn by a crash is cut off before the
next is written and skipped by readers.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path

from manyview.errors import FileError
from manyview.experiments.planned_run import Record, Run, Task

FILE = "results.jsonl"


class Results:
    """The results in a folder, shared by any number of processes.

    Parameters
    ----------
    folder : path
        Made if it is not there.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FileError(
                f"{folder} cannot hold results: {error.strerror}. Name a folder "
                "that can be written."
            ) from error
        self.path = self.folder / FILE

    def append(self, record: Record) -> None:
        """Add one record, whole or not at all."""
        line = json.dumps(record, sort_keys=True, allow_nan=False) + "\n"
        with (
            _locked(self.folder / f".{FILE}.lock"),
            _in_words(self.path),
            self.path.open("ab+", buffering=0) as file,
        ):
            _cut_torn_tail(file)
            _write(file, line.encode())

    def read(self) -> dict[str, Record]:
        """The latest record of every key; damaged lines are left out."""
        if not self.path.exists():
            return {}
        records: dict[str, Record] = {}
        for line in self.path.read_bytes().split(b"\n"):
            record = _parse(line)
            if record is not None:
                records[record["key"]] = record
        return records

    def of(self, runs: list[Run]) -> list[Record]:
        """The records of these runs, as far as there are any, in their order."""
        known = self.read()
        return [known[r.key] for r in runs if r.key in known]

    @contextmanager
    def claim(self, task: Task) -> Iterator[bool]:
        """False while another process works on the same task."""
        locks = self.folder / ".claims"
        with _in_words(locks):
            locks.mkdir(exist_ok=True)
        path = locks / task.key
        with _locked(path, wait=False) as mine:
            yield mine
            if mine:
                path.unlink(missing_ok=True)


def _parse(line: bytes) -> Record | None:
    try:
        record = json.loads(line)
    except ValueError:
        return None
    return record if isinstance(record, dict) and "key" in record else None


def _cut_torn_tail(file: FileIO) -> None:
    """Drop what follows the last line end: a writer died in the middle of it."""
    size = file.seek(0, os.SEEK_END)
    if size == 0:
        return
    file.seek(size - 1)
    if file.read(1) == b"\n":
        return
    file.seek(0)
    file.truncate(file.readall().rfind(b"\n") + 1)


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


@contextmanager
def _in_words(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise FileError(
            f"{path} could not be written: {error.strerror}. Make room, or name a "
            "folder you may write to; finished runs are kept."
        ) from error


@contextmanager
def _locked(path: Path, *, wait: bool = True) -> Iterator[bool]:
    """Hold an advisory lock; without `wait`, say whether it could be had."""
    try:
        import fcntl
    except ImportError:  # no such locks on this system: one process per folder
        yield True
        return
    with _in_words(path):
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(file)
