"""``manyview plan``: what a fit will keep, read and cost, before it starts."""

from __future__ import annotations

from typing import Annotated

import typer

from manyview.cli import terminal
from manyview.cli.reading import Files, ViewNames, read_views


def plan(
    files: Files,
    clusters: Annotated[
        int, typer.Option("--clusters", "-k", min=1, help="Number of clusters.")
    ] = 8,
    memory_limit: Annotated[
        str | None,
        typer.Option("--memory-limit", metavar="SIZE", help="Most memory: 2GB."),
    ] = None,
    view: ViewNames = None,
) -> None:
    """Say what a fit will keep, spill or make again, its passes, time and memory.

    \b
    Example:
      manyview plan data.manyview-data --clusters 20 --memory-limit 2GB
    """
    from manyview.s2mvtc import S2MVTC

    views = read_views(files, view, "none")
    terminal.say(str(S2MVTC(clusters, memory_limit=memory_limit).plan(views)))
