"""What a fit keeps, spills or makes again, and what that costs; before it starts.

The engine and the printed plan ask the same `Budget`, so that a plan is what
happens. Without a limit everything is kept in memory.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import InputError, InputTypeError, ResourceError

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
BINARY = {"KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
# The driver's own matrices: Grams of features and of a few thousand anchors.
DRIVER = 350 * 10**6
READ_RATE = 8e8
LEAST_LIMIT = 500 * 10**6


def parse_memory(limit: Any) -> int | None:
    """Bytes from None, a number or a text such as "2GB" or "512MiB"."""
    if limit is None:
        return None
    if isinstance(limit, (int, np.integer)) and not isinstance(limit, bool):
        value = float(limit)
    elif isinstance(limit, str):
        found = re.fullmatch(r"\s*([0-9.]+)\s*([KMGT]I?)?B?\s*", limit.upper())
        if found is None or found[1].count(".") > 1 or found[1] == ".":
            raise InputError(
                f"memory_limit={limit!r} is no amount of memory. Write '2GB', "
                "'512MiB', a number of bytes, or None."
            )
        value = float(found[1]) * (UNITS | BINARY)[found[2] or ""]
    else:
        raise InputTypeError(
            f"memory_limit must be a text such as '2GB', a number of bytes or None; "
            f"got {limit!r}."
        )
    if value < LEAST_LIMIT:
        raise InputError(
            f"memory_limit={limit!r} is too little: the program and its small matrices "
            f"alone need about {LEAST_LIMIT / 1e6:.0f} MB. Give more."
        )
    return int(value)


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

    def place(self, n_bytes: int, remake_seconds: float | None) -> str:
        """Where a field would go: "memory", "disk", or made "again" in every pass."""
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
    """A field of the state: bytes per row, and work per row to make it again."""

    name: str
    bytes_per_row: float
    remake_flops: float | None = None


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
    threads: int,
) -> Plan:
    """Place every field in turn, and add up time and memory."""
    rate = product_rate() * threads
    places, sizes = {}, {}
    seconds = flops / rate + reads * data_bytes / READ_RATE
    for need in needs:
        n_bytes = need.bytes_per_row * budget.n_samples
        remake = None
        if need.remake_flops is not None:
            remake = need.remake_flops * budget.n_samples / rate
        place = budget.place(int(n_bytes), remake)
        if place == "memory":
            budget.takes(int(n_bytes))
        elif place == "disk":
            seconds += reads * n_bytes / READ_RATE
        elif remake is not None:
            seconds += reads * remake
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
