"""Data in: readers, known data sets, generators and the on-disk layout.

Nothing here is imported before it is used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manyview.datasets.converting import convert
    from manyview.datasets.digits import load_digits_views
    from manyview.datasets.facts import describe, row_order, summary, summary_lines
    from manyview.datasets.isolated.sandbox import Sandbox
    from manyview.datasets.loading import load
    from manyview.datasets.registry import find_anchors, known
    from manyview.datasets.synthetic import like, make_views

__all__ = [
    "Sandbox",
    "convert",
    "describe",
    "find_anchors",
    "known",
    "like",
    "load",
    "load_digits_views",
    "make_views",
    "row_order",
    "summary",
    "summary_lines",
]

_HOMES = {
    "Sandbox": "isolated.sandbox",
    "convert": "converting",
    "describe": "facts",
    "find_anchors": "registry",
    "known": "registry",
    "like": "synthetic",
    "load": "loading",
    "load_digits_views": "digits",
    "make_views": "synthetic",
    "row_order": "facts",
    "summary": "facts",
    "summary_lines": "facts",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return __all__
