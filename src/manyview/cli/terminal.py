"""What the commands say: results on standard output, the rest on standard error."""

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from manyview.errors import ManyviewWarning
from manyview.present.table import Table
from manyview.running.progress import LINES_APART, Listener, listen

PIPE_WIDTH = 160  # a table that goes to a file need not fit a screen

_written: list[str] = []  # by the command that runs, or kept by it as it goes


def start() -> None:
    """Forget what an earlier command has written; no letter stops what is said."""
    _written.clear()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")


def say(text: str = "") -> None:
    """One line of a result."""
    print(text)


def say_json(value: Any) -> None:
    """A result for programs."""
    say(json.dumps(value))


def note(text: str) -> None:
    """A remark on standard error."""
    print(text, file=sys.stderr)


def say_written(path: str | os.PathLike[str], what: str, tell: Any = say) -> None:
    """Tell where something was or will be written, and remember it."""
    _written.append(os.fspath(path))
    tell(f"{what} written to {os.fspath(path)}")


def say_interrupted() -> None:
    """The last words after Ctrl-C."""
    kept = [path for path in _written if Path(path).exists()]
    note(
        f"Stopped. Kept: {', '.join(kept)}."
        if kept
        else "Stopped. Nothing was written; no unfinished files are left."
    )


def show_warning(
    message: Warning | str, category: type[Warning], *where: Any, **more: Any
) -> None:
    """Our warnings in plain words; others with their name."""
    ours = issubclass(category, ManyviewWarning)
    note(f"Warning: {message}" if ours else f"{category.__name__}: {message}")


def show_table(table: Table) -> None:
    """A table with its caption."""
    from rich.console import Console

    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, PIPE_WIDTH)
    console.print(table.to_terminal())


def draw(figure: Any, path: str | None) -> None:
    """Write the figure that `figure` makes, where a path was asked for."""
    if path is not None:
        from manyview.present.plot import save

        for written in save(figure(), Path(path).with_suffix("")):
            say_written(written, "Figure")


def show_scores(scores: Mapping[str, float]) -> None:
    """The seven scores side by side."""
    table = Table("scores", "", list(scores), align="r" * len(scores))
    table.add(*(f"{score:.4f}" for score in scores.values()))
    show_table(table)


@contextmanager
def with_remaining_time() -> Iterator[None]:
    """A bar on a terminal, else a line now and then; both say what is left."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        with listen(_lines()):
            yield
        return
    from rich.progress import MofNCompleteColumn, Progress

    columns = (*Progress.get_default_columns(), MofNCompleteColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        bar = bars.add_task("Starting", total=None)

        def update(title: str, done: int, total: int) -> None:
            if done == 0:
                bars.reset(bar)
            bars.update(bar, description=title, completed=done, total=total)

        with listen(update):
            yield


def _lines() -> Listener:
    """Says at most one line every half minute."""
    began = last = time.monotonic()
    finished_before = 0

    def tell(title: str, done: int, total: int) -> None:
        nonlocal began, last, finished_before
        now = time.monotonic()
        if done == 0:
            began, finished_before = now, 0
        # What is done at once was done by an earlier call and says nothing of speed.
        if now - began < 1.0:
            finished_before = done
        if now - last < LINES_APART or done == total:
            return
        last = now
        here, left = done - finished_before, ""
        if here:
            minutes = (total - done) * (now - began) / here / 60
            left = f", about {minutes:.0f} min left"
        note(f"{title}: {done} of {total}{left}")

    return tell
