"""The process that parses files nobody vouches for.

Started by `sandbox.Sandbox` as ``python -m manyview.datasets.isolated.child``. Takes one
JSON job per line, writes the data into the folder the job names and answers
with one JSON line. It may crash; its parent lives on.
"""

from __future__ import annotations

import json
import os
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TextIO

from manyview.datasets.formats import detect as formats
from manyview.datasets.formats.raw import Request, clean_name
from manyview.datasets.formats.table import warm_up
from manyview.datasets.reading import out_of_memory, read_file, require_views_fit
from manyview.datasets.store import write_store
from manyview.engine.resources import limit_address_space
from manyview.errors import ManyviewError, ResourceError

# Beyond the data itself: one conversion (transpose, CSC to CSR) and buffers.
_WORK_COPIES = 2
_WORK_BYTES = 256 * 2**20


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


def serve(job: dict[str, Any]) -> dict[str, str | None]:
    """Do one job; the reply holds ``error`` and ``message``, None when all is well."""
    path = Path(job["path"])
    views = job["views"]
    request = Request(
        None if views is None else tuple(views), job["labels"], job["memory_limit"]
    )
    try:
        _prepare(path, request, job["time_limit"])
        with ExitStack() as stack:
            raw = read_file(path, request, stack)
            if not job["stream"]:
                require_views_fit(raw, request.memory_limit, path.name)
            write_store(raw, Path(job["out"]), checksums=job["stream"])
    except MemoryError as error:
        known = isinstance(error, ManyviewError)
        said = str(error if known else out_of_memory(path, request))
        return {"error": ResourceError.__name__, "message": said}
    except ManyviewError as error:
        return {"error": type(error).__name__, "message": str(error)}
    except Exception as error:  # lazy views meet damaged parts only when copied
        said = (
            f"{path.name} could not be copied: {type(error).__name__}: "
            f"{clean_name(error)}. The file is damaged, or the disk is full."
        )
        return {"error": "FileError", "message": said}
    return {"error": None, "message": None}


def _import_parser(path: Path) -> None:
    kind = formats.sniff(path)
    formats.reader(kind)
    if kind in ("csv", "parquet"):
        warm_up()
    if kind == "hdf5":
        import h5py  # noqa: F401


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
