"""Blocks in this process: rows in memory or on disk, steps in threads.

Blocks run side by side, each with single-threaded linear algebra, and their sums
are folded in block order: the result does not depend on the number of threads, and
element-wise work is spread over the cores as well as products. Rows in memory are
visited in the order of their content, and views in the order of theirs.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import ThreadpoolController

from manyview.arrays.ops import Array, mix64, namespace, to_host
from manyview.engine.contract import (
    CORE_RATE,
    Result,
    State,
    Step,
    Totals,
    check_block_rows,
    cut,
    fold,
    rows_alone,
    worth_keeping,
)
from manyview.engine.resources import n_cores, physical_memory
from manyview.engine.scratch import Budget, Scratch, parse_memory, unmapped, work_bytes
from manyview.running import progress
from manyview.views.views import Block, Views

IntArray = np.ndarray[Any, Any]

# Of the machine's memory, for features where no limit is given: the rest is the
# user's, and the data's.
MOST_SHARE = 0.5
# Any numbers do; fixed, since the same rows must always get the same order.
HASH_SEED = 20240617


class LocalEngine:
    """Passes over views in memory (or mapped from disk) by threads.

    Parameters
    ----------
    views : Views
    dtype : dtype of the blocks, float32 or float64
    block_rows : int, optional
        Rows per block. Results agree for any value up to rounding.
    memory_limit : str, int or None
        What the process may hold; state beyond it goes to scratch files.
    view_order : sequence of int, optional
        Order to visit the views in; default that of their content, in memory.
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
        limit = parse_memory(memory_limit)
        rows = check_block_rows(block_rows)
        self.dtype = np.dtype(dtype)
        self._order, found = content_order(views, self.dtype, rows)
        self.view_order = tuple(found if view_order is None else view_order)
        ordered = views.in_order(self.view_order)
        self.views = ordered if limit is None else unmapped(ordered)
        self._slices = cut(len(views), rows)
        budget = None
        if limit is not None:
            work = work_bytes(min(rows, len(views)), views.n_features, dtype)
            budget = Budget(limit, len(views), work)
        self._budget = budget
        self._state = RowState(self._slices, budget)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.views)

    def run(
        self, step: Step, small: Any = None, *, title: str, views: bool = True
    ) -> tuple[Totals, list[Any]]:
        """Apply the step to every block; sums in block order, notes as a list."""
        totals: Totals = {}
        notes: list[Any] = []
        self._state.begin_pass()
        with progress.task(title, len(self._slices)) as advance:
            for result in self._results(step, small, views):
                fold(totals, result)
                notes.append(result.note)
                advance()
        self._state.end_pass()
        return totals, notes

    def _results(self, step: Step, small: Any, views: bool) -> Iterator[Result]:
        def one(number: int) -> Result:
            block = self._block(number, views)
            result = step(block, self._state.of_block(number), small)
            self._state.accept(number, result)
            return Result(stats=result.stats, note=result.note)

        numbers = range(len(self._slices))
        workers = min(n_cores(), len(self._slices))
        if workers == 1:
            yield from map(one, numbers)
            return
        with _single_threaded_blas(), ThreadPoolExecutor(workers) as pool:
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

    def _block(self, number: int, views: bool) -> Block:
        rows = self._slices[number]
        if not views:
            return rows_alone(rows, self.views.n_views)
        if self._order is None:
            return self.views.block(rows, self.dtype)
        return self.views.block(self._order[rows], self.dtype, start=rows.start)

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
        out = np.empty(found.shape, dtype=found.dtype)
        out[self._order] = found
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
            return n_bytes <= MOST_SHARE * physical_memory()
        remake = remake_flops / (CORE_RATE * n_cores()) * self.n_samples
        return self._budget.place(int(n_bytes), remake) != "again"

    def caller_rows(self, rows: IntArray) -> IntArray:
        """The caller's numbers of rows given by the engine's."""
        return np.asarray(rows) if self._order is None else self._order[rows]

    def engine_rows(self, rows: IntArray) -> IntArray:
        """The engine's numbers of rows given by the caller's."""
        if self._order is None:
            return np.asarray(rows)
        return np.argsort(self._order, kind="stable")[rows]


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
        self._fresh: list[dict[str, Array] | None] = []
        self._fresh_files: dict[str, Scratch] = {}
        self._placed: dict[str, int] = {}  # bytes of memory taken in this pass
        self._sizes: dict[str, int] = {}  # and held since earlier ones
        self._gone: set[str] = set()
        self._lock = threading.Lock()

    def begin_pass(self) -> None:
        """From here on `accept` gathers the next generation."""
        self._fresh = [None for _ in self._slices]
        self._fresh_files, self._placed, self._gone = {}, {}, set()

    def of_block(self, number: int) -> State:
        """The block's fields as they were when the pass began."""
        if not self._files:
            return dict(self._kept[number])
        return FiledState(self._kept[number], self._files, self._slices[number])

    def accept(self, number: int, result: Result) -> None:
        """Take in what a step has made of one block; let go of what that replaces."""
        fresh: dict[str, Array] = {}
        for name, values in result.state.items():
            file = self._file_of(name, values, result.replaces.get(name))
            if file is None:
                fresh[name] = values
            else:
                file.write(self._slices[number].start, values)
                fresh[name] = values[:0]
        for name in (*result.state, *result.replaces.values()):
            self._kept[number].pop(name, None)
        self._gone.update(result.replaces.values())
        self._fresh[number] = fresh

    def _file_of(self, name: str, values: Array, old: str | None) -> Scratch | None:
        """The file a field goes to; settled when its first block arrives."""
        if self._budget is None:
            return None
        with self._lock:
            if name not in self._placed:
                n_rows = self._slices[-1].stop
                n_bytes = n_rows * (values.nbytes // max(len(values), 1))
                held = sum(self._sizes.get(n, 0) for n in {name, old} if n)
                self._placed[name] = n_bytes
                if not self._budget.takes(n_bytes - held, at_least=0):
                    self._placed[name] = -held
                    former = self._files.get(old or name)
                    fits = former is not None and former.holds(values)
                    self._fresh_files[name] = (
                        former if fits and former else Scratch(n_rows, values)
                    )
            return self._fresh_files.get(name)

    def end_pass(self) -> None:
        """Show what the pass has made; forget what it has replaced."""
        names = {frozenset(fresh or ()) for fresh in self._fresh}
        if len(names) > 1:
            raise AssertionError(f"Blocks gave different fields in one pass: {names}.")
        for kept, fresh in zip(self._kept, self._fresh, strict=True):
            kept.update({k: v for k, v in (fresh or {}).items()})
        made = next(iter(names))
        for name in self._gone - made:
            self._files.pop(name, None)
            self._sizes.pop(name, None)
        for name in made:
            self._files.pop(name, None)
            self._sizes[name] = max(self._placed.get(name, 0), 0)
        self._files.update(self._fresh_files)
        for name in self._fresh_files:
            for kept in self._kept:
                kept.pop(name, None)
        if self._budget is not None:
            self._budget.used = sum(self._sizes.values())

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


class FiledState(Mapping[str, Array]):
    """One block's state where fields lie on disk; those are read when asked for."""

    def __init__(
        self, kept: Mapping[str, Array], files: Mapping[str, Scratch], rows: slice
    ) -> None:
        self._kept, self._files, self._rows = dict(kept), dict(files), rows

    def __getitem__(self, name: str) -> Array:
        if name not in self._kept:
            first, stop = self._rows.start, self._rows.stop
            self._kept[name] = self._files[name].read(first, stop - first)
        return self._kept[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._files, **self._kept})

    def __len__(self) -> int:
        return len({**self._files, **self._kept})


