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
    """

    name: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    full: bool = False
    seconds: float = 0.0
    machine: dict[str, str] = field(default_factory=dict)


@contextmanager
def timed(part: Part) -> Iterator[Part]:
    """Note the date, the machine and how long the part took."""
    start = time.monotonic()
    part.machine = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "python": platform.python_version(),
        **{name: version(name) for name in LIBRARIES},
    }
    yield part
    part.seconds = round(time.monotonic() - start, 1)


def save(part: Part, folder: Path = FOLDER) -> Path:
    """Write the part's file; its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{part.name}.json"
    text = json.dumps(asdict(part), indent=1, ensure_ascii=False)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def load(name: str, folder: Path = FOLDER) -> Part | None:
    """The part as it was last saved, or None."""
    path = folder / f"{name}.json"
    if not path.is_file():
        return None
    return Part(**json.loads(path.read_text(encoding="utf-8")))
