"""Blocks on the workers of a Dask cluster.

This file and `dask_views` are the only ones that import Dask.

Every partition of the rows is a chain of futures: its state after a pass is a
task of its source, its state before and the pass's small value. Small values
are tasks too, with their content inside. So Dask itself can make anything again
that a lost worker had, from the source on, and nothing here keeps track of
faults. Partitions stay with one worker each, which adds up the sums of its own
partitions in a fixed order; only such sums, and small values, travel.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, pairwise
from typing import Any

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
from manyview.errors import DependencyError, DeviceError, InputTypeError, ManyviewError
from manyview.running import progress
from manyview.views.disk_views import DiskViews
from manyview.views.views import Block, Views

try:
    import dask
    import dask.array as da
    from dask.delayed import delayed
    from distributed import Client, Future, get_client
    from distributed.client import FutureCancelledError
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker
except ImportError as missing:
    raise DependencyError(
        "engine='dask' and Dask arrays need dask and distributed. Install them: "
        "pip install 'manyview[dask]'."
    ) from missing

# Sums that one worker, or the driver, adds up at a time.
FAN_IN = 8
MOST_PARTITIONS = 4096  # of rows on disk: every one is three tasks in every pass
# How long to wait for a scheduler's answer.
PATIENCE = "10s"
HELD_SHARE = 0.3  # of the workers' memory: for rows, and again for features
LOST = (CommClosedError, FutureCancelledError, TimeoutError)


def find_client(engine: Any) -> Client:
    """The client that was given, or the current one."""
    if isinstance(engine, Client):
        return engine
    if not (isinstance(engine, str) and engine == "dask"):
        raise InputTypeError(
            f"engine={engine!r} is no engine. Give 'local', 'dask' or a "
            "distributed.Client."
        )
    try:
        return get_client()
    except ValueError as error:
        raise DeviceError(
            "engine='dask' found no Dask client. Start one first, for instance "
            "distributed.Client('tcp://HOST:8786'), or pass it as engine=client."
        ) from error


@contextmanager
def connect(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address, for the time being."""
    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise DeviceError(
            f"No Dask scheduler answers at {address}: {error}. Check the address, or "
            "start one with 'dask scheduler'."
        ) from error
    with client:
        yield client


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
        self._token, self._number = uuid.uuid4().hex[:12], 0
        sizes = self._partition_sizes()
        starts = np.cumsum([0, *sizes])
        self.dtype = np.dtype(dtype)
        self.view_order = tuple(range(views.n_views))
        rows, kind = check_block_rows(block_rows), self.dtype.str
        self._spans = [
            worker.Span(int(a), int(a) + n, rows, views.n_views, kind)
            for a, n in zip(starts[:-1], sizes, strict=True)
        ]
        threads = client.nthreads()
        self._groups = _contiguous_groups(sizes, max(sum(threads.values()), 1))
        seats = [w for w in sorted(threads) for _ in range(threads[w])]
        share = len(seats) / len(self._groups)
        self._homes: list[str] = [
            seats[int(g * share)] if seats else "" for g in range(len(self._groups))
        ]
        self._find_homes()
        self._kept: dict[int, list[Future]] = {}  # by pass, one per partition
        self._owners: dict[str, int] = {}  # the pass that made a field
        self._sent: dict[int, tuple[Any, Future, dict[str, Future]]] = {}
        with self._faults():
            self._sources = self._place_rows()

    def run(
        self, step: Step, small: Any = None, *, title: str, views: bool = True
    ) -> tuple[Totals, list[Any]]:
        """Apply the step on the workers; sums in a fixed order, notes as a list."""
        with self._faults(), progress.task(title, len(self._groups)) as advance:
            self._find_homes()
            self._number += 1
            rest, names, inner = self._send(small)
            states: list[Future] = []
            sums: list[Future] = []
            for group, home in zip(self._groups, self._homes, strict=True):
                sent = [rest, names, *(self._send_once(p, home) for p in inner)]
                mine, total = self._submit_group(step, sent, views, group, home)
                states += mine
                sums.append(total)
            parts = self._gather(self._reduce(sums), advance)
            summary = worker.merge(parts)
            self._keep(summary.fields, states, summary.replaced)
        return summary.totals, summary.notes

    def _submit_group(
        self, step: Step, sent: list[Any], views: bool, group: range, home: str
    ) -> tuple[list[Future], Future]:
        """The pass on one thread's partitions: their states, and the sum of all.

        Each waits for the sum before it. So a worker never has a queue that others
        would steal from, rows and states with it, and holds one partition's
        temporaries per thread.
        """
        live = sorted(set(self._owners.values()))
        owners = {name: live.index(at) for name, at in self._owners.items()}
        graph: dict[str, Any] = {}
        total = None
        for i in group:
            done = self._key("pass", i)
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
            graph[self._key("state", i)] = (worker.states_of, done)
            graph[self._key("sum", i)] = (worker.summarise, total, done)
            total = self._key("sum", i)
        *states, last = self._submit(
            graph, [*(self._key("state", i) for i in group), total], home
        )
        return states, last

    def _submit(
        self, graph: dict[str, Any], keys: list[Any], home: str
    ) -> list[Future]:
        """Send tasks to their home; another worker takes them if that one is gone."""
        # Small values travel inside tasks on purpose: a lost one can be made again.
        with dask.config.set(
            {"distributed.admin.large-graph-warning-threshold": "1GB"}
        ):
            found = self.client.get(
                graph, keys, workers=[home], allow_other_workers=True, sync=False
            )
        return list(found)

    def _send(self, small: Any) -> tuple[Future, worker.Sealed, list[Any]]:
        """A small value as a task; the named tuples inside it are left to travel once.

        Returns the rest, the names of those parts, and the parts.
        """
        inner = [f for f in getattr(small, "_fields", ()) if _is_record(small, f)]
        parts = [getattr(small, f) for f in inner]
        rest = small._replace(**dict.fromkeys(inner)) if inner else small
        return self._send_value(rest, "small"), worker.Sealed(inner), parts

    def _send_once(self, part: Any, home: str) -> Future:
        """A part at its home, under a key of its own: Dask drops second copies."""
        # The part itself is kept as well: an id is only unique while it lives.
        if id(part) not in self._sent:
            sent = self._send_value(part, f"part{len(self._sent)}")
            self._sent[id(part)] = (part, sent, {})
        _, sent, copies = self._sent[id(part)]
        if home not in copies:
            key = self._key(f"copy{len(copies)}", len(self._sent))
            copies[home] = self._submit({key: (worker.copy_of, sent)}, [key], home)[0]
        return copies[home]

    def _send_value(self, value: Any, what: str) -> Future:
        key = self._key(what, 0)
        graph = {key: (worker.unpack, worker.Sealed(value))}
        return self._submit(graph, [key], self._homes[0])[0]

    def _reduce(self, sums: list[Future]) -> list[Future]:
        """Sums added on their worker, then on few, until the driver can bear them."""
        parts = list(zip(self._homes, sums, strict=True))
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
        key, home = self._key(f"merge{level}", n), parts[0][0]
        task = (worker.merge, [total for _, total in parts])
        return home, self._submit({key: task}, [key], home)[0]

    def _gather(
        self, sums: list[Future], advance: Callable[[], None]
    ) -> list[worker.Summary]:
        parts = []
        for future in sums:
            parts.append(future.result())
            advance()
        return parts

    def _keep(
        self,
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
            self._kept[self._number] = states
            self._owners.update(dict.fromkeys(fields, self._number))
        live = set(self._owners.values())
        self._kept = {at: kept for at, kept in self._kept.items() if at in live}

    def take(self, rows: Array) -> Block:
        """The chosen rows, in the order asked for, on the host."""
        ids = np.asarray(rows)
        self._number += 1
        futures, order = [], []
        with self._faults():
            for i, span in enumerate(self._spans):
                mine = np.flatnonzero((ids >= span.start) & (ids < span.stop))
                if mine.size:
                    sealed = worker.Sealed(ids[mine] - span.start)
                    key = self._key("take", i)
                    task = (worker.take_rows, self._sources[i], sealed, span)
                    futures += self._submit({key: task}, [key], self._home(i))
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
        self._number += 1
        with self._faults():
            states = []
            for i, span in enumerate(self._spans):
                sealed = worker.Sealed(
                    (name, np.asarray(values[span.start : span.stop]))
                )
                key = self._key("put", i)
                task = (worker.split_rows, sealed, span)
                states += self._submit({key: task}, [key], self._home(i))
        self._keep([name], states)

    def read(self, name: str) -> Any:
        """A state field of all rows: a Dask array with the input's row chunks.

        An array in memory where the views were.
        """
        states = self._kept[self._owners[name]]
        with self._faults():
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
        with self._faults():
            return self.client.compute(whole).result()

    def drop(self, name: str) -> None:
        """Forget a state field."""
        self._owners.pop(name, None)
        self._keep([], [])

    def keeps(self, bytes_per_row: float, remake_flops: float, uses: int) -> bool:
        """Keep this much per row for `uses` passes, or make it again in each?"""
        pays = worth_keeping(bytes_per_row, remake_flops, uses)
        return pays and self._fits(bytes_per_row)

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
        if on_disk and not self._fits(_row_bytes(self.views)):
            return [worker.RowsOnDisk(self.views, s.start, s.stop) for s in self._spans]
        sources = []
        for i, span in enumerate(self._spans):
            key = self._key("rows", i)
            if on_disk:
                lying = worker.RowsOnDisk(self.views, span.start, span.stop)
                task: Any = (worker.load_rows, lying)
            else:
                rows = self.views[span.start : span.stop]
                task = (worker.unpack, worker.Sealed(rows))
            sources += self._submit({key: task}, [key], self._home(i))
        return sources

    def _place_chunks(self, views: DaskViews) -> list[Future]:
        """Every partition's chunks brought to its home, once."""
        chunks = [a.to_delayed().ravel() for a in views.aligned]
        sources = []
        names = worker.Sealed(views.names)
        for i, parts in enumerate(zip(*chunks, strict=True)):
            with dask.annotate(workers=[self._home(i)], allow_other_workers=True):
                sources.append(delayed(worker.join_sealed)(names, *parts))
        return list(self.client.compute(sources))

    def _fits(self, bytes_per_row: float) -> bool:
        """May this much per row stay in the workers' memory?"""
        info = self.client.scheduler_info(n_workers=-1)["workers"]
        room = [w["memory_limit"] for w in info.values()]
        unlimited = not all(room)
        return unlimited or bytes_per_row * self.n_samples <= HELD_SHARE * sum(room)

    def _find_homes(self) -> None:
        """A worker for every group; one that is gone is replaced by the least busy."""
        alive = sorted(self.client.nthreads())
        if not alive:
            raise DeviceError(
                "The Dask cluster has no workers. Start some, or wait for them: "
                "client.wait_for_workers(1)."
            )
        load = {w: self._homes.count(w) for w in alive}
        for g, home in enumerate(self._homes):
            if home not in load:
                self._homes[g] = min(alive, key=load.__getitem__)
                load[self._homes[g]] += 1

    def _home(self, i: int) -> str:
        return next(
            home
            for group, home in zip(self._groups, self._homes, strict=True)
            if i in group
        )

    def _key(self, what: str, i: int) -> str:
        return f"{what}-{self._token}-{self._number}-{i}"

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Errors of the cluster in our words; those of a step pass as they are."""
        try:
            yield
        except KilledWorker as error:
            raise DeviceError(
                f"Dask gave up on a task after several workers died with it: {error}. "
                "Workers that run out of memory need smaller chunks or more room."
            ) from error
        except ManyviewError:
            raise
        except (Exception, FutureCancelledError) as error:
            if self.client.status == "running" and not isinstance(error, LOST):
                raise
            raise DeviceError(
                f"The connection to the Dask scheduler was lost: {error!r}. Start the "
                "cluster again; with checkpoint= the fit resumes at its last round."
            ) from error


def _is_record(small: Any, field: str) -> bool:
    return hasattr(getattr(small, field), "_fields")


def _row_bytes(views: Views) -> int:
    pairs = zip(views.n_features, views.arrays, strict=True)
    return sum(n * int(np.dtype(a.dtype).itemsize) for n, a in pairs)


def _stack(parts: Sequence[Array]) -> Array:
    if sp.issparse(parts[0]):
        return sp.vstack(parts, format="csr")
    return np.concatenate([to_host(p) for p in parts])


def _contiguous_groups(sizes: Sequence[int], n_groups: int) -> list[range]:
    """Neighbouring partitions, cut into groups of about as many rows each."""
    middle = np.cumsum(sizes) - np.asarray(sizes) / 2
    group = np.minimum((middle / sum(sizes) * n_groups).astype(int), n_groups - 1)
    edges = np.flatnonzero(np.diff(group, prepend=-1, append=n_groups))
    return [range(int(a), int(b)) for a, b in pairwise(edges)]