def content_order(
    views: Views, dtype: Any, block_rows: int
) -> tuple[IntArray | None, IntArray]:
    """Rows and views in the order of their content; rows on disk as they stand.

    Rows are ordered by a hash of their bits over all views, views by the sum of
    theirs: neither knows where a row or a view stands. Rows of equal content are
    interchangeable.
    """
    if not views.in_memory:
        return None, np.arange(views.n_views)
    parts = []
    for rows in cut(len(views), block_rows):
        parts.append(hash_rows(views.block(rows, dtype)))
    own = to_host(namespace(parts[0]).concat(parts))
    with np.errstate(over="ignore"):
        of_views = mix64(own).sum(axis=0)
        of_rows = mix64(own).sum(axis=1)
    by_content = np.argsort(of_views, kind="stable")
    return np.argsort(of_rows, kind="stable"), by_content


def hash_rows(block: Block) -> Array:
    """A 64-bit hash (n_rows, n_views) of the bits of every row in every view."""
    xp = namespace(*block.views)
    found = []
    for v, x in enumerate(block.views):
        one = _hash_csr(x) if sp.issparse(x) else _hash_dense(x)
        there = block.there(v)
        found.append(one if there is None else xp.where(there, one, 0 * one))
    return xp.stack(found, axis=1)


def _multipliers(n_features: int) -> IntArray:
    """Odd numbers, one per feature."""
    rng = np.random.default_rng([HASH_SEED, n_features])
    return rng.integers(-(2**62), 2**62, n_features) * 2 + 1


def _hash_dense(x: Array) -> Array:
    """Σ bits_j · odd_j modulo 2⁶⁴, the sign bit brought down where it counts."""
    bits = (x + 0.0).view(np.int64 if x.dtype.itemsize == 8 else np.int32)
    bits = bits.astype(np.int64)
    bits ^= bits >> (31 if x.dtype.itemsize == 8 else 15)
    found: Array = bits @ _multipliers(x.shape[1])
    return found


def _hash_csr(x: Any) -> Array:
    """The same over the stored entries that are not 0."""
    bits = (x.data + 0.0).view(np.int64 if x.dtype.itemsize == 8 else np.int32)
    bits = bits.astype(np.int64)
    bits ^= bits >> (31 if x.dtype.itemsize == 8 else 15)
    mixed = sp.csr_array((bits, x.indices, x.indptr), shape=x.shape)
    return np.asarray(mixed @ _multipliers(x.shape[1]))


@cache
def _libraries() -> ThreadpoolController:
    """The BLAS libraries of this process: looking for them takes longer than a pass
    over small data."""
    return ThreadpoolController()


_blas_lock = threading.Lock()
_blas_users = 0
_blas_limit: Any = None


@contextmanager
def _single_threaded_blas() -> Iterator[None]:
    """One BLAS thread per block; the first fit in sets it, the last one resets it."""
    global _blas_users, _blas_limit
    with _blas_lock:
        if _blas_users == 0:
            _blas_limit = _libraries().limit(limits=1, user_api="blas")
        _blas_users += 1
    try:
        yield
    finally:
        with _blas_lock:
            _blas_users -= 1
            if _blas_users == 0:
                _blas_limit.restore_original_limits()
