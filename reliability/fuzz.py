"""Damaged files of every format: a sentence or sound data, never a crash or hang."""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets.sandbox import Sandbox
from manyview.errors import ManyviewError

from .formats import FORMATS, Target, make
from .record import Part, timed

SHORTEST = 20  # characters of a sentence
TIME_LIMIT = 60.0


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


def damage(name: str, folder: Path, sandbox: Sandbox, n_files: int) -> dict[str, Any]:
    """Try damaged files of one format; counts, and every broken promise in words."""
    target = make(name, folder, sandbox)
    assert target.is_sound(target.read())
    rng = np.random.default_rng(sum(map(ord, name)))
    n_deaths, n_refused = sandbox.n_deaths, 0
    losses: list[str] = []
    for _ in range(n_files):
        path = target.files[rng.integers(len(target.files))]
        original = path.read_bytes()
        changed = mutate(original, rng) if original else b"?"
        path.write_bytes(changed)
        said = _try(target, losses, f"{name}, {path.name}")
        n_refused += said is not None
        # A new file in its place: rows mapped from the damaged one stay readable.
        path.unlink()
        path.write_bytes(original)
    return {
        "format": name,
        "damaged files": n_files,
        "refused": n_refused,
        "loaded and sound": n_files - n_refused - len(losses),
        "parser crashes held off": sandbox.n_deaths - n_deaths,
        "losses": losses,
    }


def _try(target: Target, losses: list[str], what: str) -> str | None:
    """The sentence of a refusal, None if the file was read."""
    try:
        data = target.read()
    except ManyviewError as error:
        if len(str(error)) < SHORTEST:
            losses.append(f"{what}: no sentence: {error}")
        if "stopped after" in str(error):
            losses.append(f"{what}: the parser hung")
        return str(error)
    except Exception as error:
        losses.append(f"{what}: {type(error).__name__}: {error}")
        return None
    if not target.is_sound(data):
        losses.append(f"{what}: wrong data was read without a word")
    return None


def measure(n_files: int) -> Part:
    """`n_files` damaged files of every format."""
    part = Part("fuzz")
    with (
        timed(part),
        tempfile.TemporaryDirectory() as name,
        Sandbox(time_limit=TIME_LIMIT) as sandbox,
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        for kind in FORMATS:
            folder = Path(name) / kind
            folder.mkdir()
            row = damage(kind, folder, sandbox, n_files)
            part.losses += row["losses"]
            part.rows.append(row | {"losses": len(row["losses"])})
    return part
