"""What every benchmark writes: the machine, a JSON file, a table in the docs."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import joblib
import psutil

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
    return {
        "processor": _processor(),
        "cores": joblib.cpu_count(),
        "memory_gib": round(psutil.virtual_memory().total / 2**30, 1),
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
