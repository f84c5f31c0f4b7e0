"""Known data sets: what to expect of each, and where its file is looked for."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets.store import SUFFIX
from manyview.errors import FileError
from manyview.files.npy_file import file_checksum
from manyview.views.views import Views

ENVIRONMENT = "MANYVIEW_DATA"
_ENDINGS = (SUFFIX, ".npz", ".mat", ".h5mu", ".h5ad", ".h5", ".hdf5", ".zarr")
_FOLDERS = (".", "formats")


@dataclass(frozen=True)
class Known:
    """One entry of ``registry.toml``.

    Attributes
    ----------
    name : str
    rows, classes : int
        `classes` is 0 for a set without labels.
    features : tuple of int
        Features of each view, in the order of the file.
    source : str
        Where it is published, in words.
    preparation, note : str
    order : str or None
        How its rows are ordered, where that is known beyond its labels.
    paper : bool
        One of the six of the S²MVTC paper.
    """

    name: str
    rows: int
    features: tuple[int, ...]
    classes: int
    source: str
    preparation: str
    note: str = ""
    order: str | None = None
    paper: bool = False
    aliases: tuple[str, ...] = ()


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
    for entry in known():
        if _plain(name) in {_plain(n) for n in (entry.name, *entry.aliases)}:
            return entry
    return None


def folders() -> list[Path]:
    """Where data sets are looked for."""
    root = os.environ.get(ENVIRONMENT)
    if not root:
        return []
    return [p for f in _FOLDERS if (p := Path(root).expanduser() / f).is_dir()]


def search(entry: Known) -> Path | None:
    """The file of a data set under ``MANYVIEW_DATA``, if it is there."""
    stems = {_plain(n) for n in (entry.name, *entry.aliases)}
    for folder in folders():
        there = {p.name: p for p in sorted(folder.iterdir())}
        for ending in _ENDINGS:
            for name, path in there.items():
                stem = name[: -len(ending)]
                if name.lower().endswith(ending) and _plain(stem) in stems:
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


def find_anchors(name: str | Path) -> tuple[list[Any], Path] | None:
    """The authors' anchors that lie beside a data set.

    Parameters
    ----------
    name : str or Path
        A known data set or the path of a data file; ``NAME_anchor.mat`` is
        looked for in the same folder (and in ``formats`` below the data folder).

    Returns
    -------
    (anchors, path) or None
        One array (n_anchors, n_features_v) per view.

    Examples
    --------
    >>> from manyview.datasets import find_anchors
    >>> anchors, path = find_anchors("CCV")                      # doctest: +SKIP
    >>> [a.shape for a in anchors]                               # doctest: +SKIP
    [(1000, 20), (1000, 20), (1000, 20)]
    """
    from manyview.datasets.loading import load

    path = Path(name)
    entry = None if path.exists() else find(str(name))
    stem = entry.name if entry else path.name.removesuffix(SUFFIX)
    stem = stem if entry else Path(stem).stem
    places = folders() if entry else [path.parent, path.parent / "formats"]
    for folder in places:
        file = folder / f"{stem}_anchor.mat"
        if file.is_file():
            anchors = load(file, labels=False)
            return [np.asarray(a) for a in anchors.arrays], file
    return None
