"""Parsing in a child process: the parent's side.

`subprocess` rather than `multiprocessing`: it works from notebooks, from
``python -`` and from scripts without a main guard. Data comes back as npy
files in a private folder, never as a pickle.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from manyview.datasets.data_folder import open_data_folder
from manyview.datasets.raw_data import RawData, Request, printable
from manyview.errors import FileError, ManyviewError

# Minutes are enough for gigabytes; a reader that hangs is noticed all the same.
TIME_LIMIT = 600.0


class Sandbox:
    """A child that reads files one after the other, started again when it dies.

    Parameters
    ----------
    time_limit : float
        Seconds one file, or one piece of it, may take.
    idle_limit : float, optional
        Seconds after which a child without work is stopped, where nobody does.

    Attributes
    ----------
    n_deaths : int
        How often the child crashed or was stopped at the time limit.
    """

    def __init__(
        self, time_limit: float = TIME_LIMIT, idle_limit: float | None = None
    ) -> None:
        self.time_limit, self.idle_limit = time_limit, idle_limit
        self.n_deaths = 0
        self._child: subprocess.Popen[str] | None = None
        self._end: Any = None  # of the child, at the latest when this process ends
        self._rest: threading.Timer | None = None
        self._lock = threading.RLock()  # one job at a time

    def __enter__(self) -> Sandbox:
        return self

    def __exit__(self, *failure: object) -> None:
        self._stop()

    def read(self, path: Path, request: Request) -> RawData:
        """The content of a file, mapped from a folder that is already deleted."""
        folder = Path(tempfile.mkdtemp(prefix="manyview-read-"))
        try:
            reply = self._copy(path, request, folder, stream=False)
            raw = open_data_folder(folder, verify=False, private=True)
            return replace(raw, notes=tuple(reply["notes"]))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def write(self, path: Path, request: Request, folder: Path) -> tuple[str, ...]:
        """Have the child write a file into a folder in our layout; its notes."""
        return tuple(self._copy(path, request, folder, stream=True)["notes"])

    def _copy(self, path: Path, request: Request, out: Path, *, stream: bool) -> Any:
        return self.ask(path, request, task="copy", out=str(out), stream=stream)

    def ask(self, path: Path, request: Request, **job: Any) -> Any:
        """Have the child do a job on a file; its reply."""
        job |= {"path": str(path.absolute()), "time_limit": self.time_limit}
        text = json.dumps(job | asdict(request))
        with self._lock:
            self._stay()
            try:
                reply = self._exchange(text, path)
            except BaseException:  # Ctrl-C included: never leave a child behind
                self._stop()
                raise
            self._leave_soon()
        if reply["error"] is not None:
            kinds = {kind.__name__: kind for kind in ManyviewError.__subclasses__()}
            raise kinds.get(reply["error"], FileError)(reply["message"])
        notes = [printable(str(note)) for note in reply.get("notes", ())]
        return reply | {"notes": notes}

    def _stay(self) -> None:
        """There is work: whoever waits to stop the child may go."""
        if self._rest is not None:
            self._rest.cancel()
        self._rest = None

    def _leave_soon(self) -> None:
        """Stop the child after a while, unless there is work again."""
        if self.idle_limit is not None:
            self._rest = threading.Timer(self.idle_limit, self._stop)
            self._rest.daemon = True
            self._rest.start()

    def _exchange(self, job: str, path: Path) -> Any:
        child = self._start()
        assert child.stdin is not None and child.stdout is not None
        late = threading.Event()

        def stop() -> None:
            late.set()
            child.kill()

        alarm = threading.Timer(self.time_limit, stop)
        alarm.daemon = True
        alarm.start()
        try:
            with contextlib.suppress(BrokenPipeError):
                child.stdin.write(job + "\n")
                child.stdin.flush()
            answer = child.stdout.readline()
        finally:
            alarm.cancel()
        if answer.endswith("\n"):
            return json.loads(answer)
        status = child.wait()
        self.n_deaths += 1
        self._stop()
        if not late.is_set():
            raise _crash(path, status)
        raise FileError(
            f"Reading {path.name} was stopped after {self.time_limit:g} seconds. Raise "
            "time_limit if the file is yours and large; otherwise it is damaged or "
            "hostile."
        )

    def _start(self) -> subprocess.Popen[str]:
        if self._child is not None and self._child.poll() is None:
            return self._child
        self._stop()
        if not sys.executable:
            raise FileError(
                "The file cannot be read safely: this Python does not say where its "
                "interpreter is (sys.executable). Convert the file elsewhere first."
            )
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-m", "manyview.datasets.isolated.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env=_environment(),
            start_new_session=True,
        )
        self._end = weakref.finalize(self, _stop_child, self._child)
        return self._child

    def _stop(self) -> None:
        with self._lock:
            self._stay()
            self._child = None
            if self._end is not None:
                self._end()


def _stop_child(child: subprocess.Popen[str]) -> None:
    child.kill()
    with contextlib.suppress(BrokenPipeError):
        child.communicate()  # waits and closes the pipes


def _crash(path: Path, status: int) -> FileError:
    """What to say of a parser that died with this exit status."""
    how = f"ended with status {status}"
    with contextlib.suppress(ValueError):
        how = f"was ended by {signal.Signals(-status).name}"
    return FileError(
        f"{path.name} could not be read: the parser {how}. The file is damaged or "
        "hostile; fetch it again from a source you trust."
    )


def _environment() -> dict[str, str]:
    """The parent's environment, one thread per library, no HDF5 plug-ins."""
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "POLARS_MAX_THREADS": "1",
        "ARROW_DEFAULT_MEMORY_POOL": "system",
        "HDF5_PLUGIN_PRELOAD": "::",
    }
