"""How the scores move with the settings: the two surfaces of the paper's Figure 3.

Cells of one number of anchors share the drawn rows, the anchors, the features and
their Grams; the rounds and the clustering are every cell's own.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manyview.experiments.compare import IN_WORDS
from manyview.experiments.data_set import DataSet
from manyview.experiments.estimators import PUBLISHED
from manyview.experiments.planned_run import Record, Run
from manyview.present.plot import new_figure
from manyview.present.table import Table
from manyview.sequence_s2mvtc import SequenceS2MVTC
from manyview.stages.sequence_setup import Prepared
from manyview.views.views import Views

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The grids of the paper's Figure 3.
POWERS = tuple(10.0**p for p in range(-4, 3))
SURFACES: dict[str, dict[str, tuple[Any, ...]]] = {
    "lam-beta": {"lam": POWERS, "beta": POWERS},
    "anchors-low": {
        "n_anchors": tuple(range(500, 3001, 500)),
        "n_low": tuple(range(10, 41, 6)),
    },
}
# Which setting goes down, which across; records do not keep their order.
AXES = ("lam", "beta", "n_anchors", "n_low")
SHOWN = ("ACC", "NMI")
# What was prepared, and for which lam, by the number of anchors and the seed.
SharedSetUp = dict[tuple[Any, Any], tuple[float, Prepared]]


def runs(
    data: Iterable[DataSet],
    *,
    order: str = "file",
    surfaces: dict[str, dict[str, tuple[Any, ...]]] | None = None,
    seed: int = 0,
) -> list[Run]:
    """One run per cell of every surface."""
    out = []
    for d in data:
        for name, grid in (surfaces or SURFACES).items():
            (a, along_a), (b, along_b) = grid.items()
            for x in along_a:
                # One process per value keeps its features and no others.
                share = {"share": f"{name} {a}={x}" if a == "n_anchors" else name}
                cells = [{a: x, b: y} for y in along_b]
                out += [Run(d, order, PUBLISHED, c, seed, share) for c in cells]
    return out


def fit_shared(model: SequenceS2MVTC, views: Views, shared: SharedSetUp) -> None:
    """Fit with the set-up that another cell has left in `shared`, or leave one there.

    The cells of one `shared` have the same views and differ in `AXES` and seed alone;
    one set-up at a time is kept, precise enough for the smallest `lam` so far.
    """
    what, lam = (model.n_anchors, model.random_state), model.lam or 0.0
    if what not in shared or lam < shared[what][0]:
        shared.clear()
        shared[what] = lam, model.prepare(views)
    model.fit_prepared(views, shared[what][1])


def tables(records: Iterable[Record]) -> list[Table]:
    """One table per data set, surface and score."""
    return [_table(surface, score) for surface in _surfaces(records) for score in SHOWN]


def figures(records: Iterable[Record]) -> dict[str, Figure]:
    """One figure per data set and surface, by name."""
    return {s.name: _draw(s) for s in _surfaces(records)}


class Surface(NamedTuple):
    """The cells of one surface: scores by (first, second) setting."""

    name: str
    title: str
    axes: tuple[str, str]
    cells: dict[tuple[float, float], dict[str, float]]

    def grid(self, score: str) -> tuple[list[float], list[float], Any]:
        """Values along both axes and the scores (NaN where there is none)."""
        rows, columns = (sorted({c[i] for c in self.cells}) for i in (0, 1))
        cells = ([self.cells.get((r, c), {}) for c in columns] for r in rows)
        found = [[cell.get(score, np.nan) for cell in row] for row in cells]
        return rows, columns, np.array(found)


def _surfaces(records: Iterable[Record]) -> list[Surface]:
    out: dict[str, Surface] = {}
    for r in records:
        if r["status"] != "ok" or "scores" not in r:
            continue
        first, second = sorted(r["setting"], key=AXES.index)
        name = f"sensitivity-{r['data']}-{first}-{second}-{r['order']}"
        title = (
            f"{r['data']}, {IN_WORDS[r['order']]}, seed {r['seed']}: S²MVTC over "
            f"{first} and {second}, all else as published"
        )
        surface = out.setdefault(name, Surface(name, title, (first, second), {}))
        surface.cells[r["setting"][first], r["setting"][second]] = r["scores"]
    return list(out.values())


def _table(surface: Surface, score: str) -> Table:
    rows, columns, values = surface.grid(score)
    head = [" \\ ".join(surface.axes), *(f"{c:g}" for c in columns)]
    table = Table(f"{surface.name}-{score}", f"{surface.title}: {score}", head)
    for value, line in zip(rows, values, strict=True):
        table.add(f"{value:g}", *("–" if np.isnan(x) else f"{x:.3f}" for x in line))
    return table


def _draw(surface: Surface) -> Figure:
    """Heat maps with the figures written in: readable in print and in grey."""
    figure = new_figure(11, 5.2, surface.title)
    axes = figure.subplots(1, len(SHOWN))
    for axis, score in zip(axes, SHOWN, strict=True):
        rows, columns, values = surface.grid(score)
        image = axis.imshow(values, cmap="cividis", origin="lower", aspect="auto")
        middle = (np.nanmin(values) + np.nanmax(values)) / 2
        for (i, j), value in np.ndenumerate(values):
            text = "–" if np.isnan(value) else f"{value:.2f}"
            colour = "black" if value > middle else "white"
            axis.text(j, i, text, ha="center", va="center", color=colour, fontsize=8)
        axis.set_xticks(range(len(columns)), [f"{c:g}" for c in columns])
        axis.set_yticks(range(len(rows)), [f"{r:g}" for r in rows])
        axis.set(xlabel=surface.axes[1], ylabel=surface.axes[0], title=score)
        figure.colorbar(image, ax=axis, shrink=0.85)
    return figure
