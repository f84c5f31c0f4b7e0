"""Every error and warning a user can meet.

A message says what was wrong, what was seen and what to do. Each class also
derives from the built-in exception a caller would expect, so that both
``except ManyviewError`` and ``except ValueError`` work.
"""

from sklearn.exceptions import NotFittedError as _SklearnNotFittedError


class ManyviewError(Exception):
    """Base of all errors raised on purpose by manyview."""


class InputError(ManyviewError, ValueError):
    """Data or a parameter has a value that cannot be used."""


class InputTypeError(ManyviewError, TypeError):
    """Data or a parameter has a type that cannot be used."""


class RowError(ManyviewError, IndexError):
    """A row was asked for that is not there."""


class FileError(ManyviewError, OSError):
    """A file is missing, unreadable, damaged or refused."""


class DependencyError(ManyviewError, ImportError):
    """An optional package that this feature needs is not installed."""


class DeviceError(ManyviewError, RuntimeError):
    """The requested device or engine is missing or broke down."""


class ResourceError(ManyviewError, MemoryError):
    """The work does not fit into the memory it may use."""


class NotFittedError(ManyviewError, _SklearnNotFittedError):  # type: ignore[misc]
    """A fitted attribute or method was used before ``fit``."""


class ManyviewWarning(UserWarning):
    """Base of all warnings issued by manyview."""


class OrderWarning(ManyviewWarning):
    """The result depends on the order of the rows."""


class DegenerateWarning(ManyviewWarning):
    """The partition is degenerate, for instance one giant cluster."""
