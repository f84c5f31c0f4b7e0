"""Checkpoints: what a fit has found so far, on disk, whole or not at all.

::

    fit.json              method, settings and data the checkpoint belongs to
    choice-0.zip          what n_clusters="auto" has found
    setup-0.zip           anchors, factors, graph
    rounds-3.zip          after three rounds; written after its rows:
    rounds-3.B_bar.npy    one row per sample
    kmeans-5.zip          centres after five steps

Every file is written under another name and renamed, and an older one removed
only then: a fit that is stopped at any moment resumes at its last finished
round; the rest of a block's state follows from the views and `setup`. The zips
are containers of JSON and arrays, as model files are.
"""

import hashlib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from manyview.arrays.ops import to_host
from manyview.engine.contract import Engine, NoCheckpoint
from manyview.errors import FileError, InputError, InputTypeError
from manyview.files.atomic import atomic_file, is_unfinished, write_text
from manyview.files.codec import Encoder, decode
from manyview.files.container import read_container, write_container
from manyview.files.failures import FilesTold
from manyview.files.json_value import json_value
from manyview.files.npy_file import map_array, write_array
from manyview.files.schema import PLACE
from manyview.stages.sampling import Draw

FIT = "fit.json"
START_AGAIN = "Remove it to start again from the step before."
VERSION = 4  # of what the files hold; a fit refuses to go on from another


class Checkpoint(NoCheckpoint):
    """A folder of named values, each with the number of steps behind it.

    The model's class, its parameters and what was `given` to ``fit`` besides must be
    those the folder was made with.
    """

    def __init__(self, path: str | os.PathLike[str], model: Any, **given: Any) -> None:
        self.folder = _make_folder(path)
        params = model.get_params(deep=False)
        kept = {k: json_value(v, _digest) for k, v in params.items() if k not in PLACE}
        digests = {k: None if v is None else _digest(v) for k, v in given.items()}
        self._check({"method": type(model).__name__, **kept, **digests})

    def check_data(self, drawn: Draw, engine: Engine) -> None:
        """Refuse to go on with other data than the checkpoint's."""
        moments = [(m.n_rows, m.mean, m.std) for m in drawn.moments]
        digest = hashlib.sha256(engine.caller_rows(drawn.rows).tobytes())
        for x in drawn.block.views:
            host = x.toarray() if hasattr(x, "toarray") else to_host(x)
            digest.update(np.ascontiguousarray(host).tobytes())
        known = self.keep("data", (digest.hexdigest(), moments))
        if known[0] != digest.hexdigest() or not _are_close(known[1], moments):
            raise InputError(
                f"The checkpoint {self.folder} was made with other data: the rows or "
                "their order differ. Give the same data, or another checkpoint path."
            )

    def load(self, name: str) -> Any:
        """The latest value of this name, or None."""
        found = self._find(name)
        if not found:
            return None
        path = self.folder / f"{name}-{max(found)}.zip"
        with FilesTold(f"The checkpoint {path} is damaged", START_AGAIN, FileError):
            content, arrays = read_container(path, "checkpoint")
            return decode(content.get("value"), arrays)

    def put_rows(self, name: str, engine: Engine) -> None:
        """Give the engine's blocks the state fields of the latest value."""
        start = f"{name}-{max(self._find(name), default=0)}."
        for file in sorted(self.folder.glob(f"{start}*.npy")):
            field = file.name.removeprefix(start).removesuffix(".npy")
            path = file.with_name(f"{start}zip")
            with FilesTold(f"The checkpoint {path} is damaged", START_AGAIN, FileError):
                rows = map_array(file)
            engine.put(field, rows)

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
        """Keep a value and fields of the engine's rows; then drop the one before."""
        stem = f"{name}-{number}"
        if engine is not None:
            for field in fields:
                with atomic_file(self.folder / f"{stem}.{field}.npy") as part:
                    write_array(part, engine.read(field))
        encoder = Encoder()
        content = {"value": encoder.encode(value, name)}
        path = self.folder / f"{stem}.zip"
        write_container(path, "checkpoint", content, encoder.arrays)
        for old in (p for p, n in self._files(name) if n != number):
            old.unlink()

    def _find(self, name: str) -> list[int]:
        """Numbers of the complete values of this name."""
        return [n for path, n in self._files(name) if path.name == f"{name}-{n}.zip"]

    def _files(self, name: str) -> list[tuple[Path, int]]:
        """All files of this name, rows without a value among them, with numbers."""
        pattern = re.compile(re.escape(name) + r"-([0-9]+)\..+")
        matches = ((p, pattern.fullmatch(p.name)) for p in self.folder.iterdir())
        return [(p, int(m[1])) for p, m in matches if m]

    def _check(self, mine: dict[str, Any]) -> None:
        """The same method and settings as the checkpoint's, or a refusal."""
        path = self.folder / FIT
        mine = {"version": VERSION, **mine}
        if not path.exists():
            write_text(path, json.dumps(mine, indent=1))
            return
        advice, kinds = "Remove the folder to start anew.", (ValueError, TypeError)
        with FilesTold(f"The checkpoint {path} is damaged", advice, *kinds):
            known = dict(json.loads(path.read_text()))
        for name in sorted({*known, *mine}):
            if known.get(name) != mine.get(name):
                raise InputError(
                    f"The checkpoint {self.folder} was made with {name}="
                    f"{known.get(name)!r}, this fit has {mine.get(name)!r}. Use the "
                    "same setting, or another checkpoint path."
                )


def _make_folder(path: str | os.PathLike[str]) -> Path:
    """The checkpoint's folder, made where it is missing and refused if it is not."""
    try:
        folder = Path(path).expanduser()
    except TypeError as error:
        raise InputTypeError(
            f"checkpoint={path!r} is no path. Give the name of a folder, or None."
        ) from error
    failure = f"checkpoint={str(folder)!r} is no folder that can be made"
    with FilesTold(failure, "Choose another path."):
        folder.mkdir(parents=True, exist_ok=True)
    known = folder / FIT
    # A fit that was killed before its first save may have left that one unfinished.
    others = (p for p in folder.iterdir() if not is_unfinished(p, known))
    if not known.exists() and any(others):
        raise FileError(
            f"{folder} holds other files and is no checkpoint. Give a new path."
        )
    return folder


def _digest(values: Any) -> str:
    """Shape and content of an array in a few letters."""
    array = np.asarray(values)
    content = array.astype(str) if array.dtype == object else array
    found = hashlib.sha256(np.ascontiguousarray(content).tobytes())
    return f"{array.shape} {found.hexdigest()[:16]}"


def _are_close(known: Any, moments: Any) -> bool:
    """The same column moments, up to the rounding of sums in another order."""
    return len(known) == len(moments) and all(
        np.shape(a) == np.shape(b) and np.allclose(a, b, rtol=1e-6, atol=1e-12)
        for one, other in zip(known, moments, strict=True)
        for a, b in zip(one, other, strict=True)
    )
