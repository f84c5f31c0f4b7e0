"""Wall time, CPU time and peak memory of a piece of work in this process."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

Out = TypeVar("Out")


def measured(work: Callable[[], Out]) -> tuple[Out, dict[str, float]]:
    """The result of `work` and what it took."""
    _reset_peak()
    start = _from_status("VmRSS")
    wall, cpu = time.perf_counter(), time.process_time()
    out = work()
    took = {
        "wall_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
        "peak_bytes": peak_memory(),
        "start_bytes": start or 0,
    }
    return out, took


def _reset_peak() -> None:
    """Forget the peak so far, so that loading the data does not count twice."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return  # the peak is then that of the whole process


def peak_memory() -> int:
    """Largest resident size of this process in bytes."""
    return _from_status("VmHWM") or _peak_from_usage()


def _from_status(name: str) -> int | None:
    """A size of this process as Linux tells it, in bytes."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return None
    return next((1024 * int(x.split()[1]) for x in lines if x.startswith(name)), None)


def _peak_from_usage() -> int:
    try:
        import resource
    except ImportError:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else 1024 * peak)
