"""What a fit keeps, spills or makes again, and what that costs; before it starts.

The engine and the printed plan ask the same `Budget`, so that a plan is what
happens. Without a limit everything is kept in memory. On a Dask cluster the rows are
shared out evenly: every worker works, and holds a limit, as one process would.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from manyview.engine.contract import CORE_RATE, FEATURE_RATE, worth_keeping
from manyview.engine.local import MOST_SHARE
from manyview.engine.resources import n_cores, physical_memory, resident_bytes
from manyview.engine.scratch import DRIVER, READ_RATE, Budget

# Bytes a second from a scratch file of which memory has room for a copy, twice over:
# the system keeps it in its cache, and reading is copying.
CACHED_RATE = 1e10
CACHE_SHARE = 0.5
# Bytes a second between the workers and the driver: a network of 10 Gbit/s.
NETWORK_RATE = 1.2e9
# Seconds that a pass waits for a scheduler, and more for every worker (timed on one
# machine, `benchmarks/dask_engine.py`).
PASS_SECONDS = 0.05
WORKER_SECONDS = 0.002
# Memory of a worker that has imported what it needs.
WORKER_BYTES = 3e8


@dataclass(frozen=True)
class Need:
    """A field of the state: bytes per row; work per row, and passes that need it."""

    name: str
    bytes_per_row: float
    remake_flops: float | None = None
    uses: int = 1

    @property
    def pays(self) -> bool:
        """Does keeping it pay?"""
        return self.remake_flops is None or worth_keeping(
            self.bytes_per_row, self.remake_flops, self.uses
        )


@dataclass(frozen=True)
class Plan:
    """What a fit on these views would do; print it.

    Attributes
    ----------
    places : dict
        Field → "memory", "disk" or "again".
    block_rows, passes, reads : int
        Rows per block; passes at most; passes that read the views.
    seconds, peak_bytes : float
        Estimates; of the largest worker, where there are workers.
    workers : int
        Workers of a Dask cluster, one core each; 0 without one.
    traffic_bytes : float
        What travels between the driver and the workers, with the rows themselves,
        unless the workers read them from files.
    """

    n_samples: int
    places: dict[str, str]
    sizes: dict[str, float]
    block_rows: int
    passes: int
    reads: int
    seconds: float
    peak_bytes: float
    limit: int | None
    workers: int = 0
    traffic_bytes: float = 0.0

    def __str__(self) -> str:
        words = {
            "memory": "kept in memory",
            "disk": "spilled to a scratch file",
            "again": "made again in every pass",
        }
        limit = "none" if self.limit is None else f"{self.limit / 1e9:.2f} GB"
        each = " a worker" if self.workers else ""
        lines = [
            f"{self.n_samples} rows in blocks of {self.block_rows}; "
            f"memory limit {limit}{each if self.limit else ''}"
        ]
        for name, place in self.places.items():
            size = self.sizes[name] / 1e9
            lines.append(f"  {name}: {size:.2f} GB, {words[place]}")
        lines.append(
            f"  at most {self.passes} passes, {self.reads} of them over the views"
        )
        lines.append(
            f"  about {_duration(self.seconds)}, peak memory about "
            f"{self.peak_bytes / 1e9:.2f} GB{each}"
        )
        if self.workers:
            lines.append(
                f"  {self.workers} workers of one core; "
                f"{self.traffic_bytes / 1e9:.2f} GB travel"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


@dataclass(frozen=True)
class Work:
    """What a fit does in all: passes, those that read the views, and their work.

    `flops` is matrix products over all rows; `touched` counts bytes of distances and
    features, whose minima and exponentials cost more than their products on narrow
    views. `setup_flops` and `setup_touched` are the same of what happens once, beside
    the passes, `setup_seconds` what one thread does there. To every worker go
    `sent_bytes`, and `gathered_bytes` come together at the driver.
    """

    n_samples: int
    block_rows: int
    passes: int
    reads: int
    data_bytes: float
    block_bytes: int
    flops: float
    touched: float
    setup_flops: float = 0.0
    setup_touched: float = 0.0
    setup_seconds: float = 0.0
    sent_bytes: float = 0.0
    gathered_bytes: float = 0.0
    rows_in_files: bool = False


def make_plan(
    needs: Sequence[Need], work: Work, limit: int | None, workers: int = 0
) -> Plan:
    """Place every field in turn, and add up time and memory.

    With `workers` the fields are those of one worker's rows.
    """
    cores, rate = n_cores(), product_rate()
    threads = workers or cores
    # Read from as many disks as there are workers.
    share, at_once = 1.0 / max(workers, 1), 1 if workers else threads
    budget = None if limit is None else Budget(limit, work.block_bytes)
    held = DRIVER + work.block_bytes + (WORKER_BYTES if workers else resident_bytes())
    places, sizes, spilled = {}, {}, 0.0
    seconds = work.flops / (rate * threads) + work.touched / (FEATURE_RATE * threads)
    seconds += work.setup_flops / (rate * cores) + work.setup_seconds
    seconds += work.setup_touched / (FEATURE_RATE * cores)
    seconds += share * work.reads * work.data_bytes / READ_RATE
    traffic = 0.0
    if workers:
        # Rows that other workers hold go once to those that work on them, all at once.
        there = 0.0 if work.rows_in_files else work.data_bytes
        moved = (1.0 - share) * there
        held += share * there
        through_driver = workers * work.sent_bytes + work.gathered_bytes
        traffic = through_driver + moved
        seconds += work.passes * (PASS_SECONDS + WORKER_SECONDS * workers)
        seconds += (through_driver + share * moved) / NETWORK_RATE
    for need in needs:
        n_bytes = share * need.bytes_per_row * work.n_samples
        remake = None
        if need.remake_flops is not None:
            remake = need.remake_flops * work.n_samples * share / (CORE_RATE * at_once)
        place = _place(need, n_bytes, remake, budget)
        if place == "memory":
            held += n_bytes
        elif place == "disk":
            spilled += n_bytes
        elif remake is not None:
            # Once is counted already.
            again = remake + n_bytes / (FEATURE_RATE * at_once)
            seconds += (need.uses - 1) * again
        places[need.name], sizes[need.name] = place, n_bytes
    is_cached = not workers and spilled <= CACHE_SHARE * physical_memory()
    seconds += work.reads * spilled / (CACHED_RATE if is_cached else READ_RATE)
    return Plan(
        n_samples=work.n_samples,
        places=places,
        sizes=sizes,
        block_rows=work.block_rows,
        passes=work.passes,
        reads=work.reads,
        seconds=seconds,
        peak_bytes=float(held),
        limit=limit,
        workers=workers,
        traffic_bytes=traffic,
    )


def _place(
    need: Need, n_bytes: float, remake: float | None, budget: Budget | None
) -> str:
    """Where a field goes, by the engine's own rules."""
    if not need.pays:
        return "again"
    if budget is not None:
        place = budget.place(int(n_bytes), remake)
        if place == "memory":
            budget.takes(int(n_bytes))
        return place
    fits = remake is None or n_bytes <= MOST_SHARE * physical_memory()
    return "memory" if fits else "again"


def product_rate(size: int = 512) -> float:
    """Float32 operations per second of one core, from a few small products."""
    a = np.ones((size, size), dtype=np.float32)
    best = float("inf")
    for _ in range(4):
        start = time.perf_counter()
        a @ a
        best = min(best, time.perf_counter() - start)
    return 2.0 * size**3 / best
