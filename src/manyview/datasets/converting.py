"""`convert`: write any data set into the on-disk layout, whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..errors import FileError
from ..views import Views
from .formats import sniff
from .limits import parse_size
from .loading import load
from .raw import RawData, Request
from .sandbox import TIME_LIMIT, Sandbox
from .store import SUFFIX, is_store, write_store


def convert(
    source: Any,
    out: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    views: str | Sequence[str] | None = None,
    labels: Any = None,
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
    views, labels, memory_limit, time_limit
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
    if not isinstance(source, Views) and _streams(source, labels):
        names = (views,) if isinstance(views, str) else views
        request = Request(
            None if names is None else tuple(names), labels, parse_size(memory_limit)
        )
        with _whole_or_nothing(target) as folder, Sandbox(time_limit) as sandbox:
            sandbox.write(Path(source).expanduser(), request, folder)
        return target
    if not isinstance(source, Views):
        source = load(
            source,
            views=views,
            labels=labels,
            memory_limit=memory_limit,
            time_limit=time_limit,
        )
    return write_whole(RawData.of_views(source), target, overwrite=overwrite)


def write_whole(
    raw: RawData, out: str | os.PathLike[str], *, overwrite: bool = False
) -> Path:
    """Write parts, lazy or not, to a data folder; the folder's path."""
    target = _target(Path(out).expanduser(), overwrite)
    with _whole_or_nothing(target) as folder:
        write_store(raw, folder)
    return target


def _streams(source: Any, labels: Any) -> bool:
    """Is the source one file that the child can copy block by block?"""
    named = labels is None or isinstance(labels, (str, bool))
    if not named or not isinstance(source, (str, os.PathLike)):
        return False
    path = Path(source).expanduser()
    try:
        return path.exists() and sniff(path) in ("hdf5", "zarr")
    except FileError:
        return False  # a plain folder of files, or a file that load will explain


def _target(out: Path, overwrite: bool) -> Path:
    target = out if out.name.endswith(SUFFIX) else out.with_name(out.name + SUFFIX)
    if target.exists() and not (overwrite and is_store(target)):
        hint = "Pass overwrite=True (--overwrite)" if is_store(target) else "Remove it"
        raise FileError(f"{target} exists already. {hint} or choose another name.")
    if not target.parent.is_dir():
        raise FileError(f"There is no folder {target.parent} to write into. Make it.")
    return target


@contextmanager
def _whole_or_nothing(target: Path) -> Iterator[Path]:
    """A temporary neighbour that takes the target's name when the block succeeds."""
    _sweep(target)
    folder = target.with_name(f".{target.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        folder.mkdir()
        yield folder
        for file in folder.iterdir():
            _flush(file)
        _put_in_place(folder, target)
    except OSError as error:
        if isinstance(error, FileError):
            raise
        raise FileError(
            f"{target} was not written: {error.strerror or error}. Choose a folder "
            "with enough room that you may write to."
        ) from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _put_in_place(folder: Path, target: Path) -> None:
    if not target.exists():
        folder.rename(target)
        return
    # The old folder waits inside a neighbour, from where `_sweep` brings it back
    # should we be killed between the two renames.
    aside = folder.with_name(folder.name + ".old")
    aside.mkdir()
    target.rename(aside / target.name)
    folder.rename(target)
    shutil.rmtree(aside, ignore_errors=True)


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _sweep(target: Path) -> None:
    """Clear what killed processes left of earlier attempts at this target."""
    pattern = re.compile(re.escape(f".{target.name}.") + r"([0-9]+)\..*")
    for leftover in target.parent.glob(".*"):
        match = pattern.fullmatch(leftover.name)
        if match is None or _is_alive(int(match[1])):
            continue
        old = leftover / target.name
        if old.exists() and not target.exists():
            old.rename(target)
        shutil.rmtree(leftover, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    if os.name == "nt":  # signal 0 means Ctrl-C there
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
