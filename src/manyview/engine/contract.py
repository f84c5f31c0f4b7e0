"""Passes, the one way work is done on rows, and what an engine promises.

A **pass** applies a pure function, a *step*, to every block of rows and sums its
small results::

    result = step(block, state, shared)          # anywhere a block lives
    total, notes = engine.run(step, shared)      # sums and notes over all blocks

`block` holds the rows of all views, `state` what a method keeps per row, `shared`
the matrices that every block needs. A step sees the fields that existed when its
pass began; what it returns is visible when the pass has ended, whatever the engine.
It never writes into what it is given: a field that takes the place of another is
named in the result, and the engine frees the old one. `touches` declares which
fields a step may read and write.

Rows and views have an order of the engine's own (in memory that of their content,
so that a shuffled table is the same computation). Row numbers in steps, `take` and
notes are the engine's; `put` and `read` speak in the caller's order.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Array, to_host
from manyview.views.arguments import check_count
from manyview.views.views import Block

State = Mapping[str, Array]
Totals = dict[str, Any]
IntArray = np.ndarray[Any, Any]

# Of one core, as measured on common hardware: float32 operations a second, bytes of
# features given their exponential, bytes of fresh memory. Constants on purpose: the
# same fit must decide the same every time.
CORE_RATE = 8e10
FEATURE_RATE = 1.2e9
STORE_RATE = 5e8


@dataclass
class Sizes:
    """Where the code takes another road; tests lower these to walk both.

    Attributes
    ----------
    block_rows : int
        Rows of a block on the host: features of 1,000 anchors fit the cache.
    sampled_rows : int
        Beyond this many rows Grams and graphs come from a sample of as many.
    exact_rows : int
        Up to this many rows neighbours are looked up exactly, among all rows: as many
        as are drawn at least.
    state_room : int, optional
        Bytes of the rows' state that stay in memory under a limit; default what the
        limit leaves.
    read_share : float
        Of a limit, or of the memory, for `exact_rows` of files at most: where these
        take less they are read once, and come in the order of their content.
    resident_share : float
        Of a device's free memory, for rows that stay there; more rows are streamed.
    """

    block_rows: int = 2048
    sampled_rows: int = 65_536
    exact_rows: int = 8192
    state_room: int | None = None
    read_share: float = 0.1
    resident_share: float = 0.4


sizes = Sizes()


@contextmanager
def lowered(**changes: float) -> Iterator[None]:
    """Other sizes for the time being; for tests and measurements."""
    before = dict(vars(sizes))
    vars(sizes).update(changes)
    try:
        yield
    finally:
        vars(sizes).update(before)


@dataclass(frozen=True)
class Result:
    """What a step gives back for one block.

    Attributes
    ----------
    state : mapping of arrays with one entry per row
        Fields that are added to the block's state or replace those of their name.
    stats : mapping of arrays
        Small sums; added over blocks in float64, in block order.
    note : object
        A small record of this block alone.
    replaces : mapping of str
        New field → old field that it takes the place of.
    """

    state: Mapping[str, Array] = field(default_factory=dict)
    stats: Mapping[str, Array] = field(default_factory=dict)
    note: Any = None
    replaces: Mapping[str, str] = field(default_factory=dict)


Step = Callable[[Block, State, Any], Result]
AnyStep = TypeVar("AnyStep", bound=Step)


def touches(
    *, reads: Iterable[str] = (), writes: Iterable[str] = ()
) -> Callable[[AnyStep], AnyStep]:
    """Declare the state fields of a step; "Phi" stands for Phi0, Phi1, … as well."""

    def declare(step: AnyStep) -> AnyStep:
        vars(step).update(reads=frozenset(reads), writes=frozenset(writes))
        return step

    return declare


class Engine(Protocol):
    """Blocks of rows and a way to run a step on each of them."""

    dtype: np.dtype[Any]
    view_order: tuple[int, ...]

    @property
    def n_samples(self) -> int:
        """Number of rows of all blocks."""

    def run(
        self, step: Step, shared: Any = None, *, title: str, views: bool = True
    ) -> tuple[Totals, list[Any]]:
        """Run one pass; with ``views=False`` the step gets rows without views."""

    def take(self, rows: Array) -> Block:
        """The chosen rows (engine's numbers), in the order asked for."""

    def put(self, name: str, values: Array) -> None:
        """Give every block its rows of an array in the caller's row order."""

    def read(self, name: str) -> Array:
        """A state field in the caller's row order; lazy where the rows are far."""

    def drop(self, name: str) -> None:
        """Forget a state field."""

    def keeps(self, bytes_per_row: float, remake_flops: float, uses: int) -> bool:
        """Keep this much per row for `uses` passes, or make it again in each?"""

    def caller_rows(self, rows: IntArray) -> IntArray:
        """The caller's numbers of rows given by the engine's."""

    def engine_rows(self, rows: IntArray) -> IntArray:
        """The engine's numbers of rows given by the caller's."""


class NoCheckpoint:
    """Keeps nothing; what a fit without ``checkpoint=`` talks to."""

    def keep(self, name: str, value: Any) -> Any:
        """The value kept under this name: the given one."""
        return value

    def load(self, name: str) -> Any:
        """The latest value of this name: none."""

    def save(
        self,
        name: str,
        value: Any,
        *,
        number: int = 0,
        engine: Engine | None = None,
        fields: Sequence[str] = (),
    ) -> None:
        """Keep a value, and state fields of the engine with it."""

    def check_data(self, drawn: Any, engine: Engine) -> None:
        """Refuse other data than the kept values were made of."""

    def put_rows(self, name: str, engine: Engine) -> None:
        """Give the engine the state fields of the latest value."""


NO_CHECKPOINT = NoCheckpoint()


class ReadOnce(Mapping[str, Array]):
    """A block's fields, each read when it is first asked for, if it is not there."""

    def __init__(
        self,
        readers: Mapping[str, Callable[[], Array]],
        there: Mapping[str, Array] | None = None,
    ) -> None:
        self._readers, self._found = readers, dict(there or {})

    def __getitem__(self, name: str) -> Array:
        if name not in self._found:
            self._found[name] = self._readers[name]()
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._readers, **self._found})

    def __len__(self) -> int:
        return len({**self._readers, **self._found})


