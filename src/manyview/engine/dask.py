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
from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Array, to_host
from manyview.engine import device as devices
from manyview.engine import partition as worker
from manyview.engine import scratch
from manyview.engine.content_order import InContentOrder, content_order, odd_numbers
from manyview.engine.contract import (
    Step,
    Totals,
    check_block_rows,
    sizes,
    worth_keeping,
)
from manyview.engine.dask_views import (
    PARTITION_ROWS,
    DaskViews,
    on_host,
    partition_sizes,
    place_chunks,
    row_bytes,
)
from manyview.engine.dask_workers import Devices, Workers
from manyview.engine.travel import Sealed, torch_device, unpack
from manyview.engine.uploads import send, upload
from manyview.errors import InputError
from manyview.running import progress
from manyview.views.disk_views import DiskViews
from manyview.views.views import Block, Views

if TYPE_CHECKING:
    from distributed import Client, Future

# Sums that one worker, or the driver, adds up at a time: few enough to hold at once.
FAN_IN = 8
# Of a worker's limit: what it may hold before fields go to a file, and the rows of a
# partition that are read at once. The rest is for blocks in progress and sums.
HELD_SHARE = 0.7
READ_SHARE = 0.1


class DaskEngine(InContentOrder):
    """Passes over views that lie on the workers of a Dask cluster.

    Parameters
    ----------
    views : DaskViews, or Views in memory or on disk
    dtype : dtype of the blocks, float32 or float64
    client : distributed.Client
    block_rows : int, optional
        Rows per block within a partition; default what suits processors or devices.
    device : str, optional
        The torch device of every worker to compute on.
    memory_limit : str, int or None
        What every worker may hold; of its device's memory, if there is one.
    view_order : sequence of int, optional
        Order to visit the views in; default that of their content, where the workers
        hold the rows. Rows in memory are visited in that of theirs.
    """

    def __init__(
        self,
        views: DaskViews | Views,
        dtype: Any,
        client: Client,
        *,
        block_rows: int | None = None,
        device: str | None = None,
        memory_limit: Any = None,
        view_order: Sequence[int] | None = None,
    ) -> None:
        self.client, self.dtype, self.n_samples = client, np.dtype(dtype), len(views)
        self.views = on_host(views)
        limit = None if memory_limit is None else scratch.parse_memory(memory_limit)
        self._devices = None if device is None else Devices(client, device, limit)
        # Of a device's memory where there is one, else of the worker's own.
        self._limit = limit if device is None else None
        rows = self._rows_of_a_block(block_rows)
        # Whole blocks: the local engine's, where rows are in the same order.
        step = rows if device is None else 1
        n_rows = partition_sizes(views, client, self._most_rows(), step)
        self._workers = Workers(client, n_rows, device, self._limit)
        self._order, found = content_order(self.views, self.dtype, rows)
        self.view_order = tuple(found if view_order is None else view_order)
        place = (self.view_order, self.dtype.str, device, self._room_of_state())
        starts = np.cumsum([0, *n_rows])
        self._spans = [
            worker.Span(int(a), int(a) + n, rows, *place)
            for a, n in zip(starts[:-1], n_rows, strict=True)
        ]
        self._kept: dict[int, list[Future]] = {}  # by pass, one per partition
        self._owners: dict[str, int] = {}  # the pass that made a field
        with self._workers.faults():
            self._sources = self._place_rows()
        if view_order is None and self._order is None:
            self._order_views()

    def run(
        self, step: Step, shared: Any = None, *, title: str, views: bool = True
    ) -> tuple[Totals, list[Any]]:
        """Apply the step on the workers; sums in a fixed order, notes as a list."""
        crew = self._workers
        with crew.faults(), progress.task(title, len(crew.groups)) as advance:
            crew.find_homes()
            number = crew.begin()
            rest, names, inner = crew.send(shared)
            values = [rest, *map(crew.send_once, inner)]
            states: list[Future] = []
            sums: list[Future] = []
            for group, home in zip(crew.groups, crew.homes, strict=True):
                rest_here, *parts_here = (crew.opened(v, home) for v in values)
                sent = [rest_here, names, *parts_here]
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
        return self._near(summary)

    def _near(self, summary: worker.Summary) -> tuple[Totals, list[Any]]:
        """Sums and notes, on the driver's own device if it has one."""
        if self._devices is None:
            return summary.totals, summary.notes
        there = self._devices.here
        notes = [note.open(there) for note in summary.notes]
        if there is None:
            return summary.totals, notes
        device = torch_device(there)
        return {n: send(x, device) for n, x in summary.totals.items()}, notes

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
                title,
                step,
                self._spans[i],
                self._sources[i] if views else None,
                sent,
                Sealed(owners),
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
        """The chosen rows, in the order asked for, where the driver computes."""
        ids = np.asarray(rows)
        self._workers.begin()
        futures, order = [], []
        with self._workers.faults():
            for i, span in enumerate(self._spans):
                mine = np.flatnonzero((ids >= span.start) & (ids < span.stop))
                if mine.size:
                    sealed = Sealed(ids[mine] - span.start)
                    task = (worker.take_rows, self._sources[i], sealed, span)
                    home = self._workers.home(i)
                    futures.append(self._workers.submit_one("take", i, task, home))
                    order.append(mine)
            blocks = self.client.gather(futures)
        back = np.argsort(np.concatenate(order))
        views = [
            _stack(part)[back] for part in zip(*(b.views for b in blocks), strict=True)
        ]
        present = np.concatenate([to_host(b.present) for b in blocks])[back]
        found = Block(0, tuple(views), present)
        if self._devices is None or self._devices.here is None:
            return found
        return upload(found, torch_device(self._devices.here))

    def put(self, name: str, values: Array) -> None:
        """Split an array in the caller's row order over the partitions."""
        number = self._workers.begin()
        with self._workers.faults():
            tasks = []
            for span in self._spans:
                sealed = Sealed((name, to_host(values[self._own_rows(span)])))
                tasks.append((worker.split_rows, sealed, span))
            states = self._submit("put", tasks)
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
                worker.field_shape, states[0], Sealed(name), pure=False
            ).result()
        parts = [
            da.from_delayed(
                delayed(worker.field_rows)(state, Sealed(name)),
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
            found = self.client.compute(whole).result()
        return found if self._order is None else found[np.argsort(self._order)]

    def drop(self, name: str) -> None:
        """Forget a state field."""
        self._owners.pop(name, None)
        self._keep(0, [], [])

    def keeps(self, bytes_per_row: float, remake_flops: float, uses: int) -> bool:
        """Keep this much per row for `uses` passes, or make it again in each?"""
        if self._devices is not None:
            # A field and the one that takes its place are both there for a pass.
            both = 2 * bytes_per_row * self._rows_each
            return self._devices.hold(both, devices.STATE_SHARE)
        pays = worth_keeping(bytes_per_row, remake_flops, uses)
        return pays and self._workers.have_room(bytes_per_row)

    def _own_rows(self, span: worker.Span) -> Any:
        """A partition's rows by the caller's numbers."""
        rows = slice(span.start, span.stop)
        return rows if self._order is None else self._order[rows]

    @property
    def _rows_each(self) -> float:
        """Rows per worker."""
        return self.n_samples / len(set(self._workers.homes))

    def _rows_of_a_block(self, asked: int | None) -> int:
        rows, widths = check_block_rows(asked), self.views.n_features
        if asked is None and self._devices is not None:
            name, room = self._devices.name, self._devices.room()
            return devices.rows_within(room, widths, self.dtype, name)
        if asked is None and self._limit is not None:
            return scratch.rows_within(self._limit, rows, widths, self.dtype)
        return rows

    def _most_rows(self) -> int:
        """Of a partition, where its rows can be cut anywhere."""
        most = PARTITION_ROWS if self._devices is None else devices.MOST_BLOCK_ROWS
        if self._limit is None:
            return most
        return min(most, int(READ_SHARE * self._limit / row_bytes(self.views)))

    def _room_of_state(self) -> int | None:
        """What a worker may hold before the fields of further blocks go to a file."""
        if self._limit is None:
            return None
        asked = sizes.state_room
        return int(HELD_SHARE * self._limit) if asked is None else asked

    def _place_rows(self) -> list[Any]:
        """Every partition's source: a future of its rows, or where to read them."""
        views, spans = self.views, self._spans
        n_bytes = row_bytes(views)
        fits = self._workers.have_room(n_bytes)
        if isinstance(views, DiskViews):
            lying = [worker.RowsOnDisk(views, s.start, s.stop) for s in spans]
            if not fits:
                return lying
            sources = self._submit("rows", [(worker.load_rows, r) for r in lying])
        elif not fits and self._limit is not None:
            raise InputError(
                f"memory_limit={self._limit / 1e9:.2f} GB is too little for workers "
                f"that hold {n_bytes * self._rows_each / 1e9:.2f} GB of rows "
                "each. Give a path (a converted folder, Zarr, Parquet or npy), whose "
                "rows are read again in every pass, more workers, or a higher limit."
            )
        elif isinstance(views, DaskViews):
            sources = place_chunks(views, self._workers)
        else:
            sealed = (Sealed(views[self._own_rows(span)]) for span in spans)
            sources = self._submit("rows", [(unpack, rows) for rows in sealed])
        # On a device sparse rows are dense, and float64 rows stay that.
        dense = sum(views.n_features) * self.dtype.itemsize
        each = max(dense, n_bytes) * self._rows_each
        if self._devices is None or not self._devices.hold(each, sizes.resident_share):
            return sources
        pairs = zip(sources, spans, strict=True)
        return self._submit("there", [(worker.rows_there, *pair) for pair in pairs])

    def _submit(self, what: str, tasks: list[Any]) -> list[Future]:
        """A task for every partition, where that lives."""
        crew = self._workers
        return [crew.submit_one(what, i, t, crew.home(i)) for i, t in enumerate(tasks)]

    def _order_views(self) -> None:
        """The views in the order of their content, if workers hold the rows."""
        if isinstance(self._sources[0], worker.RowsOnDisk):
            return
        odd = [odd_numbers(n) for n in self.views.n_features]
        _, notes = self.run(worker.view_step, odd, title="Ordering the views")
        found = np.argsort(np.sum(notes, axis=0), kind="stable")
        self.view_order = tuple(int(v) for v in found)
        self._spans = [replace(s, view_order=self.view_order) for s in self._spans]


def _stack(parts: Sequence[Array]) -> Array:
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    return np.concatenate([to_host(p) for p in parts])
