"""Known data sets: what to expect of each, and where its file is looked for."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path

import numpy as np

from manyview.datasets.data_folder import SUFFIX
from manyview.errors import FileError
from manyview.files.npy_file import file_checksum
from manyview.views.views import Views

ENVIRONMENT = "MANYVIEW_DATA"
_ENDINGS = (SUFFIX, ".npz", ".mat", ".h5mu", ".h5ad", ".h5", ".hdf5", ".zarr")
_FOLDERS = (".", "formats")


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
    preparation: str
    note: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def spellings(self) -> set[str]:
        """Its names without case and punctuation."""
        return {_plain(name) for name in (self.name, *self.aliases)}


@cache
def _content() -> tuple[dict[str, Known], frozenset[str]]:
    """All entries by name, and the checksums of all files we vouch for."""
    text = (files(__package__) / "registry.toml").read_text(encoding="utf-8")
    entries: dict[str, Known] = {}
    checksums: set[str] = set()
    for name, fields in tomllib.loads(text).items():
        checksums |= set(fields.pop("sha256", {}).values())
        fields["features"] = tuple(fields["features"])
        fields["aliases"] = tuple(fields.get("aliases", ()))
        entries[name] = Known(name=name, **fields)
    return entries, frozenset(checksums)


def known() -> list[Known]:
    """Every entry, the paper's six first."""
    return list(_content()[0].values())


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())


def find(name: str) -> Known | None:
    """The entry with this name or alias; case and punctuation do not matter."""
    return next((e for e in known() if _plain(name) in e.spellings), None)


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
            if path.name.lower().endswith(ending) and _plain(stem) in spellings:
                return path
    return None


def locate(entry: Known) -> Path:
    """The file of a data set, or a sentence on where to get it."""
    path = search(entry)
    if path is not None:
        return path
    root = os.environ.get(ENVIRONMENT)
    place = f"the folder {root}" if root else f"a folder, set {ENVIRONMENT} to it,"
    raise FileError(
        f"{entry.name} was not found: expected {entry.name}.mat (or .npz, .h5mu, "
        f"{SUFFIX}) with {entry.rows} rows, views of "
        f"{', '.join(map(str, entry.features))} features and {entry.classes} classes. "
        f"It is published in {entry.source}. Put the file into {place} or give its "
        "path."
    )


def unknown(source: str) -> FileError:
    """What to say about a name that is neither a file nor in the registry."""
    return FileError(
        f"{source!r} is neither an existing file nor a known data set. Check the "
        f"path, or use one of: {', '.join(e.name for e in known())}."
    )


def is_trusted(path: Path) -> bool:
    """Is this exactly a file we have parsed ourselves?"""
    return path.is_file() and file_checksum(path) in _content()[1]


def check(entry: Known, views: Views, path: Path) -> None:
    """Compare a loaded data set with what the registry says of it."""
    classes = 0 if views.labels is None else len(np.unique(views.labels))
    seen = (len(views), views.n_features, classes)
    if seen != (entry.rows, entry.features, entry.classes):
        raise FileError(
            f"{path} is not {entry.name} as it is known: it has {seen[0]} rows, views "
            f"of {', '.join(map(str, seen[1]))} features and {seen[2]} classes; "
            f"expected are {entry.rows} rows, {', '.join(map(str, entry.features))} "
            f"features and {entry.classes} classes. Give its path instead of the name "
            "to load it as it is."
        )
