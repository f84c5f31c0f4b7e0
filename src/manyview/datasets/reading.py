"""One file in, one `RawData` out, and every failure as a sentence."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from manyview.datasets.formats.detect import reader, sniff
from manyview.datasets.formats.raw import RawData, Request, clean_name, n_bytes
from manyview.engine.resources import require_room, show_size
from manyview.errors import FileError, ManyviewError, ResourceError


def read_file(path: Path, request: Request, stack: ExitStack) -> RawData:
    """Read one file with the reader its content asks for.

    Views may be lazy; they are valid until `stack` is closed.
    """
    kind = sniff(path)
    try:
        return reader(kind)(path, request, stack)
    except ManyviewError:
        raise
    except MemoryError as error:
        raise out_of_memory(path, request) from error
    except Exception as error:  # parsers fail in many ways on damaged files
        raise FileError(
            f"{path.name} could not be read as {kind}: {type(error).__name__}: "
            f"{clean_name(error)}. The file is damaged or not what its signature "
            "says; fetch or write it again."
        ) from error


def out_of_memory(path: Path, request: Request) -> ResourceError:
    """What to say when a parser ran into its limit."""
    return ResourceError(
        f"Reading {path.name} ran out of the {show_size(request.memory_limit)} it may "
        "use. Raise memory_limit if the file is yours; otherwise it is damaged or "
        "hostile."
    )


def require_views_fit(raw: RawData, limit: int, what: str) -> None:
    """Refuse views that are larger than the limit when read."""
    require_room(sum(n_bytes(v) for v in raw.views), limit, what)
