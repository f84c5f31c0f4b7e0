"""Who listens to long work (the command line, a notebook, nobody), and who stops it.

Passes announce themselves here; a listener (a rich progress bar, a callback)
is installed for the current context only, so two fits in two threads do not
mix their bars. Ctrl-C while rounds run finishes the round and keeps its labels.
"""

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from html import escape
from typing import Any

PATIENCE = 2.0  # seconds of work before anything is shown
LINES_APART = 30.0  # seconds between two lines where there is no terminal
REFRESH = 0.2  # seconds between two looks of a bar in a notebook: a smooth enough one

Listener = Callable[[str, int, int], None]
_listener: ContextVar[Listener | None] = ContextVar("manyview_progress", default=None)
_stop: ContextVar[bool] = ContextVar("manyview_stop", default=False)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Call ``listener(title, done, total)`` for every step of work inside.

    A listener outside still hears it, too.
    """
    outer = _listener.get()

    def both(title: str, done: int, total: int) -> None:
        listener(title, done, total)
        if outer is not None:
            outer(title, done, total)

    token, stop = _listener.set(both), _stop.set(False)
    try:
        yield
    finally:
        _listener.reset(token)
        _stop.reset(stop)


@contextmanager
def stoppable() -> Iterator[None]:
    """What is asked by `ask_to_stop` inside is forgotten at the end."""
    token = _stop.set(_stop.get())
    try:
        yield
    finally:
        _stop.reset(token)


def ask_to_stop() -> None:
    """Ask work that goes in rounds, inside this `listen`, to make this the last."""
    _stop.set(True)


def stop_is_asked() -> bool:
    """Has a listener asked to stop?"""
    return _stop.get()


@contextmanager
def task(title: str, total: int) -> Iterator[Callable[[], None]]:
    """Announce `total` pieces of work; the yielded function reports one done.

    Threads that share the work may call it side by side.
    """
    listener = _listener.get()
    done, lock = 0, threading.Lock()

    def advance() -> None:
        nonlocal done
        with lock:
            done += 1
            if listener is not None:
                listener(title, done, total)

    if listener is not None:
        listener(title, 0, total)
    yield advance


@contextmanager
def shown(wanted: bool, title: str = "Working") -> Iterator[None]:
    """A progress bar on standard error, if wanted, for work over two seconds.

    In a notebook it stands below the cell, and at the end one line with the time in
    its place. Where standard error is no terminal, a line now and then does.
    Inside another listener nothing is added: that one hears the work already.
    """
    if not wanted or _listener.get() is not None:
        yield
    elif in_notebook():
        with _below_cell(title):
            yield
    else:
        with _on_terminal(title):
            yield


def in_notebook() -> bool:
    """Does this run in the kernel of a notebook?"""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


@contextmanager
def _below_cell(title: str) -> Iterator[None]:
    from IPython.display import display

    began, last, shown_at = time.monotonic(), 0.0, None

    def show(text: str, bar: str = "") -> None:
        nonlocal shown_at
        both = {"text/plain": text, "text/html": f"{bar}<small>{escape(text)}</small>"}
        if shown_at is None:
            shown_at = display(both, raw=True, display_id=True)
        else:
            shown_at.update(both, raw=True)

    def update(step: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - began >= PATIENCE and now - last >= REFRESH:
            last = now
            # A pass over one block is done or not: the bar then only moves about.
            share = f' max="{total}" value="{done}"' if total > 1 else ""
            text = f"{title}: {step}, {now - began:.0f} s"
            show(text, f"<progress{share}></progress> ")

    end = "stopped after"
    try:
        with listen(update):
            yield
        end = "done in"
    finally:
        if shown_at is not None:
            show(f"{title}: {end} {time.monotonic() - began:.1f} s")


@contextmanager
def _on_terminal(title: str) -> Iterator[None]:
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn

    console = Console(stderr=True, markup=False, highlight=False)
    said = time.monotonic()
    columns = (SpinnerColumn(), *Progress.get_default_columns()[:3])
    bars = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
    bar = bars.add_task(title, total=None)

    def update(step: str, done: int, total: int) -> None:
        nonlocal said
        bars.update(bar, description=f"{title}: {step}", completed=done, total=total)
        if not console.is_terminal and time.monotonic() > said + LINES_APART:
            said = time.monotonic()
            console.print(f"{title}: {step} {done}/{total}")

    def begin() -> None:
        bars.start() if console.is_terminal else console.print(f"{title} …")

    timer = threading.Timer(PATIENCE, begin)
    timer.daemon = True
    timer.start()
    try:
        with listen(update):
            yield
    finally:
        timer.cancel()
        timer.join()
        if bars.live.is_started:
            bars.stop()


@contextmanager
def finish_the_round() -> Iterator[None]:
    """The first Ctrl-C asks the rounds inside to stop, a second one stops at once.

    What was asked for comes all the same: after the block, with its results in
    place, `KeyboardInterrupt` is raised. Other threads than the first get no
    signals, and a handler of the caller's own stays in charge.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    asked = False

    def once(number: int, frame: Any) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, signal.default_int_handler)
        ask_to_stop()

    signal.signal(signal.SIGINT, once)
    try:
        with stoppable():
            yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked:
        raise KeyboardInterrupt
