"""What every benchmark writes: the machine, a JSON file, a table in the docs."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "performance.md"
PACKAGES = ("numpy", "scipy", "scikit-learn", "array-api-compat", "torch")


def machine() -> dict[str, Any]:
    """Processor, cores, memory, versions and the date."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
    return {
        "processor": _processor(),
        "cores": cores or os.cpu_count(),
        "memory_gib": round(_memory() / 2**30, 1),
        "python": platform.python_version(),
        "versions": versions,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _memory() -> int:
    if not hasattr(os, "sysconf"):
        return 0
    return int(os.sysconf("SC_PAGE_SIZE")) * int(os.sysconf("SC_PHYS_PAGES"))


def peak_memory() -> int:
    """Largest resident size of this process so far, in bytes."""
    status = Path("/proc/self/status")
    if status.is_file():  # getrusage would count what the parent had held
        for line in status.read_text(encoding="ascii").splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def save(path: str | None, content: Mapping[str, Any]) -> None:
    """Write the results as JSON, if a path is given."""
    if path:
        text = json.dumps(content, indent=1, default=float)
        Path(path).write_text(text + "\n", encoding="utf-8")


def describe(found: Mapping[str, Any]) -> str:
    """One line about the machine."""
    versions = ", ".join(f"{n} {v}" for n, v in found["versions"].items())
    return (
        f"{found['processor']}, {found['cores']} cores, {found['memory_gib']} GiB; "
        f"Python {found['python']}, {versions}; {found['date']}."
    )


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Markdown table of records that share their keys."""
    if not rows:
        return "(nothing measured)"
    names = list(rows[0])
    lines = ["| " + " | ".join(names) + " |", "|" + " --- |" * len(names)]
    for row in rows:
        lines.append("| " + " | ".join(_cell(row.get(n)) for n in names) + " |")
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def fill(marker: str, text: str, page: Path = PAGE) -> None:
    """Replace what stands between a marker's two comments in the page."""
    begin, end = f"<!-- {marker} -->", f"<!-- end {marker} -->"
    content = page.read_text(encoding="utf-8")
    before, rest = content.split(begin, 1)
    _, after = rest.split(end, 1)
    page.write_text(f"{before}{begin}\n\n{text}\n\n{end}{after}", encoding="utf-8")
