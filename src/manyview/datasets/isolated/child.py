"""The process that parses files nobody vouches for.

Started by `Sandbox` as ``python -m manyview.datasets.isolated.child``. Takes one
JSON job per line, writes the data into the folder the job names and answers
with one JSON line. It may crash; its parent lives on.
"""

import json
import os
import sys
import time
from contextlib import ExitStack, suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from manyview.datasets.data_folder import write_data_folder
from manyview.datasets.formats.by_rows import open_by_rows, parquet_files
from manyview.datasets.formats.tabular import import_engine
from manyview.datasets.isolated.rows import Stamp, stamp_of
from manyview.datasets.one_file import detect_format, out_of_memory, read_file
from manyview.datasets.raw_data import RawData, Request, clean_name
from manyview.engine.resources import limit_address_space
from manyview.errors import FileError, ManyviewError
from manyview.files.npy_file import native

# Beyond the data itself: one conversion (transpose, CSC to CSR) and buffers.
_WORK_COPIES = 2
_WORK_BYTES = 256 * 2**20
# Files whose pieces are asked for in turn: one per view.
_MOST_OPEN = 64


def main() -> None:
    """Answer jobs until the parent closes the pipe."""
    replies = _take_stdout()
    for line in sys.stdin:
        replies.write(json.dumps(serve(json.loads(line))) + "\n")
        replies.flush()


def _take_stdout() -> TextIO:
    """Keep the real stdout for replies; what libraries print goes to stderr."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return replies


def serve(job: dict[str, Any]) -> dict[str, Any]:
    """Do one job; the reply holds ``error`` and ``message``, None when all is well,
    and the reader's ``notes``."""
    path = Path(job["path"])
    names = None if job["views"] is None else tuple(job["views"])
    request = Request(names, job["labels"], job["memory_limit"])
    failure: ManyviewError
    try:
        _prepare(path, request, job["time_limit"])
        found = _TASKS[job["task"]](job, path, request)
        return {"error": None, "message": None, **found}
    except ManyviewError as error:
        failure = error
    except MemoryError:
        failure = out_of_memory(path, request)
    except Exception as error:  # lazy views meet damaged parts only when copied
        failure = FileError(
            f"{path.name} could not be copied: {type(error).__name__}: "
            f"{clean_name(error).rstrip('.')}. The file is damaged, or the disk is "
            "full."
        )
    return {"error": type(failure).__name__, "message": str(failure)}


def _copy(job: dict[str, Any], path: Path, request: Request) -> dict[str, Any]:
    """Everything a file holds into a folder in our layout."""
    with ExitStack() as stack:
        raw = read_file(path, request, stack)
        if not job["stream"]:
            raw.require_room(request.memory_limit, path.name)
        write_data_folder(raw, Path(job["out"]), checksums=job["stream"])
    return {"notes": raw.notes}


@lru_cache(maxsize=_MOST_OPEN)
def _opened(path: Path, stamp: Stamp, request: Request) -> RawData:
    if stamp_of(path) != stamp:
        raise FileError(
            f"{path} was changed while its rows were in use. Start again when nothing "
            "writes to it."
        )
    return open_by_rows(path, request)


def _open(job: dict[str, Any], path: Path, request: Request) -> dict[str, Any]:
    """What a file holds, but for the rows of its views."""
    raw = _opened(path, _as_stamp(job["stamp"]), request)
    rest = replace(raw, views=[], names=[], feature_names=None)
    write_data_folder(rest, Path(job["out"]), checksums=False)
    features = raw.feature_names or [None] * len(raw.views)
    about = [
        {
            "name": name,
            "shape": [int(n) for n in rows.shape],
            "dtype": native(rows.dtype).str,
            "edges": rows.edges,
            "feature_names": own,
        }
        for name, rows, own in zip(raw.names, raw.views, features, strict=True)
    ]
    return {"notes": raw.notes, "rows": about}


def _unpack(job: dict[str, Any], path: Path, request: Request) -> dict[str, Any]:
    """One piece of one view, row by row."""
    rows = _opened(path, _as_stamp(job["stamp"]), request).views[job["view"]]
    dtype = native(rows.dtype)
    with (Path(job["out"]) / "rows").open("wb") as file:
        for batch in rows.batches(job["number"]):
            file.write(np.ascontiguousarray(batch, dtype=dtype).data)
    return {}


def _as_stamp(parts: list[list[Any]]) -> Stamp:
    return tuple((name, inode, size, time) for name, inode, size, time in parts)


_TASKS = {"copy": _copy, "open": _open, "unpack": _unpack}


def _import_parser(path: Path) -> None:
    if parquet_files(path):
        import_engine()
        return
    kind = detect_format(path)
    if kind in ("csv", "parquet"):
        import_engine()
    if kind == "hdf5":
        import h5py  # noqa: F401
    if path.suffix.lower() in (".h5ad", ".h5mu"):
        with suppress(ImportError):  # the reader says what to install
            import anndata  # noqa: F401


def _prepare(path: Path, request: Request, time_limit: float) -> None:
    """Load the parser first: the limits count from the size we have then."""
    limit_address_space(None)
    _import_parser(path)
    limit_address_space(_WORK_COPIES * request.memory_limit + _WORK_BYTES)
    _limit_processor_time(time_limit)


def _limit_processor_time(seconds: float) -> None:
    """A child that outlives a killed parent must not spin for ever."""
    try:
        import resource
    except ImportError:
        return
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    soft = int(time.process_time() + seconds) + 2
    soft = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


if __name__ == "__main__":
    main()
