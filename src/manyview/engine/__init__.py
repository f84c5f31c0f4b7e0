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

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from .._xp import Array
from ..views import Block, Views

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
    """Blocks of rows and a way to run a step on each of them."""

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
        """A state field of all rows, in row order."""

    def drop(self, name: str) -> None:
        """Forget a state field."""


def open_engine(views: Views, dtype: Any, **options: Any) -> Engine:
    """The engine for these views: rows in this process's memory."""
    from .local import LocalEngine

    return LocalEngine(views, dtype, **options)
