"""Checkpoints: what a fit has found so far, on disk, whole or not at all.

::

    fit.json              method, settings and data the checkpoint belongs to
    setup-0.npz           anchors, factors, graph
    rounds-3.npz          after three rounds; written after its rows:
    rounds-3.B_bar.npy    one row per sample
    kmeans-5.npz          centres after five steps

Every file is written under another name and renamed, and an older one removed
only then: a fit that is stopped at any moment resumes at its last finished
round. By the replay rule the rest of a block's state follows from the views and
`setup`. Files hold JSON and plain arrays, never pickles.
"""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manyview.arrays.ops import to_host
from manyview.engine.contract import Engine
from manyview.errors import FileError, InputError, InputTypeError
from manyview.files.atomic import atomic_file, is_unfinished
from manyview.files.codec import Encoder, decode
from manyview.stages.sampling import Draw

FIT = "fit.json"
VERSION = 1
ROWS_AT_ONCE = 2**18
# What changes where or how a fit runs, but not what it finds.
PLACE = ("block_rows", "checkpoint", "device", "engine", "memory_limit", "verbose")


class Checkpoint:
    """A folder of named values, each with the number of steps behind it.

    Parameters
    ----------
    path : path or None
        The folder, made if it is missing; None keeps nothing.
    model : estimator
        Its class and parameters must be those the checkpoint was made with.
    **given : arrays or None
        What else was given to ``fit``.
    """

    def __init__(self, path: Any, model: Any, **given: Any) -> None:
        self.folder = None if path is None else _as_path(path).expanduser()
        if self.folder is not None:
            _make_folder(self.folder)
            self._check({**_settings(model), **_digests(given)})

    def check_data(self, drawn: Draw) -> None:
        """Refuse to go on with other data than the checkpoint's."""
        if self.folder is None:
            return
        seen = [(m.n_rows, m.mean, m.std) for m in drawn.moments]
        digest = hashlib.sha256(np.asarray(drawn.rows).tobytes())
        for x in drawn.block.views:
            rows = x.toarray() if hasattr(x, "toarray") else to_host(x)
            digest.update(np.ascontiguousarray(rows).tobytes())
        known = self.load("data")
        if known is None:
            self.save("data", (digest.hexdigest(), seen))
        elif known[0] != digest.hexdigest() or not _close(known[1], seen):
            raise InputError(
                f"The checkpoint {self.folder} was made with other data: the rows or "
                "their order differ. Give the same data, or another checkpoint path."
            )

    def load(self, name: str) -> Any:
        """The latest value of this name, or None."""
        found = self._find(name)
        if self.folder is None or not found:
            return None
        path = self.folder / f"{name}-{max(found)}.npz"
        try:
            with np.load(path, allow_pickle=False) as stored:
                arrays = [stored[f"a{i}"] for i in range(len(stored.files) - 1)]
                return decode(json.loads(bytes(stored["value"])), arrays)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise FileError(
                f"{path} is damaged: {error}. Remove it to start again from the step "
                "before."
            ) from error

    def put_rows(self, name: str, engine: Engine) -> None:
        """Give the engine's blocks the state fields of the latest value."""
        if self.folder is None:
            return
        start = f"{name}-{max(self._find(name), default=0)}."
        for file in sorted(self.folder.glob(f"{start}*.npy")):
            field = file.name.removeprefix(start).removesuffix(".npy")
            engine.put(field, np.load(file, mmap_mode="r", allow_pickle=False))

    def keep(self, name: str, value: Any) -> Any:
        """The value kept under this name; the given one is kept if there is none."""
        known = self.load(name)
        if known is None:
            self.save(name, value)
        return value if known is None else known

    def save(
        self,
        name: str,
        value: Any,
        *,
        number: int = 0,
        engine: Engine | None = None,
        fields: Sequence[str] = (),
    ) -> None:
        """Keep a value, and state fields of the engine's blocks with it.

        It takes the place of the one before only when it is complete.
        """
        if self.folder is None:
            return
        stem = f"{name}-{number}"
        if engine is not None:
            for field in fields:
                _write_rows(self.folder / f"{stem}.{field}.npy", engine.read(field))
        encoder = Encoder()
        text = json.dumps(encoder.encode(value, name)).encode()
        parts: dict[str, Any] = {f"a{i}": a for i, a in enumerate(encoder.arrays)}
        target = self.folder / f"{stem}.npz"
        with atomic_file(target) as temporary, temporary.open("wb") as file:
            np.savez(file, value=np.frombuffer(text, np.uint8), **parts)
        for path, old in self._files(name):
            if old != number:
                path.unlink()

    def _find(self, name: str) -> list[int]:
        """Numbers of the complete values of this name."""
        return [n for path, n in self._files(name) if path.name == f"{name}-{n}.npz"]

    def _files(self, name: str) -> list[tuple[Path, int]]:
        """All files of this name, rows without a value among them, with numbers."""
        if self.folder is None:
            return []
        pattern = re.compile(re.escape(name) + r"-([0-9]+)\..+")
        matches = ((p, pattern.fullmatch(p.name)) for p in self.folder.iterdir())
        return [(p, int(m[1])) for p, m in matches if m]

    def _check(self, mine: dict[str, Any]) -> None:
        """The same method and settings as the checkpoint's, or a refusal."""
        assert self.folder is not None
        path = self.folder / FIT
        mine = json.loads(json.dumps({"version": VERSION, **mine}))
        if not path.exists():
            with atomic_file(path) as temporary:
                temporary.write_text(json.dumps(mine, indent=1))
            return
        try:
            known = dict(json.loads(path.read_text()))
        except (OSError, ValueError, TypeError) as error:
            raise FileError(
                f"{path} is damaged: {error}. Remove the folder to start anew."
            ) from error
        for name in sorted({*known, *mine}):
            if known.get(name) != mine.get(name):
                raise InputError(
                    f"The checkpoint {self.folder} was made with {name}="
                    f"{known.get(name)!r}, this fit has {mine.get(name)!r}. Use the "
                    "same setting, or another checkpoint path."
                )


