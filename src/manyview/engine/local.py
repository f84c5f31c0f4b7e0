"""Blocks in this process: rows in memory or on disk, steps in threads.

Blocks run side by side, each with single-threaded linear algebra, and their sums
are folded in block order: the result does not depend on the number of threads, and
element-wise work is spread over the cores as well as products. Rows in memory, and
few rows of files, are visited in the order of their content, and views in the order of
theirs. This is also where an engine is opened (`open_engine`): the local one unless
parameters ask for a device or a cluster; what cannot be had is refused by name.
"""

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, wait
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np

from manyview.arrays.ops import Array, namespace
from manyview.engine.content_order import InContentOrder, content_order
from manyview.engine.contract import (
    CORE_RATE,
    Engine,
    ReadOnce,
    Result,
    State,
    Step,
    Totals,
    check_block_rows,
    cut,
    fold,
    require_same_fields,
    rows_alone,
    sizes,
    worth_keeping,
)
from manyview.engine.dask import DaskEngine
from manyview.engine.dask_views import row_bytes
from manyview.engine.dask_workers import find_client
from manyview.engine.device import DeviceEngine, find_device, workers_device
from manyview.engine.resources import CORES, MEMORY
from manyview.engine.row_pieces import unpacked_once
from manyview.engine.scratch import (
    Budget,
    Scratch,
    parse_memory,
    rows_within,
    unmapped,
    work_bytes,
)
from manyview.engine.threads import single_threaded_blas, some_threads
from manyview.errors import InputError, InputTypeError
from manyview.running import progress
from manyview.views.views import Block, Views

IntArray = np.ndarray[Any, Any]

# Of the machine's memory, for features where no limit is given: the rest is the
# user's, and the data's.
MOST_SHARE = 0.5
# Of a block that is half of few rows, for a second core: below, threads cost more.
LEAST_ROWS = 512


