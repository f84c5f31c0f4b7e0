"""Blocks on the workers of a Dask cluster.

This file, `dask_workers` and `dask_views` are the only ones that import Dask.

Every partition of the rows is a chain of futures: its state after a pass is a
task of its source, its state before and the pass's small value. Small values
are tasks too, with their content inside. So Dask itself can make anything again
that a lost worker had, from the source on, and nothing here keeps track of
faults. Partitions stay with one worker each, which adds up the sums of its own
partitions in a fixed order; only such sums, and small values, travel.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Array, to_host
from manyview.engine import partition as worker
from manyview.engine.contract import (
    InCallersOrder,
    Step,
    Totals,
    check_block_rows,
    worth_keeping,
)
from manyview.engine.dask_views import PARTITION_ROWS, DaskViews
from manyview.engine.dask_workers import Workers
from manyview.running import progress
from manyview.views.disk_views import DiskViews
from manyview.views.views import Block, Views

if TYPE_CHECKING:
    from distributed import Client, Future

# Sums that one worker, or the driver, adds up at a time: few enough to hold at once.
FAN_IN = 8
# Of rows on disk: every one is three tasks in every pass, which the scheduler counts.
MOST_PARTITIONS = 4096


class DaskEngine(InCallersOrder):
    """Passes over views that lie on the workers of a Dask cluster.

    Parameters
    ----------
    views : DaskViews, or Views in memory or on disk
    dtype : dtype of the blocks, float32 or float64
    client : distributed.Client
    block_rows : int, optional
        Rows per block within a partition.
    """

    def __init__(
        self,
        views: DaskViews | Views,
        dtype: Any,
        client: Client,
        *,
        block_rows: int | None = None,
    ) -> None:
        self.client, self.views = client, views
        self.n_samples = len(views)
        sizes = self._partition_sizes()
        self._workers = Workers(client, sizes)
        starts = np.cumsum([0, *sizes])
        self.dtype = np.dtype(dtype)
        self.view_order = tuple(range(views.n_views))
        rows, kind = check_block_rows(block_rows), self.dtype.str
        self._spans = [
            worker.Span(int(a), int(a) + n, rows, views.n_views, kind)
            for a, n in zip(starts[:-1], sizes, strict=True)
        ]
        self._kept: dict[int, list[Future]] = {}  # by pass, one per partition
        self._owners: dict[str, int] = {}  # the pass that made a field
        with self._workers.faults():
            self._sources = self._place_rows()

    def run(
        self, step: Step, shared: Any = None, *, title: str, views: bool = True
    ) -> tuple[Totals, list[Any]]:
        """Apply the step on the workers; sums in a fixed order, notes as a list."""
        crew = self._workers
        with crew.faults(), progress.task(title, len(crew.groups)) as advance:
            crew.find_homes()
            number = crew.begin()
            rest, names, inner = crew.send(shared)
            states: list[Future] = []
            sums: list[Future] = []
            for group, home in zip(crew.groups, crew.homes, strict=True):
                sent = [rest, names, *(crew.send_once(p, home) for p in inner)]
                tasks = self._tasks(title, step, sent, views, group)
                *mine, total = crew.submit(*tasks, home)
                states += mine
                sums.append(total)
            parts = []
            for future in self._reduce(sums):
                parts.append(future.result())
                advance()
            summary = worker.merge(parts)
            self._keep(number, summary.fields, states, summary.replaced)
        return summary.totals, summary.notes

    def _tasks(
        self, title: str, step: Step, sent: list[Any], views: bool, group: range
    ) -> tuple[dict[str, Any], list[str]]:
        """The pass on one thread's partitions; keys of their states and last sum.

        Each waits for the sum before it. So a worker never has a queue that others
        would steal from, rows and states with it, and holds one partition's
        temporaries per thread.
        """
        live = sorted(set(self._owners.values()))
        owners = {name: live.index(at) for name, at in self._owners.items()}
        key = self._workers.key
        graph: dict[str, Any] = {}
        total = None
        for i in group:
            done = key(title, i)
            graph[done] = (
                worker.run_partition,
                step,
                self._spans[i],
                self._sources[i] if views else None,
                sent,
                worker.Sealed(owners),
                [self._kept[at][i] for at in live],
                total,
            )
            graph[key("state", i)] = (worker.states_of, done)
            graph[key("sum", i)] = (worker.summarise, total, done)
            total = key("sum", i)
        return graph, [*(key("state", i) for i in group), str(total)]

    def _reduce(self, sums: list[Future]) -> list[Future]:
        """Sums added on their worker, then on few, until the driver can bear them."""
        parts = list(zip(self._workers.homes, sums, strict=True))
        runs = [list(r) for _, r in groupby(parts, key=lambda part: part[0])]
        level = 0
        while level == 0 or len(parts) > FAN_IN:
            parts = [self._merge(level, n, run) for n, run in enumerate(runs)]
            runs = [parts[i : i + FAN_IN] for i in range(0, len(parts), FAN_IN)]
            level += 1
        return [total for _, total in parts]

    def _merge(
        self, level: int, n: int, parts: list[tuple[str, Future]]
    ) -> tuple[str, Future]:
        if len(parts) == 1:
            return parts[0]
        home, task = parts[0][0], (worker.merge, [total for _, total in parts])
        return home, self._workers.submit_one(f"merge{level}", n, task, home)

    def _keep(
        self,
        number: int,
        fields: Sequence[str],
        states: list[Future],
        replaced: Sequence[str] = (),
    ) -> None:
        """Hold the state a pass has made; let go of what it has replaced.

        A state that is let go is freed on its worker, but Dask keeps its task as
        long as a later state depends on it, and runs it again if that one is lost.
        """
        for name in replaced:
            self._owners.pop(name, None)
        if fields:
            self._kept[number] = states
            self._owners.update(dict.fromkeys(fields, number))
        live = set(self._owners.values())
        self._kept = {at: kept for at, kept in self._kept.items() if at in live}

    def take(self, rows: Array) -> Block:
        """The chosen rows, in the order asked for, on the host."""
        ids = np.asarray(rows)
        self._workers.begin()
        futures, order = [], []
        with self._workers.faults():
            for i, span in enumerate(self._spans):
                mine = np.flatnonzero((ids >= span.start) & (ids < span.stop))
                if mine.size:
                    sealed = worker.Sealed(ids[mine] - span.start)
                    task = (worker.take_rows, self._sources[i], sealed, span)
                    futures.append(self._submit("take", i, task))
                    order.append(mine)
            blocks = self.client.gather(futures)
        back = np.argsort(np.concatenate(order))
        views = [
            _stack(part)[back] for part in zip(*(b.views for b in blocks), strict=True)
        ]
        present = np.concatenate([to_host(b.present) for b in blocks])[back]
        return Block(0, tuple(views), present)

    def put(self, name: str, values: Array) -> None:
        """Split an array with one entry per row over the partitions."""
        number = self._workers.begin()
        with self._workers.faults():
            states = []
            for i, span in enumerate(self._spans):
                sealed = worker.Sealed(
                    (name, np.asarray(values[span.start : span.stop]))
                )
                task = (worker.split_rows, sealed, span)
                states.append(self._submit("put", i, task))
        self._keep(number, [name], states)

    def read(self, name: str) -> Any:
        """A state field of all rows: a Dask array with the input's row chunks.

        An array in memory where the views were.
        """
        import dask.array as da
        from dask.delayed import delayed

        states = self._kept[self._owners[name]]
        with self._workers.faults():
            shape, dtype = self.client.submit(
                worker.field_shape, states[0], worker.Sealed(name), pure=False
            ).result()
        parts = [
            da.from_delayed(
                delayed(worker.field_rows)(state, worker.Sealed(name)),
                (len(span), *shape),
                np.dtype(dtype),
            )
            for state, span in zip(states, self._spans, strict=True)
        ]
        whole = da.concatenate(parts)
        if isinstance(self.views, DaskViews):
            return whole.rechunk({0: self.views.arrays[0].chunks[0]})
        if isinstance(self.views, DiskViews):
            return whole
        with self._workers.faults():
            return self.client.compute(whole).result()

    def drop(self, name: str) -> None:
        """Forget a state field."""
        self._owners.pop(name, None)
        self._keep(0, [], [])

    def keeps(self, bytes_per_row: float, remake_flops: float, uses: int) -> bool:
        """Keep this much per row for `uses` passes, or make it again in each?"""
        pays = worth_keeping(bytes_per_row, remake_flops, uses)
        return pays and self._workers.have_room(bytes_per_row)

    def _partition_sizes(self) -> list[int]:
        if isinstance(self.views, DaskViews):
            return [int(n) for n in self.views.aligned[0].chunks[0]]
        threads = sum(self.client.nthreads().values()) or 1
        largest = max(PARTITION_ROWS, -(-self.n_samples // MOST_PARTITIONS))
        rows = min(largest, -(-self.n_samples // (2 * threads)))
        full, rest = divmod(self.n_samples, rows)
        return [rows] * full + ([rest] if rest else [])

    def _place_rows(self) -> list[Any]:
        """Every partition's source: a future of its rows, or where to read them."""
        if isinstance(self.views, DaskViews):
            return self._place_chunks(self.views)
        on_disk = isinstance(self.views, DiskViews)
        if on_disk and not self._workers.have_room(_row_bytes(self.views)):
            return [worker.RowsOnDisk(self.views, s.start, s.stop) for s in self._spans]
        sources = []
        for i, span in enumerate(self._spans):
            if on_disk:
                lying = worker.RowsOnDisk(self.views, span.start, span.stop)
                task: Any = (worker.load_rows, lying)
            else:
                rows = self.views[span.start : span.stop]
                task = (worker.unpack, worker.Sealed(rows))
            sources.append(self._submit("rows", i, task))
        return sources

    def _submit(self, what: str, i: int, task: Any) -> Future:
        """A task of one partition, where that lives."""
        return self._workers.submit_one(what, i, task, self._workers.home(i))

    def _place_chunks(self, views: DaskViews) -> list[Future]:
        """Every partition's chunks brought to its home, once."""
        import dask
        from dask.delayed import delayed

        chunks = [a.to_delayed().ravel() for a in views.aligned]
        sources = []
        names = worker.Sealed(views.names)
        for i, parts in enumerate(zip(*chunks, strict=True)):
            home = self._workers.home(i)
            with dask.annotate(workers=[home], allow_other_workers=True):
                sources.append(delayed(worker.join_sealed)(names, *parts))
        return list(self.client.compute(sources))


def _row_bytes(views: Views) -> int:
    pairs = zip(views.n_features, views.arrays, strict=True)
    return sum(n * int(np.dtype(a.dtype).itemsize) for n, a in pairs)


def _stack(parts: Sequence[Array]) -> Array:
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    return np.concatenate([to_host(p) for p in parts])