def cut(n_rows: int, block_rows: int) -> list[slice]:
    """Slices of at most `block_rows` rows each."""
    edges = [*range(0, n_rows, block_rows), n_rows]
    return [slice(a, b) for a, b in pairwise(edges)]


def rows_alone(rows: slice, n_views: int) -> Block:
    """A block for a pass that reads no views."""
    n_rows = rows.stop - rows.start
    return Block(rows.start, (), np.ones((n_rows, n_views), dtype=bool))


def fold(totals: Totals, result: Result) -> None:
    """Add a block's sums to the totals, in float64 and in place."""
    for name, value in result.stats.items():
        if sp.issparse(value):
            value = value.toarray()
        if name in totals:
            totals[name] += to_host(value)
        else:
            host = to_host(value)
            wide = np.float64 if host.dtype.kind == "f" else host.dtype
            totals[name] = host.astype(wide, copy=True)


def require_same_fields(made: Iterable[Iterable[str]]) -> None:
    """Blocks of one pass make the same fields, or some rows would lack one."""
    found = {frozenset(names) for names in made}
    if len(found) > 1:
        raise AssertionError(f"Blocks of one pass made different fields: {found}.")


def worth_keeping(bytes_per_row: float, remake_flops: float, uses: int) -> bool:
    """Is it cheaper to keep features for `uses` passes than to make them in each?

    Fresh memory costs about as much as a narrow view's features.
    """
    remake = remake_flops / CORE_RATE + bytes_per_row / FEATURE_RATE
    return uses * remake > remake + bytes_per_row / STORE_RATE


def check_block_rows(block_rows: int | None) -> int:
    """Rows per block: as asked for, or the usual number."""
    if block_rows is None:
        return sizes.block_rows
    check_count(block_rows, "block_rows")
    return block_rows
