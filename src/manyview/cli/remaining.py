"""Progress of long work with the time that is left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from manyview.cli import terminal
from manyview.running.progress import Listener, listen

EVERY = 30.0  # seconds between lines where there is no terminal


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
        if now - last < EVERY or done == total:
            return
        last = now
        here, left = done - finished_before, ""
        if here:
            minutes = (total - done) * (now - began) / here / 60
            left = f", about {minutes:.0f} min left"
        terminal.note(f"{title}: {done} of {total}{left}")

    return tell
