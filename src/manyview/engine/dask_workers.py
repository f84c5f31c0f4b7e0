"""The workers of a Dask cluster: which rows live where, and how tasks get there.

Small values are tasks with their content inside, so that Dask can make again what a
lost worker had.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manyview.engine import partition as worker
from manyview.engine import travel
from manyview.engine.device import Seen, look_at
from manyview.errors import (
    DependencyError,
    DeviceError,
    InputTypeError,
    ManyviewError,
    required,
)

if TYPE_CHECKING:
    from distributed import Client, Future

# How long to wait for a scheduler's answer: a wrong address is told at once.
PATIENCE = "10s"
# Of the workers' memory, for rows and again for features: the rest is for work.
HELD_SHARE = 0.3


def find_client(engine: Any) -> Client:
    """The client that was given, or the current one."""
    with required("engine='dask' and Dask arrays need distributed", "dask"):
        from distributed import Client, get_client
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


def worker_count(engine: Any) -> int:
    """Cores of the workers that the engine has; 0 for this process."""
    if isinstance(engine, str) and engine == "local":
        return 0
    found = find_client(engine).scheduler_info(n_workers=-1)["workers"]
    return max(sum(int(w["nthreads"]) for w in found.values()), 1)


@contextmanager
def connect(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address, for the time being."""
    from distributed import Client

    try:
        client = Client(address, timeout=PATIENCE)
    except (OSError, ValueError) as error:
        raise DeviceError(
            f"No Dask scheduler answers at {address}: {error}. Check the address, or "
            "start one with 'dask scheduler'."
        ) from error
    with client:
        yield client


