"""Where blocks live and how a pass runs.

A **pass** applies a pure function, a *step*, to every block of rows and sums
its small results::

    result = step(block, state, small)          # anywhere a block lives
    total, notes = engine.run(step, small)      # sums and notes over all blocks

`block` holds the rows of all views, `state` what a method keeps per row,
`small` the matrices that every block needs. A step never writes into its
arguments. State after a pass is a function of the block and the list of
`small` values so far, so lost blocks, resumed fits and `predict` are replays.
An engine decides only where blocks live; no method asks which one it has.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence, ValuesView
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from manyview.arrays.ops import Array
from manyview.errors import InputError, InputTypeError
from manyview.views.views import Block, Views

State = Mapping[str, Array]


@dataclass(frozen=True)
class Result:
    """What a step gives back for one block.

    Attributes
    ----------
    state : mapping of arrays with one entry per row
        Fields that are added to the block's state or replace it there.
    stats : mapping of arrays
        Small sums; added over blocks in float64, in block order.
    note : object
        A small record of this block alone.
    """

    state: Mapping[str, Array] = field(default_factory=dict)
    stats: Mapping[str, Array] = field(default_factory=dict)
    note: Any = None


Step = Callable[[Block, State, Any], Result]
Totals = dict[str, Any]


class Engine(Protocol):
    """Blocks of rows and a way to run a step on each of them.

    With `redoes` a step may run again on the same state, after a worker is lost,
    and must leave that state as it was.
    """

    redoes: bool
    dtype: np.dtype[Any]

    @property
    def n_samples(self) -> int:
        """Number of rows of all blocks."""

    def run(
        self, step: Step, small: Any = None, *, title: str = "", views: bool = True
    ) -> tuple[Totals, list[Any]]:
        """Run one pass; with ``views=False`` the step gets rows without views."""

    def take(self, rows: Array) -> Block:
        """The chosen rows, in the order asked for, on the host."""

    def put(self, name: str, values: Array) -> None:
        """Give every block its rows of an array with one entry per row."""

    def read(self, name: str) -> Array:
        """A state field of all rows, in row order; lazy where the rows are far."""

    def drop(self, name: str) -> None:
        """Forget a state field."""

    def keeps(self, bytes_per_row: float, remake_flops: float, uses: int) -> bool:
        """Keep this much per row for `uses` passes, or make it again in each?"""


def open_engine(
    views: Views,
    dtype: Any,
    *,
    engine: Any = "local",
    device: str | None = None,
    memory_limit: Any = None,
    **options: Any,
) -> Engine:
    """The engine for these views: this process, a GPU or a Dask cluster."""
    _check_place(device, options.get("block_rows"))
    if not isinstance(engine, str) or engine != "local":
        from manyview.engine.dask import DaskEngine, find_client

        return DaskEngine(views, dtype, find_client(engine), **options)
    if not isinstance(views, Views):
        raise InputError(
            "The views are Dask collections, but engine='local'. Give engine='dask' "
            "or a client, or compute the views first."
        )
    from manyview.engine.device import DeviceEngine, find_device

    found = find_device(device, views)
    if found is not None:
        return DeviceEngine(views, dtype, found, **options)
    from manyview.engine.local import LocalEngine

    return LocalEngine(views, dtype, memory_limit=memory_limit, **options)


def _check_place(device: Any, block_rows: Any) -> None:
    from manyview.base import check_count

    if block_rows is not None:
        check_count(block_rows, "block_rows")
    named = device is None or isinstance(device, str)
    if not named and type(device).__module__ != "torch":
        raise InputTypeError(
            f"device={device!r} is no name of a device. Give 'cpu', 'cuda', 'cuda:1', "
            "'mps' or None."
        )


def is_elsewhere(X: Any) -> bool:
    """Are these Dask collections or paths, rather than rows in memory?"""
    items = X.values() if isinstance(X, Mapping) else X
    many = list(items) if isinstance(items, (list, tuple, ValuesView)) else [X]
    return any(is_lazy(item) for item in many) or _are_paths(many)


def is_lazy(array: Any) -> bool:
    """Is this a Dask array or DataFrame?"""
    return hasattr(array, "__dask_graph__")


def _are_paths(items: list[Any]) -> bool:
    return bool(items) and all(isinstance(i, (str, os.PathLike)) for i in items)


def views_elsewhere(X: Any) -> Any:
    """Views that are read where they lie: by workers, or block by block from disk."""
    items = [X] if isinstance(X, (str, os.PathLike)) else X
    if isinstance(items, (list, tuple)) and _are_paths(list(items)):
        from manyview.datasets.on_disk import open_on_disk

        return open_on_disk(*items)
    from manyview.engine.dask_views import DaskViews

    return DaskViews(X)


class NoCheckpoint:
    """Keeps nothing: what a fit that no checkpoint follows writes to."""

    def check_data(self, drawn: Any, engine: Engine) -> None:
        """Refuse to go on with other data than those the checkpoint was made with."""

    def keep(self, name: str, value: Any) -> Any:
        """The value kept under this name; the given one where there is none."""
        return value

    def load(self, name: str) -> Any:
        """The latest value of this name, or None."""
        return None

    def put_rows(self, name: str, engine: Engine) -> None:
        """Give the engine's blocks the state fields of the latest value."""

    def save(
        self,
        name: str,
        value: Any,
        *,
        number: int = 0,
        engine: Engine | None = None,
        fields: Sequence[str] = (),
    ) -> None:
        """Keep a value, and state fields of the engine's blocks with it."""


NO_CHECKPOINT = NoCheckpoint()
