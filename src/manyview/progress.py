"""Who listens to long work: the command line, a notebook, nobody.

Passes announce themselves here; a listener (a rich progress bar, a callback)
is installed for the current context only, so two fits in two threads do not
mix their bars.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int], None]
_listener: ContextVar[Listener | None] = ContextVar("manyview_progress", default=None)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Call ``listener(title, done, total)`` for every step of work inside."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def task(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Announce `total` pieces of work; the yielded function reports one done."""
    listener = _listener.get()
    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if listener is not None:
            listener(title, done, total)

    if listener is not None:
        listener(title, 0, total)
    yield advance


@contextmanager
def shown(wanted: bool) -> Iterator[None]:
    """A progress bar on standard error, if wanted, for work over two seconds."""
    if not wanted:
        yield
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bars:
        task_id = bars.add_task("manyview")

        def update(title: str, done: int, total: int) -> None:
            bars.update(task_id, description=title, completed=done, total=total)

        with listen(update):
            yield