NO_CHECKPOINT = Checkpoint(None, None)


def _write_rows(path: Path, array: Any) -> None:
    """An array of any kind as a npy file, some rows at a time."""
    with atomic_file(path) as temporary:
        kind = np.dtype(str(array.dtype).removeprefix("torch."))
        shape = tuple(map(int, array.shape))
        header = {"descr": kind.str, "fortran_order": False, "shape": shape}
        # Written, not mapped: a full disk is then an error instead of a bus error.
        with temporary.open("wb") as file:
            np.lib.format.write_array_header_2_0(file, header)
            for start in range(0, shape[0], ROWS_AT_ONCE):
                rows = to_host(array[start : start + ROWS_AT_ONCE])
                file.write(np.ascontiguousarray(rows, dtype=kind).data)


def _as_path(path: Any) -> Path:
    try:
        return Path(path)
    except TypeError as error:
        raise InputTypeError(
            f"checkpoint={path!r} is no path. Give the name of a folder, or None."
        ) from error


def _make_folder(folder: Path) -> None:
    known = folder / FIT
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"checkpoint={str(folder)!r} is no folder that can be made: "
            f"{error.strerror or error}. Choose another path."
        ) from error
    # A fit that was killed before its first save may have left that one unfinished.
    others = (p for p in folder.iterdir() if not is_unfinished(p, known))
    if not known.exists() and any(others):
        raise FileError(
            f"{folder} holds other files and is no checkpoint. Give a new path."
        )


def _settings(model: Any) -> dict[str, Any]:
    """Class and parameters, as far as they bear on what is found."""
    params = model.get_params(deep=False)
    kept = {k: _plain(v) for k, v in params.items() if k not in PLACE}
    return {"method": type(model).__name__, **kept}


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (np.random.Generator, np.random.RandomState)):
        return "a generator"
    if isinstance(value, (type, np.dtype)):
        return str(np.dtype(value))
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return _digest(value) if hasattr(value, "__array__") else str(value)


def _digests(given: Mapping[str, Any]) -> dict[str, Any]:
    return {k: None if v is None else _digest(v) for k, v in given.items()}


def _digest(values: Any) -> str:
    array = np.ascontiguousarray(values)
    content = array.astype(str) if array.dtype == object else array
    return f"{array.shape} {hashlib.sha256(content.tobytes()).hexdigest()[:16]}"


def _close(known: Any, seen: Any) -> bool:
    """The same column moments, up to the rounding of sums in another order."""
    pairs = zip(known, seen, strict=False)
    return len(known) == len(seen) and all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-6, atol=1e-12)
        for one, other in pairs
        for a, b in zip(one, other, strict=True)
    )
