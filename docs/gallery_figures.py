"""Pictures of the gallery: every matplotlib figure an example has made."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

_seen: WeakSet[Figure] = WeakSet()


def scrape(block: Any, block_vars: dict[str, Any], conf: Any) -> str:
    """Find figures by their variable; those of manyview never enter pyplot."""
    paths = []
    for value in list(block_vars["example_globals"].values()):
        if isinstance(value, Figure) and value not in _seen:
            _seen.add(value)
            path = next(block_vars["image_path_iterator"])
            value.savefig(path, dpi=150, facecolor="white")
            paths.append(path)
    return figure_rst(paths, conf["src_dir"])
