"""What a worker does with its share of the rows; knows nothing of any cluster.

A partition is cut into blocks that fit the cache. Its state is one mapping per
block, made by passes and kept pass by pass, so that a superseded pass can be
forgotten. All functions are pure: running them again gives the same again.
"""

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from manyview.arrays.ops import Array, to_host
from manyview.engine.contract import (
    Result,
    Step,
    Totals,
    cut,
    fold,
    require_same_fields,
    rows_alone,
)
from manyview.views.views import Block, Views

States = list[dict[str, Array]]


class Sealed:
    """A value on its way to a worker, opaque to whoever carries it."""

    def __init__(self, value: Any) -> None:
        self.content = pickle.dumps(value, protocol=5)

    def open(self) -> Any:
        """The value."""
        return pickle.loads(self.content)


@dataclass(frozen=True)
class Span:
    """Which rows a partition holds, and how many of them make a block."""

    start: int
    stop: int
    block_rows: int
    n_views: int
    dtype: str

    def __len__(self) -> int:
        return self.stop - self.start

    @property
    def cuts(self) -> list[slice]:
        """Rows of every block, counted from the partition's first."""
        return cut(len(self), self.block_rows)


@dataclass(frozen=True)
class RowsOnDisk:
    """Rows that are read from disk whenever they are needed."""

    views: Views
    start: int
    stop: int

    def load(self) -> Views:
        """The rows, in memory."""
        return in_memory(self.views[self.start : self.stop])


@dataclass(frozen=True)
class Outcome:
    """What one pass leaves of one partition."""

    states: States
    totals: Totals
    notes: list[Any]
    replaced: list[str]

    @property
    def fields(self) -> list[str]:
        """Names of the state fields the pass has made."""
        return sorted(self.states[0])


@dataclass(frozen=True)
class Summary:
    """Sums and notes of some consecutive partitions: small, and all that travels."""

    totals: Totals
    notes: list[Any]
    fields: list[str]
    replaced: list[str]


def in_memory(views: Views) -> Views:
    """The same rows; mapped files are read."""
    views.arrays = tuple(
        np.array(a) if isinstance(a, np.memmap) else a for a in views.arrays
    )
    return views


def join_sealed(names: Sealed, *chunks: Any) -> Views:
    """As `join_chunks`, inside a task."""
    return join_chunks(names.open(), *chunks)


def join_chunks(names: Sequence[str], *chunks: Any) -> Views:
    """One partition's rows from the chunks of its views."""
    return Views(list(chunks), names=names)


def unpack(sealed: Sealed) -> Any:
    """Rows or a small value that came with the task."""
    return sealed.open()


def load_rows(rows: RowsOnDisk) -> Views:
    """Rows from disk, to stay with the worker."""
    return rows.load()


def copy_of(value: Any) -> Any:
    """The value itself, to be kept by whoever runs this."""
    return value


def put_together(shared: Any, names: Sealed, *parts: Any) -> Any:
    """A pass's small value, with the parts that travelled by themselves."""
    inner = names.open()
    return shared._replace(**dict(zip(inner, parts, strict=True))) if inner else shared


def run_partition(
    step: Step,
    span: Span,
    source: Views | RowsOnDisk | None,
    sent: Sequence[Any],
    owners: Sealed,
    kept: Sequence[States],
    after: Summary | None = None,
) -> Outcome:
    """One pass over one partition, after another; `owners` says what `kept` has."""
    fields, shared = owners.open(), put_together(*sent)
    views = source.load() if isinstance(source, RowsOnDisk) else source
    states: States = []
    notes = []
    replaced: list[str] = []
    totals: Totals = {}
    for number, rows in enumerate(span.cuts):
        state = {name: kept[at][number][name] for name, at in fields.items()}
        result = step(_block(span, views, rows), state, shared)
        states.append(dict(result.state))
        replaced = sorted(result.replaces.values())
        notes.append(result.note)
        fold(totals, result)
    require_same_fields(states)
    return Outcome(states, totals, notes, replaced)


def _block(span: Span, views: Views | None, rows: slice) -> Block:
    start = span.start + rows.start
    if views is None:
        return rows_alone(slice(start, span.start + rows.stop), span.n_views)
    return views.block(rows, np.dtype(span.dtype), start=start)


def states_of(outcome: Outcome) -> States:
    """The part of an outcome that stays with the worker."""
    return outcome.states


def summarise(before: Summary | None, outcome: Outcome) -> Summary:
    """Add a partition to the summary of those before it, in their order."""
    fresh = Summary(outcome.totals, outcome.notes, outcome.fields, outcome.replaced)
    return fresh if before is None else merge([before, fresh])


def merge(parts: Sequence[Summary]) -> Summary:
    """Summaries of consecutive partitions as one; nothing is written into."""
    totals: Totals = {}
    for part in parts:
        fold(totals, Result(stats=part.totals))
    require_same_fields(part.fields for part in parts)
    notes = [note for part in parts for note in part.notes]
    return Summary(totals, notes, parts[0].fields, parts[0].replaced)


def split_rows(sealed: Sealed, span: Span) -> States:
    """Rows of a put array as the state of a partition's blocks."""
    name, values = sealed.open()
    return [{name: values[rows]} for rows in span.cuts]


def field_rows(states: States, name: Sealed) -> Array:
    """A state field of one partition as a single array."""
    field = name.open()
    parts = [to_host(state[field]) for state in states]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def field_shape(states: States, name: Sealed) -> tuple[tuple[int, ...], str]:
    """Shape of one row of a state field, and its dtype."""
    first = states[0][name.open()]
    return tuple(first.shape[1:]), str(first.dtype).removeprefix("torch.")


def take_rows(source: Views | RowsOnDisk, rows: Sealed, span: Span) -> Block:
    """Chosen rows of a partition, counted from its first."""
    views = source.load() if isinstance(source, RowsOnDisk) else source
    return views.block(rows.open(), np.dtype(span.dtype))
