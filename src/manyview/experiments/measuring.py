"""Wall time, CPU time and peak memory of a piece of work in this process."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import psutil

try:
    import resource
except ImportError:  # no such module on Windows
    resource = None  # type: ignore[assignment]

Out = TypeVar("Out")


def measured(work: Callable[[], Out]) -> tuple[Out, dict[str, float]]:
    """The result of `work` and what it took."""
    with suppress(OSError):  # the peak is then that of the whole process
        Path("/proc/self/clear_refs").write_text("5")  # forget the peak so far
    start = psutil.Process().memory_info().rss
    wall, cpu = time.perf_counter(), time.process_time()
    out = work()
    took = {
        "wall_s": time.perf_counter() - wall,
        "cpu_s": time.process_time() - cpu,
        "peak_bytes": peak_memory(),
        "start_bytes": start,
    }
    return out, took


def peak_memory() -> int:
    """Largest resident size of this process in bytes."""
    status = Path("/proc/self/status")
    if status.exists():  # getrusage would count what the parent had held
        lines = status.read_text().splitlines()
        sizes = (1024 * int(x.split()[1]) for x in lines if x.startswith("VmHWM"))
        return next(sizes, 0)
    if resource is None:
        return int(psutil.Process().memory_info().peak_wset)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else 1024 * peak)
