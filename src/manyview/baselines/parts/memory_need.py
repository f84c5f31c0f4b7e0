"""Refuse a fit that cannot be held in memory, before anything is allocated."""

from __future__ import annotations

from manyview.engine.resources import physical_memory, show_size
from manyview.errors import ResourceError


def require_memory(needed: int, who: str, what: str) -> None:
    """Raise `ResourceError` when `needed` bytes are more than the machine has."""
    present = physical_memory()
    if needed > present:
        raise ResourceError(
            f"{who} needs about {show_size(needed)} of memory for {what}; this machine "
            f"has {show_size(present)}. Give fewer rows, features or anchors."
        )
