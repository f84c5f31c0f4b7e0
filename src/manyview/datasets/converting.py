"""`convert`: write any data set into the on-disk layout, whole or not at all."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from manyview.datasets.data_folder import SUFFIX, is_data_folder, write_data_folder
from manyview.datasets.isolated.sandbox import TIME_LIMIT, Sandbox
from manyview.datasets.loading import load
from manyview.datasets.one_file import detect_format
from manyview.datasets.raw_data import RawData, Request, tell
from manyview.errors import FileError
from manyview.files.atomic import atomic_folder
from manyview.views.views import Views


def convert(
    source: Any,
    out: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    views: str | Sequence[str] | None = None,
    labels: Any = None,
    join: str | None = None,
    memory_limit: int | float | str | None = None,
    time_limit: float = TIME_LIMIT,
) -> Path:
    """Write views to ``OUT.manyview-data``, from which they load memory-mapped.

    HDF5, Zarr, npy and memory-mapped views are copied block by block, so the
    data may be larger than memory.

    Parameters
    ----------
    source : Views, path or name
        What to convert; paths and names as in `load`.
    out : path
        The folder to write; the ending is added when it is missing.
    overwrite : bool
        Replace an existing folder of this kind.
    views, labels, join, memory_limit, time_limit
        As in `load`.

    Returns
    -------
    Path
        The folder.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from manyview import Views
    >>> from manyview.datasets import convert, load
    >>> folder = convert(Views([np.eye(3)]), tempfile.mkdtemp() + "/small")
    >>> load(folder).shape
    (3, 3)
    """
    target = _target(Path(out).expanduser(), overwrite)
    if _streams(source, labels):
        request = Request.of(views, labels, memory_limit)
        with atomic_folder(target) as folder, Sandbox(time_limit) as sandbox:
            notes = sandbox.write(Path(source).expanduser(), request, folder)
        tell(notes)
        return target
    if not isinstance(source, Views):
        source = load(
            source,
            views=views,
            labels=labels,
            join=join,
            memory_limit=memory_limit,
            time_limit=time_limit,
        )
    return write_whole(RawData.of_views(source), target, overwrite=overwrite)


def write_whole(
    raw: RawData, out: str | os.PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write parts, lazy or not, to a data folder; the folder's path."""
    target = _target(Path(out).expanduser(), overwrite)
    with atomic_folder(target) as folder:
        write_data_folder(raw, folder)
    return target


def _streams(source: Any, labels: Any) -> bool:
    """Is the source one file that the child can copy block by block?"""
    named = labels is None or isinstance(labels, (str, bool))
    if not named or not isinstance(source, (str, os.PathLike)):
        return False
    path = Path(source).expanduser()
    try:
        return path.exists() and detect_format(path) in ("hdf5", "zarr")
    except FileError:
        return False  # a plain folder of files, or a file that load will explain


def _target(out: Path, overwrite: bool) -> Path:
    target = out if out.name.endswith(SUFFIX) else out.with_name(out.name + SUFFIX)
    if target.exists() and not (overwrite and is_data_folder(target)):
        ours = is_data_folder(target)
        hint = "Pass overwrite=True (--overwrite)" if ours else "Remove it"
        raise FileError(f"{target} exists already. {hint} or choose another name.")
    if not target.parent.is_dir():
        raise FileError(f"There is no folder {target.parent} to write into. Make it.")
    return target
