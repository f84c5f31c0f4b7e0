"""Blocks in this process: rows in memory or on disk, steps in threads.

Blocks run side by side, each with single-threaded linear algebra, and their
sums are folded in block order: the result does not depend on the number of
threads, and element-wise work is spread over the cores as well as products.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from threadpoolctl import ThreadpoolController

from manyview.arrays.ops import Array, to_host
from manyview.engine.contract import Result, Step, Totals
from manyview.engine.plan import CORE_RATE, Budget, Need, parse_memory
from manyview.engine.scratch import Store, unmapped
from manyview.running import progress
from manyview.views.views import Block, Views

BLOCK_ROWS = 2048


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
    """

    redoes = False

    def __init__(
        self,
        views: Views,
        dtype: Any,
        *,
        block_rows: int | None = None,
        memory_limit: Any = None,
    ) -> None:
        limit = parse_memory(memory_limit)
        self.views = views if limit is None else unmapped(views)
        self.dtype = np.dtype(dtype)
        rows = block_rows or BLOCK_ROWS
        edges = [*range(0, len(views), rows), len(views)]
        self._slices = [slice(a, b) for a, b in pairwise(edges)]
        work = work_bytes(min(rows, len(views)), views.n_features, self.dtype.itemsize)
        self._budget = Budget(limit, len(views), work)
        self._store = Store(self._slices, self._budget)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.views)

    def run(
        self, step: Step, small: Any = None, *, title: str = "", views: bool = True
    ) -> tuple[Totals, list[Any]]:
        """Apply the step to every block; sums in block order, notes as a list."""
        totals: Totals = {}
        notes: list[Any] = []
        with progress.task(title or step.__name__, len(self._slices)) as advance:
            for result in self._results(step, small, views):
                fold(totals, result)
                notes.append(result.note)
                advance()
        return totals, notes

    def _results(self, step: Step, small: Any, views: bool) -> Iterator[Result]:
        def one(number: int) -> Result:
            block = self._block(number, views)
            result = step(block, self._store.block(number), small)
            self._store.update(number, result.state)
            return Result(stats=result.stats, note=result.note)

        numbers = range(len(self._slices))
        workers = min(n_threads(), len(self._slices))
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
        if views:
            return self.views.block(rows, self.dtype)
        n_rows = rows.stop - rows.start
        return Block(rows.start, (), np.ones((n_rows, self.views.n_views), dtype=bool))

    def take(self, rows: Array) -> Block:
        """The chosen rows, in the order asked for."""
        return self.views.block(np.asarray(rows), self.dtype)

    def put(self, name: str, values: Array) -> None:
        """Split an array with one entry per row over the blocks."""
        self._store.put(name, values)

    def read(self, name: str) -> Array:
        """A state field of all rows, in row order."""
        return self._store.read(name)

    def drop(self, name: str) -> None:
        """Forget a state field."""
        self._store.drop(name)

    def keeps(self, bytes_per_row: float, remake_flops: float, uses: int) -> bool:
        """Keep this much per row for `uses` passes, or make it again in each?"""
        need = Need("features", bytes_per_row, remake_flops, uses)
        remake = remake_flops / (CORE_RATE * n_threads()) * self.n_samples
        n_bytes = int(bytes_per_row * self.n_samples)
        return self._budget.place(n_bytes, remake, need.pays) != "again"


def work_bytes(n_rows: int, n_features: tuple[int, ...], itemsize: int) -> int:
    """Memory of the blocks in progress: views, distances, features, float64 copies."""
    widest = max(max(n_features), 1024)
    per_row = (sum(n_features) + 3 * widest) * itemsize + 8 * widest
    return n_rows * per_row * (n_threads() + 1)


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


def n_threads() -> int:
    """Cores this process may use, or fewer if the user says so."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    return max(1, int(asked) if asked.isdigit() else cores or os.cpu_count() or 1)


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
