"""What the commands say: results on standard output, the rest on standard error."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from manyview.errors import ManyviewWarning
from manyview.present.table import Table

PIPE_WIDTH = 160  # a table that goes to a file need not fit a screen

_kept: ContextVar[tuple[str, ...]] = ContextVar("manyview_kept", default=())


@contextmanager
def keeping_note() -> Iterator[None]:
    """Remember what a command has written, to say so if it is stopped."""
    token = _kept.set(())
    try:
        yield
    finally:
        _kept.reset(token)


def say(text: str = "") -> None:
    """One line of a result."""
    print(text)


def say_json(value: Any) -> None:
    """A result for programs."""
    say(json.dumps(value))


def note(text: str) -> None:
    """A remark on standard error."""
    print(text, file=sys.stderr)


def say_written(path: str | os.PathLike[str], what: str) -> None:
    """Tell where something was written, and remember it."""
    _kept.set((*_kept.get(), os.fspath(path)))
    say(f"{what} written to {os.fspath(path)}")


def say_interrupted() -> None:
    """The last words after Ctrl-C."""
    kept = _kept.get()
    note(
        f"Stopped. Kept: {', '.join(kept)}."
        if kept
        else "Stopped. Nothing was written; no unfinished files are left."
    )


def complain(message: str) -> None:
    """An error, on standard error."""
    note(f"Error: {message}")


def show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: Any = None,
    line: str | None = None,
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


def show_scores(scores: Mapping[str, float]) -> None:
    """The seven scores side by side."""
    table = Table("scores", "", list(scores), align="r" * len(scores))
    table.add(*(f"{score:.4f}" for score in scores.values()))
    show_table(table)