class Devices:
    """The torch devices of the workers, one each, and the driver's if it has one.

    Parameters
    ----------
    client : distributed.Client
    name : str
        As every worker names its own; one without it is refused.
    limit : int, optional
        Bytes that a fit may hold on each.
    """

    def __init__(self, client: Client, name: str, limit: int | None) -> None:
        self._client, self.name, self._limit = client, name, limit
        try:
            self._own: Seen | None = look_at(name)
        except (DeviceError, DependencyError):
            self._own = None
        self.here = None if self._own is None else name
        self.room()

    def room(self) -> int | None:
        """Bytes a fit may still take on every device; None where nobody tells.

        Processes that share a device share its free memory.
        """
        try:
            found = list(self._client.run(look_at, self.name).values())
        except (DeviceError, DependencyError) as error:
            raise type(error)(f"A worker of the Dask cluster says: {error}") from error
        known = [seen for seen in (self._own, *found) if seen is not None]
        sharing = Counter(seen.name for seen in known)
        rooms = [s.free // sharing[s.name] for s in found if s.free is not None]
        if self._limit is not None:
            rooms += [self._limit - seen.held for seen in found]
        return max(min(rooms), 0) if rooms else None

    def hold(self, n_bytes: float, share: float) -> bool:
        """Do these bytes fit into a share of what is free on every device?"""
        room = self.room()
        return room is None or n_bytes <= share * room


class Sent(NamedTuple):
    """A small value on the workers: sealed, and opened where it was needed."""

    sealed: Future
    opened: dict[str, Future]


class Workers:
    """The workers of a client, each the home of neighbouring partitions.

    Parameters
    ----------
    client : distributed.Client
    sizes : sequence of int
        Rows of every partition.
    device : str, optional
        The torch device that every worker computes on.
    limit : int, optional
        Bytes that a worker may hold, on its device if there is one.
    """

    def __init__(
        self,
        client: Client,
        sizes: Sequence[int],
        device: str | None = None,
        limit: int | None = None,
    ) -> None:
        self.client, self._n_rows = client, sum(sizes)
        self.device, self._limit = device, limit
        self._token, self._number = uuid.uuid4().hex[:12], 0
        threads = client.nthreads()
        self.groups = _contiguous_groups(sizes, max(sum(threads.values()), 1))
        self._group_of = [g for g, group in enumerate(self.groups) for _ in group]
        seats = [w for w in sorted(threads) for _ in range(threads[w])]
        share = len(seats) / len(self.groups)
        self.homes: list[str] = [
            seats[int(g * share)] if seats else "" for g in range(len(self.groups))
        ]
        self._sent: dict[int, tuple[Any, Sent]] = {}
        self.find_homes()

    def find_homes(self) -> None:
        """A worker for every group; one that is gone is replaced by the least busy."""
        alive = sorted(self.client.nthreads())
        if not alive:
            raise DeviceError(
                "The Dask cluster has no workers. Start some, or wait for them: "
                "client.wait_for_workers(1)."
            )
        load = {w: self.homes.count(w) for w in alive}
        for g, home in enumerate(self.homes):
            if home not in load:
                self.homes[g] = min(alive, key=load.__getitem__)
                load[self.homes[g]] += 1

    def home(self, i: int) -> str:
        """Where a partition lives."""
        return self.homes[self._group_of[i]]

    def begin(self) -> int:
        """Number of the next piece of work: keys made from here on carry it."""
        self._number += 1
        return self._number

    def key(self, what: str, i: int) -> str:
        """The key of a task of the present piece of work."""
        return f"{what}-{self._token}-{self._number}-{i}"

    def submit(self, graph: dict[str, Any], keys: list[Any], home: str) -> list[Future]:
        """Send tasks to their home; another worker takes them if that one is gone."""
        import dask

        # Small values travel inside tasks on purpose: a lost one can be made again.
        with dask.config.set(
            {"distributed.admin.large-graph-warning-threshold": "1GB"}
        ):
            found = self.client.get(
                graph, keys, workers=[home], allow_other_workers=True, sync=False
            )
        return list(found)

    def submit_one(self, what: str, i: int, task: Any, home: str) -> Future:
        """One task at its home."""
        key = self.key(what, i)
        return self.submit({key: task}, [key], home)[0]

    def send(self, shared: Any) -> tuple[Sent, travel.Sealed, list[Any]]:
        """A small value as a task; the named tuples inside it are left to travel once.

        Returns the rest, the names of those parts, and the parts.
        """
        named = {f: getattr(shared, f) for f in getattr(shared, "_fields", ())}
        inner = [f for f, part in named.items() if hasattr(part, "_fields")]
        parts = [named[f] for f in inner]
        rest = shared._replace(**dict.fromkeys(inner)) if inner else shared
        return self._send_value(rest, "small"), travel.Sealed(inner), parts

    def send_once(self, part: Any) -> Sent:
        """A part, under a key of its own: it travels in the first pass that has it."""
        # The part itself is kept as well: an id is only unique while it lives.
        if id(part) not in self._sent:
            sent = self._send_value(part, f"part{len(self._sent)}")
            self._sent[id(part)] = (part, sent)
        return self._sent[id(part)][1]

    def _send_value(self, value: Any, what: str) -> Sent:
        sealed = travel.Sealed(value)
        task = (worker.carry, sealed)
        return Sent(self.submit_one(what, 0, task, self.homes[0]), {})

    def opened(self, sent: Sent, home: str) -> Future:
        """A small value as it lies opened at a home, on its device if it has one."""
        if home not in sent.opened:
            task = (travel.unpack, sent.sealed, self.device)
            key = f"open-{sent.sealed.key}-{len(sent.opened)}"
            sent.opened[home] = self.submit({key: task}, [key], home)[0]
        return sent.opened[home]

    def have_room(self, bytes_per_row: float) -> bool:
        """May this much per row stay in the workers' memory?"""
        info = self.client.scheduler_info(n_workers=-1)["workers"]
        limits = [[w["memory_limit"], self._limit] for w in info.values()]
        room = [min(filter(None, own), default=0) for own in limits]
        unlimited = not all(room)
        return unlimited or bytes_per_row * self._n_rows <= HELD_SHARE * sum(room)

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Errors of the cluster in our words; those of a step pass as they are."""
        from distributed.client import FutureCancelledError
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        lost = (CommClosedError, FutureCancelledError, TimeoutError)
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
            if self.client.status == "running" and not isinstance(error, lost):
                raise
            raise DeviceError(
                f"The connection to the Dask scheduler was lost: {error!r}. Start the "
                "cluster again; with checkpoint= the fit resumes at its last round."
            ) from error


def _contiguous_groups(sizes: Sequence[int], n_groups: int) -> list[range]:
    """Neighbouring partitions, cut into groups of about as many rows each."""
    middle = np.cumsum(sizes) - np.asarray(sizes) / 2
    group = np.minimum((middle / sum(sizes) * n_groups).astype(int), n_groups - 1)
    edges = np.flatnonzero(np.diff(group, prepend=-1, append=n_groups))
    return [range(int(a), int(b)) for a, b in pairwise(edges)]
