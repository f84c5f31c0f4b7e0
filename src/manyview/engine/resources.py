"""Memory and cores this process may use, and sizes in words.

A container often allows less than the machine has; its limits count.
"""

import os
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import joblib
import psutil

from manyview.errors import InputError, ResourceError

_UNITS = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
_UNITS |= {"": 1, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]i?|)b?\s*", re.IGNORECASE)
_MEMBERSHIPS = Path("/proc/self/cgroup")
_CGROUPS = Path("/sys/fs/cgroup")


@cache
def physical_memory() -> int:
    """Bytes of memory of this machine, or fewer if its container allows fewer."""
    limits = [
        int(text)
        for folder in _groups("memory")
        for text in _words(folder / "memory.max", folder / "memory.limit_in_bytes")
        if text.isdigit()  # and not "max"
    ]
    return min([int(psutil.virtual_memory().total), *limits])


@cache
def _allowed_cores() -> int:
    """Cores of this process, or fewer if its container gives it less of their time."""
    allowed = [int(joblib.cpu_count())]
    for folder in _groups("cpu"):
        one, two = folder / "cpu.cfs_quota_us", folder / "cpu.cfs_period_us"
        quota = _words(folder / "cpu.max") or _words(one) + _words(two)
        if len(quota) == 2 and quota[0].isdigit():  # neither "max" nor -1
            allowed.append(-(-int(quota[0]) // max(int(quota[1]), 1)))
    return max(1, min(allowed))


def _groups(controller: str) -> Iterator[Path]:
    """Folders of the control groups (versions 2 and 1) that this process is in."""
    lines = _MEMBERSHIPS.read_text().splitlines() if _MEMBERSHIPS.exists() else []
    for line in lines:
        _, controllers, group = line.split(":", 2)
        if not controllers or controller in controllers.split(","):
            root = _CGROUPS / controllers
            own = root / group.lstrip("/")
            # Within a container the group may be named as its host sees it.
            yield from {root, own, *(p for p in own.parents if root in p.parents)}


def _words(*files: Path) -> list[str]:
    """What the first of the files that is there says."""
    found = (file.read_text().split() for file in files if file.is_file())
    return next(found, [])


def resident_bytes() -> int:
    """Memory this process holds now."""
    return int(psutil.Process().memory_info().rss)


def n_cores() -> int:
    """Cores this process may use, or as many as OMP_NUM_THREADS says."""
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, int(asked) if asked.isdigit() else _allowed_cores())


CORES, MEMORY = n_cores(), physical_memory()  # asked once: no fit changes them


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
        size = float(match[1]) * _UNITS[match[2].lower()]
    if not size >= 1:
        raise InputError(
            f"memory_limit={size!r} leaves no memory. Give a positive size."
        )
    return int(size)


def show_size(n_bytes: int) -> str:
    """Bytes for people: ``1.5 GB``."""
    for unit, size in (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes} bytes"


def require_room(n_bytes: int, limit: int, what: str) -> None:
    """Refuse an allocation beyond the limit before it is made."""
    if n_bytes > limit:
        raise ResourceError(
            f"{what} would need {show_size(n_bytes)} of memory, more than the limit of "
            f"{show_size(limit)}. Raise memory_limit if the file is yours and this "
            "size is right; otherwise the file is damaged or hostile."
        )


def limit_address_space(n_bytes: int | None) -> None:
    """Cap this process at its present size plus `n_bytes`, on Linux; None lifts it.

    Elsewhere the checks before allocation and the time limit still hold.
    """
    if not psutil.LINUX:
        return
    process = psutil.Process()
    cap = hard = process.rlimit(psutil.RLIMIT_AS)[1]
    if n_bytes is not None:
        cap = process.memory_info().vms + n_bytes
        cap = cap if hard == psutil.RLIM_INFINITY else min(cap, hard)
    process.rlimit(psutil.RLIMIT_AS, (cap, hard))
