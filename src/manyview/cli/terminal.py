"""What the commands say: results on standard output, the rest on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from manyview.errors import ManyviewWarning

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


def show_table(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: Sequence[str] = (),
    strong: int | None = None,
) -> None:
    """A table; the columns named in `right` hold numbers, row `strong` is bold."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        console.width = max(console.width, PIPE_WIDTH)
    table = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        show_edge=False,
        padding=0,
    )
    for i, name in enumerate(header):
        number = name in right
        table.add_column(
            name,
            justify="right" if number else "left",
            no_wrap=number or i == 0,
            overflow="fold",
        )
    for i, row in enumerate(rows):
        cells = [Text(cell) for cell in row]
        table.add_row(*cells, style="bold" if i == strong else None)
    console.print(table)


def show_scores(scores: Mapping[str, float]) -> None:
    """The seven scores side by side."""
    values = [f"{score:.4f}" for score in scores.values()]
    show_table("", list(scores), [values], right=list(scores))
