"""A Python with everything imported, which forks one child per command.

A kill then lands in the command's work and not in its imports. The server is a
process of its own because a program with threads must not fork.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

WRITES = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate")


class Warm:
    """Starts commands of manyview in forked children, one at a time."""

    def __enter__(self) -> Warm:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        self._server = subprocess.Popen(
            [sys.executable, "-m", __spec__.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[1],
            env=os.environ | threads,
        )
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._stdout, selectors.EVENT_READ)
        self.pid = int(self._stdout.readline())  # its own: everything is imported
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.kill()
        self._server.wait()
        self._selector.close()
        for pipe in (self._server.stdin, self._server.stdout):
            assert pipe is not None
            pipe.close()

    @property
    def _stdout(self) -> Any:
        assert self._server.stdout is not None
        return self._server.stdout

    def start(
        self, argv: Sequence[str], *, log: Path, die_at: int = 0, watch: Path | None
    ) -> None:
        """Begin a command; it kills itself at the nth change of a file in `watch`."""
        job = {
            "argv": list(argv),
            "log": str(log),
            "die_at": die_at,
            "watch": None if watch is None else str(watch.absolute()),
        }
        assert self._server.stdin is not None
        self._server.stdin.write(json.dumps(job).encode() + b"\n")
        self._server.stdin.flush()
        self.pid = int(self._stdout.readline())

    def wait(self, seconds: float | None = None) -> int | None:
        """Exit code (negative: the signal), or None if it runs longer."""
        if not self._selector.select(seconds):
            return None
        return int(self._stdout.readline())

    def kill(self) -> int:
        """SIGKILL; the exit code, which may be that of a child just ended."""
        os.kill(self.pid, signal.SIGKILL)
        code = self.wait()
        assert code is not None
        return code


def children_of(pid: int) -> list[int]:
    """Processes the process has started, where the system tells (Linux)."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, task.read_text().split())
        except OSError:  # it ended meanwhile
            continue
    return found


def is_alive(pid: int) -> bool:
    """Does the process still run (zombies do not)?"""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        )
    except OSError:
        return False


def serve() -> None:
    """Fork for every line on standard input; say the child's pid, then its end."""
    import manyview.cli.app
    import manyview.datasets
    import manyview.experiments.compare
    import manyview.experiments.execute
    import manyview.files.model_file
    import manyview.files.run_folder
    import manyview.methods

    manyview.methods.all_methods()
    os.write(1, b"%d\n" % os.getpid())
    for line in sys.stdin.buffer:
        job = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _run(job)
        os.write(1, b"%d\n" % pid)
        _, status = os.waitpid(pid, 0)
        os.write(1, b"%d\n" % os.waitstatus_to_exitcode(status))


def _run(job: dict[str, Any]) -> None:
    """The child: one command, its words to the log."""
    code = 1
    # A shell that starts us in the background would have its children ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        if job["watch"] is not None:
            _count_writes(job["watch"], job["die_at"])
        from manyview.cli import main

        code = main(job["argv"])
        sys.stdout.flush()
    finally:
        os._exit(code)


def _count_writes(watched: str, die_at: int) -> None:
    """Die at the nth file operation, before it is done; say the number at the end."""
    n_seen = 0

    def hook(event: str, args: tuple[Any, ...]) -> None:
        nonlocal n_seen
        if event == "open":
            path, _, flags = args
            if isinstance(path, int) or not flags & (os.O_WRONLY | os.O_RDWR):
                return
        elif event not in WRITES:
            return
        else:
            path = args[0]
        where = os.fsdecode(path) if isinstance(path, (str, bytes)) else str(path)
        if where.startswith("/") and not where.startswith(watched):
            return
        n_seen += 1
        if n_seen == die_at:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


if __name__ == "__main__":
    serve()
