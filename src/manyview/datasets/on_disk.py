"""Views read from disk by rows: whoever gets them opens the paths again.

Converted folders and npy files are mapped. Zarr stores and Parquet (files, or folders
of them) are unpacked by a child process, piece by piece as rows are asked for. Only
files whose row names differ are read as a whole, to bring their rows together.
"""

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from manyview.datasets.data_folder import is_data_folder, open_data_folder, select_parts
from manyview.datasets.formats.by_rows import parquet_files
from manyview.datasets.formats.zarr_store import looks_like_zarr
from manyview.datasets.isolated.rows import Stamp, open_rows, stamp_of
from manyview.datasets.isolated.sandbox import Sandbox
from manyview.datasets.many_files import combine
from manyview.datasets.raw_data import RawData, Request, tell
from manyview.errors import FileError
from manyview.files.npy_file import map_array
from manyview.views.disk_views import DiskViews

# Data sets held open in a process: each takes a few file handles, and the disk that its
# unpacked pieces do.
_MOST_OPEN = 4
# Seconds until a child that has unpacked all that was asked for is stopped: passes over
# large data are further apart than that only where they need none.
_IDLE_LIMIT = 20.0


def open_on_disk(
    *paths: str | os.PathLike[str],
    views: Sequence[str] | None = None,
    labels: str | bool | None = None,
) -> DiskViews:
    """The views of one or more paths as they are now.

    `views` and `labels` choose as in `load`.
    """
    full = [Path(p).expanduser().absolute() for p in paths]
    for path in full:
        if not path.exists():
            raise FileError(
                f"There is no file or folder {path}. Text in place of views is taken "
                "for paths, which every worker must reach. Open known data sets with "
                "manyview.datasets.load; make texts numbers, for instance with "
                "scikit-learn's TfidfVectorizer."
            )
    names = None if views is None else tuple(views)
    stamps = tuple(map(stamp_of, full))
    return _open(tuple(map(str, full)), stamps, names, labels)


@lru_cache(maxsize=_MOST_OPEN)
def _open(
    paths: tuple[str, ...],
    stamps: tuple[Stamp, ...],
    names: tuple[str, ...] | None,
    labels: str | bool | None,
) -> DiskViews:
    """The views of paths as the stamps have them, opened once in each process."""
    # Of several files each brings its own views; those asked for are chosen of all.
    own = names if len(paths) == 1 else None
    request, sandbox = Request.of(own, labels, None), Sandbox(idle_limit=_IDLE_LIMIT)
    pairs = zip(map(Path, paths), stamps, strict=True)
    raw = combine([_read_lazily(p, stamp, request, sandbox) for p, stamp in pairs])
    if own is None and names is not None:
        raw = select_parts(raw, Request(names))
    views = DiskViews(
        raw.views,
        opener=_open,
        given=(paths, stamps, names, labels),
        names=raw.names,
        feature_names=raw.feature_names,
        present=raw.present,
        labels=raw.labels,
    )
    views.origin, views.names_chosen = raw.origin, False
    tell(raw.notes)
    return views


def _read_lazily(
    path: Path, stamp: Stamp, request: Request, sandbox: Sandbox
) -> RawData:
    now = stamp_of(path)
    if _anywhere(now) != _anywhere(stamp):
        raise FileError(
            f"{path} was changed since it was opened. Start again when nothing writes "
            "to it."
        )
    if is_data_folder(path):
        return select_parts(open_data_folder(path, verify=False), request)
    if path.suffix.lower() == ".npy":
        found = RawData([map_array(path)], [path.stem])
        return select_parts(found, Request(request.views))
    files = parquet_files(path)
    if files or looks_like_zarr(path):
        return open_rows(path, now, request, sandbox, files)
    raise FileError(
        f"{path} is neither a folder of 'manyview convert', nor Zarr, Parquet or "
        "npy. Open it with manyview.datasets.load, or convert it first: manyview "
        "convert FILE FOLDER."
    )


def _anywhere(stamp: Stamp) -> list[tuple[str, int, int]]:
    """Without what another machine may call otherwise."""
    return [(name, size, written) for name, _, size, written in stamp]
