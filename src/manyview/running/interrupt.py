"""Ctrl-C while rounds run: the round is finished and its labels are kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from manyview.running import progress


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
        progress.ask_to_stop()

    signal.signal(signal.SIGINT, once)
    try:
        with progress.stoppable():
            yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked:
        raise KeyboardInterrupt
