"""What every part writes: one JSON file of figures, and what was lost."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
FOLDER = Path(__file__).parent / "results"
LIBRARIES = ("numpy", "scipy", "scikit-learn", "h5py")


@dataclass
class Part:
    """The outcome of one part.

    Attributes
    ----------
    name : str
    rows : list of dict
        One line of the part's table each, with the same keys.
    losses : list of str
        Every broken promise in words; empty when all were kept.
    notes : list of str
        What a reader of the figures should know: parts left out and why.
    full : bool
        Were these the full counts?
    short : bool
        Did the time run out before the counts that were asked for?
    """

    name: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    full: bool = False
    short: bool = False
    seconds: float = 0.0
    machine: dict[str, str] = field(default_factory=dict)


@contextmanager
def timed(part: Part) -> Iterator[Part]:
    """Note the date, the machine and how long the part took."""
    start = time.monotonic()
    part.machine = {
        "date": time.strftime("%Y-%m-%d %H:%M", time.gmtime()),
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
    }
    yield part
    part.seconds = round(time.monotonic() - start, 1)


def save(part: Part, folder: Path = FOLDER) -> Path:
    """Write the part's file; its path.

    Runs with full counts have a file of their own: no quick run takes their place.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = _path(part.name, part.full, folder)
    text = json.dumps(asdict(part), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def load(name: str, folder: Path = FOLDER) -> list[Part]:
    """The part's last run with full and with scaled counts, the newest first."""
    paths = [_path(name, full, folder) for full in (True, False)]
    texts = [path.read_text(encoding="utf-8") for path in paths if path.is_file()]
    parts = [Part(**json.loads(text)) for text in texts]
    return sorted(parts, key=lambda part: part.machine["date"], reverse=True)


def _path(name: str, full: bool, folder: Path) -> Path:
    return folder / f"{name}{'.full' if full else ''}.json"