class LocalEngine(InContentOrder):
    """Passes over views in memory (or mapped from disk) by threads.

    Results agree for any `block_rows` up to rounding; what `memory_limit` does not
    hold goes to scratch files.
    """

    def __init__(
        self,
        views: Views,
        dtype: Any,
        *,
        block_rows: int | None = None,
        memory_limit: Any = None,
        view_order: Sequence[int] | None = None,
    ) -> None:
        limit = None if memory_limit is None else parse_memory(memory_limit)
        views = read_if_few(views, limit or MEMORY)
        rows = min(check_block_rows(block_rows), len(views))
        if block_rows is None:
            # As many for each of two cores, or one waits at the end of every pass. Not
            # by the number of cores: labels are the same on every machine.
            pairs = -(-len(views) // (2 * rows))
            rows = min(rows, max(LEAST_ROWS, -(-len(views) // (2 * pairs))))
        self.dtype = np.dtype(dtype)
        if limit is not None and block_rows is None:
            rows = rows_within(limit, rows, views.n_features, self.dtype)
        self._order, found = content_order(views, self.dtype, rows)
        self.view_order = tuple(found if view_order is None else view_order)
        ordered = views.in_order(self.view_order)
        if not views.in_memory:
            ordered = unpacked_once(ordered, rows)
        self.views = ordered if limit is None else unmapped(ordered)
        self._slices = cut(len(views), rows)
        budget = None
        if limit is not None:
            work = work_bytes(rows, views.n_features, self.dtype)
            budget = Budget(limit, work)
        self._budget = budget
        self._state = RowState(self._slices, budget)
        self._single = [self.views.in_order([v]) for v in range(self.views.n_views)]
        self._whole: set[int] = set()  # blocks whose rows have all views

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.views)

    def run(
        self, step: Step, shared: Any = None, *, title: str, views: bool = True
    ) -> tuple[Totals, list[Any]]:
        """Apply the step to every block; sums in block order, notes as a list."""
        totals: Totals = {}
        notes: list[Any] = []
        self._state.begin_pass()
        try:
            with progress.task(title, len(self._slices)) as advance:
                for result in self._results(step, shared, views):
                    fold(totals, result)
                    notes.append(result.note)
                    advance()
        except BaseException:
            self._state.abandon_pass()
            raise
        self._state.end_pass()
        if self._budget is not None:
            self._budget.give_back()
        return totals, notes

    def _results(self, step: Step, shared: Any, views: bool) -> Iterator[Result]:
        def one(number: int) -> Result:
            block = self._block(number, views)
            result = step(block, self._state.of_block(number), shared)
            self._state.accept(number, result)
            return Result(stats=result.stats, note=result.note)

        numbers = range(len(self._slices))
        workers = min(CORES, len(self._slices))
        if workers == 1:
            yield from map(one, numbers)
            return
        with single_threaded_blas, some_threads(workers) as pool:
            waiting: deque[Future[Result]] = deque()
            try:
                for number in numbers:
                    waiting.append(pool.submit(one, number))
                    if len(waiting) > 2 * workers:
                        yield waiting.popleft().result()
                while waiting:
                    yield waiting.popleft().result()
            finally:
                for future in waiting:
                    future.cancel()
                wait(waiting)

    def _block(self, number: int, views: bool) -> Block:
        rows = self._slices[number]
        own = rows if self._order is None else self._order[rows]
        if views and number not in self._whole:
            block = self.views.block(own, self.dtype, start=rows.start)
            if block.complete:
                self._whole.add(number)
            return block
        alone = rows_alone(rows, self.views.n_views)
        if not views:
            return alone
        return replace(alone, views=RowsWhenAsked(self._single, own, self.dtype))

    def take(self, rows: Array) -> Block:
        """The chosen rows, in the order asked for."""
        return self.views.block(self.caller_rows(rows), self.dtype)

    def put(self, name: str, values: Array) -> None:
        """Split an array in the caller's row order over the blocks."""
        self._state.begin_pass()
        for number, rows in enumerate(self._slices):
            own = rows if self._order is None else self._order[rows]
            self._state.accept(number, Result(state={name: values[own]}))
        self._state.end_pass()

    def read(self, name: str) -> Array:
        """A state field of all rows, in the caller's order."""
        found = self._state.read(name)
        if self._order is None:
            return found
        on_disk = isinstance(found, np.memmap)
        out = Scratch(len(found), found).mapped() if on_disk else np.empty_like(found)
        for rows in self._slices:
            out[self._order[rows]] = found[rows]
        return out

    def drop(self, name: str) -> None:
        """Forget a state field."""
        self._state.drop(name)

    def keeps(self, bytes_per_row: float, remake_flops: float, uses: int) -> bool:
        """Keep this much per row for `uses` passes, or make it again in each?"""
        n_bytes = bytes_per_row * self.n_samples
        if not worth_keeping(bytes_per_row, remake_flops, uses):
            return False
        if self._budget is None:
            return n_bytes <= MOST_SHARE * MEMORY
        remake = remake_flops / (CORE_RATE * CORES) * self.n_samples
        return self._budget.place(int(n_bytes), remake) != "again"


class RowsWhenAsked(Sequence[Array]):
    """Rows of all views, each taken when first asked for: most passes ask for none."""

    def __init__(self, single: Sequence[Views], *how: Any) -> None:
        self._n_views = len(single)
        self._take = cache(lambda v: single[v].block(*how).views[0])

    def __len__(self) -> int:
        return self._n_views

    def __getitem__(self, v: Any) -> Any:
        return self._take(v)


def read_if_few(views: Views, memory: int) -> Views:
    """Few rows of files in memory, where they leave most of it free."""
    if views.in_memory or len(views) > sizes.exact_rows:
        return views
    n_bytes = len(views) * row_bytes(views)
    return unmapped(views).read() if n_bytes <= sizes.read_share * memory else views


class RowState:
    """What the blocks keep between passes: in memory, or in scratch files.

    Fields come and go with passes: `of_block` shows those that existed when the
    pass began, and what `accept` takes in becomes visible at its end. The rows of a
    replaced field are let go as soon as their own block is done.
    """

    def __init__(self, slices: Sequence[slice], budget: Budget | None) -> None:
        self._slices, self._budget = slices, budget
        self._kept: list[dict[str, Array]] = [{} for _ in slices]
        self._files: dict[str, Scratch] = {}
        self._sizes: dict[str, int] = {}  # bytes that fields hold in memory
        self._lock = threading.Lock()
        self.begin_pass()

    def begin_pass(self) -> None:
        """From here on `accept` gathers the next generation."""
        self._fresh: dict[int, dict[str, Array]] = {}
        self._fresh_files: dict[str, Scratch] = {}
        self._fresh_sizes: dict[str, int] = {}
        self._made: set[frozenset[str]] = set()
        self._replaced: set[str] = set()

    def of_block(self, number: int) -> State:
        """The block's fields as they were when the pass began."""
        if not self._files:
            return dict(self._kept[number])
        first, stop = self._slices[number].start, self._slices[number].stop
        read = {n: partial(f.read, first, stop - first) for n, f in self._files.items()}
        return ReadOnce(read, self._kept[number])

    def accept(self, number: int, result: Result) -> None:
        """Take in what a step has made of one block; let go of what that replaces."""
        self._made.add(frozenset(result.state))
        self._replaced.update(result.replaces.values())
        fresh: dict[str, Array] = {}
        for name, values in result.state.items():
            file = self._file_of(name, values, result.replaces.get(name, name))
            if file is None:
                fresh[name] = values
            else:
                file.write(self._slices[number].start, values)
        for name in (*result.state, *result.replaces.values()):
            self._kept[number].pop(name, None)
        self._fresh[number] = fresh

    def _file_of(self, name: str, values: Array, old: str) -> Scratch | None:
        """The file a field goes to; settled when its first block arrives."""
        if self._budget is None:
            return None
        with self._lock:
            if name not in self._fresh_sizes:
                n_rows = self._slices[-1].stop
                n_bytes = n_rows * (values.nbytes // max(len(values), 1))
                fits = self._budget.takes(n_bytes - self._sizes.get(old, 0))
                self._fresh_sizes[name] = n_bytes if fits else 0
                if not fits:
                    former = self._files.get(old)
                    taken = former in self._fresh_files.values()
                    if former is None or taken or not former.holds(values):
                        former = Scratch(n_rows, values)
                    self._fresh_files[name] = former
            return self._fresh_files.get(name)

    def end_pass(self) -> None:
        """Show what the pass has made; forget what it has replaced."""
        require_same_fields(self._made)
        for number, fresh in self._fresh.items():
            self._kept[number].update(fresh)
        for name in self._replaced.union(*self._made):
            self._files.pop(name, None)
            self._sizes.pop(name, None)
        self._files.update(self._fresh_files)
        self._sizes.update(self._fresh_sizes)
        if self._budget is not None:
            self._budget.used = sum(self._sizes.values())

    def abandon_pass(self) -> None:
        """Forget the fields that a failed pass has begun to rewrite or replace."""
        for name in self._replaced.union(*self._made):
            self.drop(name)
        self.begin_pass()

    def read(self, name: str) -> Array:
        """A field of all rows, in row order; on disk if it lies there."""
        if name in self._files:
            return self._files[name].mapped()
        parts = [kept[name] for kept in self._kept]
        return namespace(parts[0]).concat(parts) if len(parts) > 1 else parts[0]

    def drop(self, name: str) -> None:
        """Forget a field."""
        for kept in self._kept:
            kept.pop(name, None)
        self._files.pop(name, None)
        freed = self._sizes.pop(name, 0)
        if self._budget is not None:
            self._budget.used -= freed


def open_engine(
    views: Views,
    dtype: Any,
    *,
    engine: Any = "local",
    device: str | None = None,
    memory_limit: Any = None,
    view_order: Sequence[int] | None = None,
) -> Engine:
    """The engine for these views, visited in `view_order` where that is known."""
    _check_device(device)
    place: dict[str, Any] = {"memory_limit": memory_limit, "view_order": view_order}
    if not isinstance(engine, str) or engine != "local":
        client, there = find_client(engine), workers_device(device, views)
        return DaskEngine(views, dtype, client, device=there, **place)
    if not isinstance(views, Views):
        raise InputError(
            "The views are Dask collections, but engine='local'. Give engine='dask' "
            "or a client, or compute the views first."
        )
    if device is not None or any(hasattr(a, "cpu") for a in views.arrays):
        found = find_device(device, views)
        if found is not None:
            return DeviceEngine(views, dtype, found, **place)
    return LocalEngine(views, dtype, **place)


def _check_device(device: Any) -> None:
    named = device is None or isinstance(device, str)
    if not named and type(device).__module__ != "torch":
        raise InputTypeError(
            f"device={device!r} is no name of a device. Give 'cpu', 'cuda', 'cuda:1', "
            "'mps' or None."
        )
