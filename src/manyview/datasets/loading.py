"""`load`: from a path, several paths or the name of a known data set to `Views`."""

import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets import registry
from manyview.datasets.data_folder import (
    SUFFIX,
    is_data_folder,
    open_data_folder,
    select_parts,
)
from manyview.datasets.formats.zarr_store import looks_like_zarr
from manyview.datasets.isolated.sandbox import TIME_LIMIT, Sandbox
from manyview.datasets.many_files import combine, files_in
from manyview.datasets.one_file import IN_PROCESS, detect_format, read_file
from manyview.datasets.raw_data import RawData, Request, in_memory, name_list, tell
from manyview.errors import FileError, InputTypeError
from manyview.files.failures import FilesTold
from manyview.views.arguments import check_path
from manyview.views.views import Views

Source = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]


def load(
    source: Source,
    *,
    views: str | Sequence[str] | None = None,
    labels: Any = None,
    join: str | None = None,
    memory_limit: int | float | str | None = None,
    time_limit: float = TIME_LIMIT,
    verify: bool | None = None,
) -> Views:
    """Read a data set from files, or a known one by name.

    Files that the registry does not vouch for are parsed in a limited child process.

    Parameters
    ----------
    source : path, list of paths, or name
        A MATLAB, npz, npy, CSV, Parquet, HDF5, Zarr, h5ad or h5mu file, a folder
        written by `convert`, a folder or list of one file per view, or the name of a
        known data set, looked up under ``MANYVIEW_DATA``.
    views : str or list of str, optional
        Variables, modalities, layers or embeddings to use, where that is not clear.
    labels : str, array (n_samples,) or False, optional
        Variable or column that holds the classes, the classes themselves, or False
        for none. Default: the file or variable with a usual name, never a column.
    join : {"inner", "outer"}, optional
        Of files that name different rows keep those that all have, or all rows, with
        missing views. Default: refuse them.
    memory_limit : int or str, optional
        Most bytes the data may take, such as ``"2GB"``; default half of all memory.
    time_limit : float
        Most seconds one file may take.
    verify : bool, optional
        Compare the checksums of a converted folder; default only when small.

    Returns
    -------
    Views, with ``labels`` when the source has them

    Examples
    --------
    >>> from manyview.datasets import load
    >>> data = load("CCV")                                      # doctest: +SKIP
    >>> data.n_features, len(set(data.labels))                  # doctest: +SKIP
    ((20, 20, 20), 20)
    """
    paths, known = _locate(source)
    given = None if labels is None or isinstance(labels, (str, bool)) else labels
    request = Request.of(views, labels if given is None else False, memory_limit)
    raw = _read_all(paths, request, join, time_limit, verify)
    tell(raw.notes)
    if known is not None:
        raw = registry.decode(known, raw, request.memory_limit)
    if given is not None:
        raw = replace(raw, labels=np.asarray(given))
    result = raw.to_views()
    result.origin = raw.origin or (known.name if known else paths[0].name)
    if known is not None and views is None:
        registry.check(known, result, paths[0], classes=labels is None)
    return result


def _read_all(
    paths: list[Path],
    request: Request,
    join: str | None,
    time_limit: float,
    verify: bool | None,
) -> RawData:
    """The files' views over the same rows, with the labels that were asked for."""
    with Sandbox(time_limit) as sandbox:
        parts = [_read_one(p, request, sandbox, verify) for p in paths]
    if request.labels is False:  # files of labels alone are left out
        parts = [part for part in parts if part.views]
    raw = combine(parts, join)
    if not isinstance(request.labels, str) or raw.labels is not None:
        return raw
    columns = [c for names in raw.feature_names or () for c in names or ()]
    found = f" The columns are {name_list(columns)}." if columns else ""
    raise FileError(
        f"No labels named {request.labels!r} were found: it is neither a label file "
        f"nor part of the data.{found} Name another with labels= (--labels), or leave "
        "it away."
    )


def _locate(source: Source) -> tuple[list[Path], registry.Known | None]:
    """Existing paths of a source, and its registry entry when it was named."""
    if not isinstance(source, (str, os.PathLike, list, tuple)):
        raise InputTypeError(
            f"Only files are loaded; got {type(source).__name__}. Give a path, a list "
            "of paths or a known name; arrays go to fit or Views as they are."
        )
    if not isinstance(source, (str, os.PathLike)):
        paths = [check_path(p, "Every file to load") for p in source]
        if not paths:
            raise FileError("No file was given. Name at least one.")
        missing = [p for p in paths if not p.exists()]
        if missing:
            raise registry.no_file(missing[0])
        return paths, None
    path = Path(source).expanduser()
    if path.exists():
        plain = path.is_dir() and not (is_data_folder(path) or looks_like_zarr(path))
        return (files_in(path) if plain else []) or [path], None
    if isinstance(source, str) and (known := registry.find(source)):
        return [registry.locate(known)], known
    raise registry.unknown(str(source))


def _read_one(
    path: Path, request: Request, sandbox: Sandbox, verify: bool | None
) -> RawData:
    """In this process where that is safe, else in the child."""
    with FilesTold(f"{path} could not be read", "Give a file you may read."):
        kind = detect_format(path)
        if kind == "folder":
            return select_parts(open_data_folder(path, verify=verify), request)
        if kind not in IN_PROCESS and not registry.is_trusted(path):
            return sandbox.read(path, request)
        with ExitStack() as stack:
            raw = read_file(path, request, stack)
            if kind in IN_PROCESS:
                return raw
            raw.require_room(request.memory_limit, path.name)
            return replace(raw, views=[in_memory(v) for v in raw.views])


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
    path = Path(name)
    entry = None if path.exists() else registry.find(str(name))
    stem = entry.name if entry else Path(path.name.removesuffix(SUFFIX)).stem
    places = registry.folders() if entry else [path.parent, path.parent / "formats"]
    for folder in places:
        file = folder / f"{stem}_anchor.mat"
        if file.is_file():
            return [np.asarray(a) for a in load(file, labels=False).arrays], file
    return None
