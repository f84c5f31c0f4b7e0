"""Damaged files of every format: a sentence or sound data, never a crash or hang."""

from __future__ import annotations

import math
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets.isolated.sandbox import Sandbox
from manyview.errors import ManyviewError

from .formats import FORMATS, Target, make
from .record import Part, timed

SHORTEST = 20  # characters of a sentence
TIME_LIMIT = 20.0  # seconds; sound files of these sizes take milliseconds
GRACE = 20.0  # to stop the child and start another on a busy machine
AT_A_TIME = 100  # files of one format before the next has its turn


def mutate(content: bytes, rng: np.random.Generator) -> bytes:
    """Flip a few bytes; now and then cut the file or repeat a piece of it."""
    data = bytearray(content)
    for _ in range(rng.integers(1, 5)):
        # Structure sits at the front in most formats.
        span = len(data) if rng.random() < 0.5 else min(len(data), 600)
        data[rng.integers(span)] = rng.integers(256)
    if rng.random() < 0.1:
        del data[rng.integers(len(data)) :]
    if rng.random() < 0.1:
        at = rng.integers(len(data) + 1)
        data[at:at] = data[:at][-64:]
    return bytes(data)


class Damage:
    """Damaged files of one format: counts, and every broken promise in words."""

    def __init__(self, name: str, folder: Path, sandbox: Sandbox) -> None:
        self.name = name
        self.target = make(name, folder, sandbox)
        assert self.target.is_sound(self.target.read())
        self.n_files = self.n_refused = self.n_deaths = self.n_stopped = 0
        self.losses: list[str] = []
        self._sandbox = sandbox
        self._rng = np.random.default_rng(sum(map(ord, name)))

    def more(self, n_files: int) -> None:
        """Try so many more files."""
        before = self._sandbox.n_deaths
        for _ in range(n_files):
            self._one()
        self.n_files += n_files
        self.n_deaths += self._sandbox.n_deaths - before

    def _one(self) -> None:
        files = self.target.files
        path = files[self._rng.integers(len(files))]
        original = path.read_bytes()
        path.write_bytes(mutate(original, self._rng) if original else b"?")
        start = time.monotonic()
        said = _try(self.target, self.losses, f"{self.name}, {path.name}")
        if time.monotonic() - start > TIME_LIMIT + GRACE:
            self.losses.append(f"{self.name}, {path.name}: hung beyond the time limit")
        self.n_refused += said is not None
        self.n_stopped += said is not None and "stopped after" in said
        # A new file in its place: rows mapped from the damaged one stay readable.
        path.unlink()
        path.write_bytes(original)

    def row(self) -> dict[str, Any]:
        """A line of the table."""
        return {
            "format": self.name,
            "damaged files": self.n_files,
            "refused": self.n_refused,
            "loaded and sound": self.n_files - self.n_refused - len(self.losses),
            "parser crashes held off": self.n_deaths - self.n_stopped,
            "stopped at the time limit": self.n_stopped,
            "losses": len(self.losses),
        }


def _try(target: Target, losses: list[str], what: str) -> str | None:
    """The sentence of a refusal, None if the file was read."""
    try:
        data = target.read()
    except ManyviewError as error:
        if len(str(error)) < SHORTEST:
            losses.append(f"{what}: no sentence: {error}")
        return str(error)
    except Exception as error:
        losses.append(f"{what}: {type(error).__name__}: {error}")
        return None
    if not target.is_sound(data):
        losses.append(f"{what}: wrong data was read without a word")
    return None


def measure(n_files: int, seconds: float = math.inf) -> Part:
    """`n_files` damaged files of every format, or as many as the time allows."""
    part = Part("fuzz")
    with (
        timed(part),
        tempfile.TemporaryDirectory() as name,
        Sandbox(time_limit=TIME_LIMIT) as sandbox,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        formats = []
        for kind in FORMATS:
            folder = Path(name) / kind
            folder.mkdir()
            formats.append(Damage(kind, folder, sandbox))
        end = time.monotonic() + seconds
        while formats[0].n_files < n_files and time.monotonic() < end:
            for damage in formats:
                damage.more(min(AT_A_TIME, n_files - damage.n_files))
        part.short = formats[0].n_files < n_files
        for damage in formats:
            part.losses += damage.losses
            part.rows.append(damage.row())
    return part
