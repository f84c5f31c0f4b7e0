"""How much memory a reader may use, and the check before anything is allocated."""

from __future__ import annotations

import os
import re
from pathlib import Path

from manyview.errors import InputError, ResourceError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_BINARY = {"ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]i?|)b?\s*", re.IGNORECASE)


def parse_size(size: int | float | str | None) -> int:
    """Bytes of ``2_000_000``, ``"2GB"`` or ``"1.5 GiB"``; None is half the machine."""
    if size is None:
        return physical_memory() // 2
    if isinstance(size, str):
        match = _SIZE.fullmatch(size)
        if match is None:
            raise InputError(
                f"memory_limit={size!r} is no size. Write a number of bytes, or a "
                "number with a unit such as '500MB', '2GB' or '1.5GiB'."
            )
        unit = match[2].lower()
        size = float(match[1]) * (_UNITS | _BINARY)[unit]
    if not size >= 1:
        raise InputError(
            f"memory_limit={size!r} leaves no memory. Give a positive size."
        )
    return int(size)


def physical_memory() -> int:
    """Bytes of memory of this machine (4 GiB where the system does not say)."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 4 * 2**30


def require_room(n_bytes: int, limit: int, what: str) -> None:
    """Refuse an allocation beyond the limit before it is made."""
    if n_bytes > limit:
        raise ResourceError(
            f"{what} would need {show_size(n_bytes)} of memory, more than the limit of "
            f"{show_size(limit)}. Raise memory_limit if the file is yours and this "
            "size is right; otherwise the file is damaged or hostile."
        )


def show_size(n_bytes: int) -> str:
    """Bytes for people: ``1.5 GB``."""
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"


def limit_address_space(n_bytes: int | None) -> None:
    """Cap this process at its present size plus `n_bytes`, where the system can.

    None lifts an earlier cap.
    """
    try:
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (ImportError, OSError):
        return  # the checks before allocation and the time limit still hold
    cap = hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    if n_bytes is not None:
        cap = pages * resource.getpagesize() + n_bytes
        cap = cap if hard == resource.RLIM_INFINITY else min(cap, hard)
    resource.setrlimit(resource.RLIMIT_AS, (cap, hard))


def resident_bytes() -> int:
    """Memory this process holds now."""
    import psutil

    return int(psutil.Process().memory_info().rss)


def n_cores() -> int:
    """Cores this process may use, or fewer if the user says so."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    return max(1, int(asked) if asked.isdigit() else cores or os.cpu_count() or 1)
