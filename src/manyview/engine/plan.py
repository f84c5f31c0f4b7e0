"""What a fit keeps, spills or makes again, and what that costs; before it starts.

The engine and the printed plan ask the same `Budget`, so that a plan is what
happens. Without a limit everything is kept in memory.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from manyview.engine.resources import parse_size, physical_memory
from manyview.errors import InputError, InputTypeError, ResourceError

# The driver's own matrices: Grams of features and of a few thousand anchors.
DRIVER = 400 * 10**6
READ_RATE = 8e8
LEAST_LIMIT = 500 * 10**6
MOST_SHARE = 0.5  # of the machine's memory, where no limit is given
# Of one core: float32 operations, bytes of features given their exponential, bytes
# of fresh memory.
CORE_RATE = 8e10
FEATURE_RATE = 1.2e9
STORE_RATE = 5e8


def parse_memory(limit: Any) -> int | None:
    """Bytes from None, a number or a text such as "2GB" or "512MiB"."""
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, (int, np.integer, str)):
        raise InputTypeError(
            f"memory_limit must be a text such as '2GB', a number of bytes or None; "
            f"got {limit!r}."
        )
    value = parse_size(limit if isinstance(limit, str) else int(limit))
    if value < LEAST_LIMIT:
        raise InputError(
            f"memory_limit={limit!r} is too little: the program and its small matrices "
            f"alone need about {LEAST_LIMIT / 1e6:.0f} MB. Give more."
        )
    return value


def worth_keeping(bytes_per_row: float, remake_flops: float, uses: int) -> bool:
    """Is it cheaper to keep features for `uses` passes than to make them in each?

    Fresh memory costs about as much as a narrow view's features. The rates are
    rough constants and not measured: the same fit must decide the same every time.
    """
    remake = remake_flops / CORE_RATE + bytes_per_row / FEATURE_RATE
    return uses * remake > remake + bytes_per_row / STORE_RATE


def resident_bytes() -> int:
    """Memory this process holds now; a fair guess where the system does not tell."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 200 * 10**6


class Budget:
    """How much of the rows' state may stay in memory.

    Parameters
    ----------
    limit : int or None
        Bytes the process may hold in all.
    n_samples : int
    work : int
        Bytes that blocks in progress need.
    """

    def __init__(self, limit: int | None, n_samples: int, work: int) -> None:
        self.limit, self.n_samples = limit, n_samples
        self.fixed = resident_bytes() + DRIVER + work
        self.used = 0

    @property
    def room(self) -> float:
        """Bytes left for the state."""
        return float("inf") if self.limit is None else self.limit - self.fixed

    def takes(self, n_bytes: int) -> bool:
        """Take this much of the room, if it is there."""
        if self.used + n_bytes > self.room:
            return False
        self.used += n_bytes
        return True

    def gives(self, n_bytes: int) -> None:
        """Give back what is no longer held."""
        self.used -= n_bytes

    def place(
        self, n_bytes: int, remake_seconds: float | None, pays: bool = True
    ) -> str:
        """Where a field would go: "memory", "disk", or made "again" in every pass.

        `pays` says whether keeping it would pay at all.
        """
        if remake_seconds is not None:
            fits = self.limit is not None or n_bytes <= MOST_SHARE * physical_memory()
            if not (pays and fits):
                return "again"
        if self.used + n_bytes <= self.room:
            return "memory"
        if remake_seconds is not None and remake_seconds < n_bytes / READ_RATE:
            return "again"
        free = shutil.disk_usage(tempfile.gettempdir()).free
        if 1.5 * n_bytes < free:
            return "disk"
        if remake_seconds is not None:
            return "again"
        raise ResourceError(
            f"The state of the fit needs {n_bytes / 1e9:.1f} GB, which neither "
            f"memory_limit ({(self.limit or 0) / 1e9:.1f} GB) nor the scratch folder "
            f"{tempfile.gettempdir()} ({free / 1e9:.1f} GB free) holds. Set TMPDIR to "
            "a larger disk, or raise memory_limit."
        )


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


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def make_plan(
    needs: Sequence[Need],
    budget: Budget,
    *,
    block_rows: int,
    passes: int,
    reads: int,
    data_bytes: float,
    flops: float,
    touched: float,
    threads: int,
) -> Plan:
    """Place every field in turn, and add up time and memory."""
    rate = product_rate() * threads
    places, sizes = {}, {}
    seconds = flops / rate + touched / (FEATURE_RATE * threads)
    seconds += reads * data_bytes / READ_RATE
    for need in needs:
        n_bytes = need.bytes_per_row * budget.n_samples
        remake = None
        if need.remake_flops is not None:
            remake = need.remake_flops * budget.n_samples / (CORE_RATE * threads)
        place = budget.place(int(n_bytes), remake, need.pays)
        if place == "memory":
            budget.takes(int(n_bytes))
        elif place == "disk":
            seconds += reads * n_bytes / READ_RATE
        elif remake is not None:
            # Once is counted already.
            again = remake + n_bytes / (FEATURE_RATE * threads)
            seconds += (need.uses - 1) * again
        places[need.name], sizes[need.name] = place, n_bytes
    return Plan(
        n_samples=budget.n_samples,
        places=places,
        sizes=sizes,
        block_rows=block_rows,
        passes=passes,
        reads=reads,
        seconds=seconds,
        peak_bytes=budget.fixed + budget.used,
        limit=budget.limit,
    )


def product_rate(size: int = 512) -> float:
    """Float32 operations per second of one core, from a few small products."""
    a = np.ones((size, size), dtype=np.float32)
    best = float("inf")
    for _ in range(4):
        start = time.perf_counter()
        a @ a
        best = min(best, time.perf_counter() - start)
    return 2.0 * size**3 / best
