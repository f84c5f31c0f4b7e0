"""Known data sets: what to expect of each, and where its file is looked for."""

import os
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets.data_folder import SUFFIX
from manyview.datasets.raw_data import NDArray, RawData, n_bytes
from manyview.engine.resources import require_room
from manyview.errors import FileError, did_you_mean, plain_name
from manyview.files.npy_file import file_checksum
from manyview.views.views import Views

ENVIRONMENT = "MANYVIEW_DATA"
_ENDINGS = (SUFFIX, ".npz", ".mat", ".h5mu", ".h5ad", ".h5", ".hdf5", ".zarr")
_FOLDERS = (".", "formats")
# How uint8 is turned back into numbers: 2·√count, rounded, errs below counting noise.
_DECODERS: dict[str, Callable[[NDArray], NDArray]] = {
    "half-root-counts": lambda stored: (stored.astype(np.float32) / 2) ** 2,
}


@dataclass(frozen=True, kw_only=True)
class Known:
    """One entry of ``registry.toml``."""

    name: str
    paper: bool = False  # one of the six of the S²MVTC paper
    rows: int
    features: tuple[int, ...]  # of each view, in the order of the file
    classes: int  # 0 for a set without labels
    order: str | None = None  # of the rows, where known beyond the labels
    source: str  # where it is published, in words
    preparation: str = "features as released"
    note: str = ""
    aliases: tuple[str, ...] = ()
    sha256: dict[str, str] = field(default_factory=dict)  # by the name of the file
    decode: dict[str, Any] = field(default_factory=dict)  # names of views, and how

    @property
    def spellings(self) -> set[str]:
        """Its names without case and punctuation."""
        return {plain_name(name) for name in (self.name, *self.aliases)}


@cache
def known() -> list[Known]:
    """Every entry, the paper's six among the first."""
    text = (files(__package__) / "registry.toml").read_text(encoding="utf-8")
    entries = []
    for name, fields in tomllib.loads(text).items():
        lists = {k: tuple(v) for k, v in fields.items() if isinstance(v, list)}
        entries.append(Known(name=name, **fields | lists))
    return entries


def named(name: str) -> list[Known]:
    """Entries with this name or alias; case and punctuation do not matter."""
    return [e for e in known() if plain_name(name) in e.spellings]


def find(name: str) -> Known | None:
    """The entry with this name or alias; of several the one whose file is there."""
    entries = named(name)
    there = (e for e in entries if len(entries) > 1 and search(e))
    return next(there, entries[0] if entries else None)


def folders() -> list[Path]:
    """Where data sets are looked for."""
    root = os.environ.get(ENVIRONMENT)
    if not root:
        return []
    return [p for f in _FOLDERS if (p := Path(root).expanduser() / f).is_dir()]


def search(entry: Known) -> Path | None:
    """The file of a data set under ``MANYVIEW_DATA``, if it is there."""
    spellings = entry.spellings
    for folder in folders():
        for ending, path in product(_ENDINGS, sorted(folder.iterdir())):
            stem = path.name[: -len(ending)]
            if path.name.lower().endswith(ending) and plain_name(stem) in spellings:
                if _owner(path, stem) == entry:
                    return path
    return None


def _owner(path: Path, stem: str) -> Known:
    """The entry a file is of: its checksum decides where entries share the name."""
    first, *others = named(stem)
    exact = (e for e in others if path.name in e.sha256 and _is_file_of(path, e))
    return next(exact, first)


def _is_file_of(path: Path, *entries: Known) -> bool:
    sums = {checksum for e in entries for checksum in e.sha256.values()}
    return path.is_file() and file_checksum(path) in sums


def locate(entry: Known) -> Path:
    """The file of a data set, or a sentence on where to get it."""
    path = search(entry)
    if path is not None:
        return path
    root, problem = os.environ.get(ENVIRONMENT), no_folder()
    place = f"a folder, set {ENVIRONMENT} to it," if problem else f"the folder {root}"
    raise FileError(
        f"{entry.name} was not found: expected {entry.name}.mat (or .npz, .h5mu, "
        f"{SUFFIX}) with {entry.rows} rows, views of "
        f"{', '.join(map(str, entry.features))} features and {entry.classes} classes. "
        f"It is published in {entry.source}. {problem}Put the file into {place} or "
        "give its path."
    )


def no_folder() -> str:
    """Why there is no folder to look in, as a sentence; nothing where there is."""
    root = os.environ.get(ENVIRONMENT)
    if not root:
        return f"{ENVIRONMENT} is not set. "
    return "" if folders() else f"{ENVIRONMENT} names {root}, which is no folder. "


def none_found() -> str:
    """What to say where not one data set was found."""
    return (
        no_folder() or f"The folder {os.environ[ENVIRONMENT]} has no known data set. "
    )


def unknown(source: str) -> FileError:
    """What to say about a name that is neither a file nor in the registry."""
    path = Path(source).expanduser()
    if path.suffix or len(path.parts) > 1:
        return no_file(path)
    names = [name for e in known() for name in (e.name, *e.aliases)]
    return FileError(
        f"{source!r} is neither an existing file nor a known data set. "
        f"{did_you_mean(source, names)}Check the path; 'manyview datasets' lists the "
        "names it knows."
    )


def no_file(path: Path) -> FileError:
    """What to say about a path that leads nowhere."""
    folder = path.absolute().parent
    if not folder.is_dir():
        return FileError(
            f"There is no file {path}: the folder {folder} does not exist. Check the "
            "path."
        )
    near = did_you_mean(path.name, [p.name for p in folder.iterdir()])
    if named(path.name):
        near = f"The known data set {path.name} is to be given by itself. "
    return FileError(f"There is no file {path.name} in {folder}. {near}Check the path.")


def is_trusted(path: Path) -> bool:
    """Is this exactly a file we have parsed ourselves?"""
    return _is_file_of(path, *known())


def decode(entry: Known, raw: RawData, memory_limit: int) -> RawData:
    """The data set as its entry prepares it; views not in uint8 are so already."""
    views = dict(zip(raw.names, raw.views, strict=True))
    packed = {n for n, v in views.items() if v.dtype == np.uint8}
    packed &= set(entry.decode.get("views", ()))
    if not packed:
        return raw
    restore = _DECODERS[entry.decode["as"]]
    size = sum(n_bytes(v) * (4 if n in packed else 1) for n, v in views.items())
    require_room(size, memory_limit, entry.name)
    decoded = [restore(v) if n in packed else v for n, v in views.items()]
    return replace(raw, views=decoded)


def check(entry: Known, views: Views, path: Path, *, classes: bool = True) -> None:
    """Compare a loaded data set with what the registry says of it.

    Its `classes` only where it was loaded with its own labels.
    """
    found = 0 if views.labels is None else len(np.unique(views.labels))
    seen = (len(views), views.n_features, found if classes else entry.classes)
    if seen != (entry.rows, entry.features, entry.classes):
        raise FileError(
            f"{path} is not {entry.name} as it is known: it has {seen[0]} rows, views "
            f"of {', '.join(map(str, seen[1]))} features and {seen[2]} classes; "
            f"expected are {entry.rows} rows, {', '.join(map(str, entry.features))} "
            f"features and {entry.classes} classes. Give its path instead of the name "
            "to load it as it is."
        )
