"""What a worker does with its share of the rows; knows nothing of any cluster.

A partition is cut into blocks that fit the cache, or the worker's device. Its state
is one mapping per block, made by passes and kept pass by pass, so that a superseded
pass can be forgotten. All functions are pure: running them again gives the same again.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from manyview.arrays.ops import Array, to_host
from manyview.engine.content_order import hash_block, view_keys
from manyview.engine.contract import (
    IntArray,
    ReadOnce,
    Result,
    State,
    Step,
    Totals,
    cut,
    fold,
    require_same_fields,
    rows_alone,
    touches,
)
from manyview.engine.travel import Held, Sealed, here, torch_device
from manyview.engine.uploads import fold_there, out_of_memory_told, send, stream, upload
from manyview.engine.worker_memory import freed_pages_kept, kept_fields
from manyview.views.views import Block, Views

States = list[Mapping[str, Array]]


@dataclass(frozen=True)
class Span:
    """Which rows a partition holds, how many of them make a block, and where.

    `view_order` is the order steps see the views in, `device` the worker's to compute
    on, `room` what a worker may hold before fields go to a file.
    """

    start: int
    stop: int
    block_rows: int
    view_order: tuple[int, ...]
    dtype: str
    device: str | None = None
    room: int | None = None

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
        return self.views[self.start : self.stop].read()


@dataclass(frozen=True)
class Outcome:
    """What one pass leaves of one partition."""

    states: States | Held
    totals: Totals
    notes: list[Any]
    fields: list[str]
    replaced: list[str]


@dataclass(frozen=True)
class Summary:
    """Sums and notes of some consecutive partitions: small, and all that travels."""

    totals: Totals
    notes: list[Any]
    fields: list[str]
    replaced: list[str]


def join_sealed(names: Sealed, *chunks: Any) -> Views:
    """As `join_chunks`, inside a task."""
    return join_chunks(names.open(), *chunks)


def join_chunks(names: Sequence[str], *chunks: Any) -> Views:
    """One partition's rows from the chunks of its views."""
    return Views(list(chunks), names=names)


def carry(sealed: Sealed) -> Sealed:
    """A small value at the first of the workers that it goes to."""
    return sealed


def load_rows(rows: RowsOnDisk) -> Views:
    """Rows from disk, to stay with the worker."""
    return rows.load()


def rows_there(source: Views, span: Span) -> Held:
    """A partition's rows on the worker's device, to stay there."""
    block = source.block(slice(0, len(span)), np.dtype(span.dtype), start=span.start)
    assert span.device is not None
    return Held(upload(block, torch_device(span.device)), span.device)


def put_together(shared: Any, names: Sealed, *parts: Any) -> Any:
    """A pass's small value, with the parts that travelled by themselves."""
    inner, rest = names.open(), here(shared)
    own = dict(zip(inner, map(here, parts), strict=True))
    return rest._replace(**own) if inner else rest


def run_partition(
    title: str,
    step: Step,
    span: Span,
    source: Any,
    sent: Sequence[Any],
    owners: Sealed,
    kept: Sequence[Any],
    after: Summary | None = None,
) -> Outcome:
    """One pass over one partition, after another; `owners` says what `kept` has."""
    fields, shared = owners.open().items(), put_together(*sent)
    before = [here(states) for states in kept]
    states: States = []
    notes: list[Any] = []
    replaced: list[str] = []
    totals: Totals = {}
    add = fold if span.device is None else fold_there
    told: Any = nullcontext()
    if span.device is not None:
        told = out_of_memory_told(torch_device(span.device), title)
    with freed_pages_kept(), told:
        for number, block in enumerate(_blocks(span, source)):
            # Each from the pass that made it.
            read = {f: partial(before[at][number].__getitem__, f) for f, at in fields}
            state = ReadOnce(read)
            result = step(block, state, shared)
            states.append(kept_fields(result.state, span.room))
            replaced = sorted(result.replaces.values())
            notes.append(result.note if span.device is None else Sealed(result.note))
            add(totals, result)
    require_same_fields(states)
    names = sorted(states[0])
    if span.device is None:
        return Outcome(states, totals, notes, names, replaced)
    sums = {name: to_host(value) for name, value in totals.items()}
    return Outcome(Held(states, span.device), sums, notes, names, replaced)


def _blocks(span: Span, source: Any) -> Iterator[Block]:
    """The partition's blocks, on the worker's device if there is one."""
    if source is None:
        for rows in span.cuts:
            first, stop = span.start + rows.start, span.start + rows.stop
            yield rows_alone(slice(first, stop), len(span.view_order))
        return
    rows_here = here(source)
    if isinstance(rows_here, Block):
        blocks: Iterator[Block] = (rows_here.part(rows) for rows in span.cuts)
    else:
        views = rows_here.load() if isinstance(rows_here, RowsOnDisk) else rows_here
        kind = np.dtype(span.dtype)
        blocks = (views.block(r, kind, start=span.start + r.start) for r in span.cuts)
        if span.device is not None:
            blocks = stream(blocks, torch_device(span.device))
    for block in blocks:
        yield _in_order(block, span.view_order)


def _in_order(block: Block, order: Sequence[int]) -> Block:
    present = to_host(block.present)[:, list(order)]
    return Block(block.start, tuple(block.views[v] for v in order), present)


@touches()
def view_step(block: Block, state: State, shared: Sequence[IntArray]) -> Result:
    """This block's share of the numbers that the views are put in order by."""
    return Result(note=to_host(view_keys(hash_block(block, shared))))


def states_of(outcome: Outcome) -> States | Held:
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


def split_rows(sealed: Sealed, span: Span) -> States | Held:
    """Rows of a put array as the state of a partition's blocks."""
    name, values = sealed.open()
    if span.device is None:
        return [kept_fields({name: values[rows]}, span.room) for rows in span.cuts]
    if values.dtype.kind == "f":
        values = send(values, torch_device(span.device))
    return Held([{name: values[rows]} for rows in span.cuts], span.device)


def field_rows(states: Any, name: Sealed) -> Array:
    """A state field of one partition as a single array."""
    field = name.open()
    parts = [to_host(state[field]) for state in here(states)]
    return np.concatenate(parts) if len(parts) > 1 else parts[0]


def field_shape(states: Any, name: Sealed) -> tuple[tuple[int, ...], str]:
    """Shape of one row of a state field, and its dtype."""
    first = here(states)[0][name.open()]
    return tuple(first.shape[1:]), str(first.dtype).removeprefix("torch.")


def take_rows(source: Any, rows: Sealed, span: Span) -> Block:
    """Chosen rows of a partition, counted from its first, on the host."""
    found, chosen = here(source), rows.open()
    if isinstance(found, Block):
        parts = tuple(to_host(x[send(chosen, x.device)]) for x in found.views)
        block = Block(0, parts, found.present[chosen])
    else:
        views = found.load() if isinstance(found, RowsOnDisk) else found
        block = views.block(chosen, np.dtype(span.dtype))
    return _in_order(block, span.view_order)
