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
from pathlib import Path
from typing import Any, TextIO

from manyview.datasets.data_folder import write_data_folder
from manyview.datasets.formats.tabular import import_engine
from manyview.datasets.one_file import detect_format, out_of_memory, read_file
from manyview.datasets.raw_data import Request, clean_name
from manyview.engine.resources import limit_address_space
from manyview.errors import FileError, ManyviewError

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


def serve(job: dict[str, Any]) -> dict[str, Any]:
    """Do one job; the reply holds ``error`` and ``message``, None when all is well,
    and the reader's ``notes``."""
    path = Path(job["path"])
    request = Request(job["views"], job["labels"], job["memory_limit"])
    failure: ManyviewError
    try:
        _prepare(path, request, job["time_limit"])
        with ExitStack() as stack:
            raw = read_file(path, request, stack)
            if not job["stream"]:
                raw.require_room(request.memory_limit, path.name)
            write_data_folder(raw, Path(job["out"]), checksums=job["stream"])
        return {"error": None, "message": None, "notes": raw.notes}
    except ManyviewError as error:
        failure = error
    except MemoryError:
        failure = out_of_memory(path, request)
    except Exception as error:  # lazy views meet damaged parts only when copied
        failure = FileError(
            f"{path.name} could not be copied: {type(error).__name__}: "
            f"{clean_name(error)}. The file is damaged, or the disk is full."
        )
    return {"error": type(failure).__name__, "message": str(failure)}


def _import_parser(path: Path) -> None:
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
