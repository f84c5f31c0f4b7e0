"""What all figures of the experiments share: how they look and how they are saved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from manyview.errors import DependencyError
from manyview.files.atomic import atomic_file
from manyview.present.plot import INSTALL

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def new_figure(width: float, height: float, title: str) -> Figure:
    """An empty figure with a title that says data, order, seeds and setting."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise DependencyError(
            f"Figures need matplotlib, which is not installed. Install it: {INSTALL}."
        ) from error
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.suptitle(title, fontsize=12, parse_math=False)
    return figure


def save(figure: Figure, stem: Path) -> list[Path]:
    """As PNG for screens and SVG for print; whole or not at all."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = []
    for ending in ("png", "svg"):
        path = stem.with_name(f"{stem.name}.{ending}")
        with atomic_file(path) as part:
            figure.savefig(part, dpi=160, format=ending)
        paths.append(path)
    return paths
