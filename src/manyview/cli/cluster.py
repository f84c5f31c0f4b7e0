"""The options that say where a fit runs, and how it can be resumed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from manyview.errors import InputError

Engine = Annotated[
    str,
    typer.Option(
        "--engine", metavar="WHERE", help="local, or dask for a Dask cluster."
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        metavar="ADDRESS",
        help="Dask scheduler to use, such as tcp://host:8786. Its workers read FILE "
        "themselves: a converted folder, Zarr or Parquet.",
    ),
]
CheckpointFolder = Annotated[
    str | None,
    typer.Option(
        "--checkpoint",
        metavar="DIR",
        help="Folder from which a fit that was stopped resumes.",
    ),
]


def place_settings(
    engine: str, scheduler: str | None, checkpoint: str | None
) -> dict[str, Any]:
    """The options as parameters of a method; those left out stay out."""
    if engine not in ("local", "dask"):
        raise InputError(f"--engine {engine!r} is unknown; choose local or dask.")
    if (engine == "dask") != (scheduler is not None):
        raise InputError(
            "--engine dask and --scheduler ADDRESS go together. Start a scheduler "
            "with 'dask scheduler' and name its address."
        )
    given: dict[str, Any] = {} if engine == "local" else {"engine": engine}
    return given if checkpoint is None else {**given, "checkpoint": checkpoint}


@contextmanager
def cluster(scheduler: str | None) -> Iterator[None]:
    """Be a client of the scheduler, if there is one."""
    if scheduler is None:
        yield
        return
    from manyview.engine.dask import connect

    with connect(scheduler):
        yield
