"""Every error and warning a user can meet, and the words their messages share.

A message says what was wrong, what was seen and what to do. Each class also
derives from the built-in exception a caller would expect, so that both
``except ManyviewError`` and ``except ValueError`` work. `NotFittedError` derives
from scikit-learn's, and is made when it is first asked for: scikit-learn takes over
a second to load, and no error needs it sooner.
"""

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, requires
from typing import TYPE_CHECKING, Any


class ManyviewError(Exception):
    """Base of all errors raised on purpose by manyview."""


class InputError(ManyviewError, ValueError):
    """Data or a parameter has a value that cannot be used."""


class InputTypeError(ManyviewError, TypeError):
    """Data or a parameter has a type that cannot be used."""


class UnsupportedError(ManyviewError, AttributeError):
    """The method cannot do what was asked of it."""


class RowError(ManyviewError, IndexError):
    """A row was asked for that is not there."""


class FileError(ManyviewError, OSError):
    """A file is missing, unreadable, damaged or refused."""


class DependencyError(ManyviewError, ImportError):
    """An optional package that this feature needs is not installed."""


class DeviceError(ManyviewError, RuntimeError):
    """The requested device or engine is missing or broke down."""


# The other way round it could not be made again from what a worker sends.
class ResourceError(MemoryError, ManyviewError):
    """The work does not fit into the memory it may use."""


class ManyviewWarning(UserWarning):
    """Base of all warnings issued by manyview."""


class OrderWarning(ManyviewWarning):
    """The result depends on the order of the rows."""


class DegenerateWarning(ManyviewWarning):
    """The partition is degenerate, for instance one giant cluster."""


class UnsavedWarning(ManyviewWarning):
    """A part of a model is not in its file."""


class DataWarning(ManyviewWarning):
    """Data was taken in one of several ways that may have been meant."""


class OutsideWarning(ManyviewWarning):
    """New rows lie outside all that the model has seen."""


class DriftWarning(ManyviewWarning):
    """New rows no longer fit the model they were added to."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A question that names the nearest of the known names, or nothing."""
    plain = {plain_name(k): k for k in known}
    alike = difflib.get_close_matches(plain_name(name), plain, n=2)
    return f"Did you mean {' or '.join(plain[n] for n in alike)}? " if alike else ""


def plain_name(name: str) -> str:
    """Without case and punctuation, the way people mistype names."""
    return re.sub(r"[^a-z0-9]", "", name.lower().replace("²", "2"))


def install_command(extra: str) -> str:
    """The pip command for what an extra brings.

    It names the packages themselves: that works wherever manyview came from, an
    index, a wheel or a clone.
    """
    try:
        lines = requires("manyview") or []
    except PackageNotFoundError:  # run from a source tree that is not installed
        lines = []
    own = re.compile(rf"""extra == ['"]{extra}['"]""")
    wanted = [line.partition(";")[0].strip() for line in lines if own.search(line)]
    return "pip install " + " ".join(f'"{w}"' for w in wanted or [f".[{extra}]"])


@contextmanager
def required(what: str, extra: str) -> Iterator[None]:
    """Around the import of what an extra brings: says what needs it where it is not."""
    try:
        yield
    except ImportError as error:
        raise DependencyError(
            f"{what}, which is not installed. Install it: {install_command(extra)}."
        ) from error


if TYPE_CHECKING:

    class NotFittedError(ManyviewError, ValueError, AttributeError):
        """A fitted attribute or method was used before ``fit``."""


def __getattr__(name: str) -> Any:
    if name != "NotFittedError":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn.exceptions import NotFittedError as of_scikit_learn

    about = "A fitted attribute or method was used before ``fit``."
    made = type(name, (ManyviewError, of_scikit_learn), {"__doc__": about})
    made.__module__ = __name__
    return globals().setdefault(name, made)
