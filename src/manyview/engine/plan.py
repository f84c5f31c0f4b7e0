"""What a fit keeps, spills or makes again, and what that costs; before it starts.

The engine and the printed plan ask the same `Budget`, so that a plan is what
happens. Without a limit everything is kept in memory.
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
        Estimates.
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

    def __str__(self) -> str:
        words = {
            "memory": "kept in memory",
            "disk": "spilled to a scratch file",
            "again": "made again in every pass",
        }
        limit = "none" if self.limit is None else f"{self.limit / 1e9:.2f} GB"
        lines = [
            f"{self.n_samples} rows in blocks of {self.block_rows}; "
            f"memory limit {limit}"
        ]
        for name, place in self.places.items():
            size = self.sizes[name] / 1e9
            lines.append(f"  {name}: {size:.2f} GB, {words[place]}")
        lines.append(
            f"  at most {self.passes} passes, {self.reads} of them over the views"
        )
        lines.append(
            f"  about {_duration(self.seconds)}, peak memory about "
            f"{self.peak_bytes / 1e9:.2f} GB"
        )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


@dataclass(frozen=True)
class Work:
    """What a fit does in all: passes, those that read the views, and their work.

    `flops` is matrix products; `touched` counts bytes of distances and features,
    whose minima and exponentials cost more than their products on narrow views.
    """

    n_samples: int
    block_rows: int
    passes: int
    reads: int
    data_bytes: float
    block_bytes: int
    flops: float
    touched: float


def make_plan(needs: Sequence[Need], work: Work, limit: int | None) -> Plan:
    """Place every field in turn, and add up time and memory."""
    threads = n_cores()
    budget = None if limit is None else Budget(limit, work.block_bytes)
    held = float(resident_bytes() + DRIVER + work.block_bytes)
    places, sizes = {}, {}
    seconds = work.flops / (product_rate() * threads)
    seconds += work.touched / (FEATURE_RATE * threads)
    seconds += work.reads * work.data_bytes / READ_RATE
    for need in needs:
        n_bytes = need.bytes_per_row * work.n_samples
        remake = None
        if need.remake_flops is not None:
            remake = need.remake_flops * work.n_samples / (CORE_RATE * threads)
        place = _place(need, n_bytes, remake, budget)
        if place == "memory":
            held += n_bytes
        elif place == "disk":
            seconds += work.reads * n_bytes / READ_RATE
        elif remake is not None:
            # Once is counted already.
            again = remake + n_bytes / (FEATURE_RATE * threads)
            seconds += (need.uses - 1) * again
        places[need.name], sizes[need.name] = place, n_bytes
    return Plan(
        n_samples=work.n_samples,
        places=places,
        sizes=sizes,
        block_rows=work.block_rows,
        passes=work.passes,
        reads=work.reads,
        seconds=seconds,
        peak_bytes=held,
        limit=limit,
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
