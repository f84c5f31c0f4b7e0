"""What a fit costs along one size, beside what the paper claims.

The claims: time O(max(k m n T, m³ T)) and storage O(max(k V n, m n)), with n
rows, V views, m anchors, k components and T rounds. Rows are generated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from manyview.experiments.data_set import DataSet
from manyview.experiments.estimators import PUBLISHED, build
from manyview.experiments.planned_run import Record, Run
from manyview.experiments.seed_summary import COSTS, summarise
from manyview.present.plot import COLOURS, new_figure
from manyview.present.table import Table
from manyview.views.arguments import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


class Sizes(NamedTuple):
    """The sizes the cost depends on; the defaults make a fit of a second or so."""

    rows: int = 10_000
    views: int = 3
    anchors: int = 500
    components: int = 64
    rounds: int = 7

    def claimed_time(self) -> float:
        """The paper's operation count, up to a constant."""
        work = self.components * self.anchors * self.rows * self.rounds
        return float(max(work, self.anchors**3 * self.rounds))

    def claimed_memory(self) -> float:
        """The paper's storage, up to a constant."""
        embeddings = self.components * self.views * self.rows
        return float(max(embeddings, self.anchors * self.rows))


# Doubling steps about the defaults, as far as all of them take minutes.
STEPS: dict[str, tuple[int, ...]] = {
    "rows": (2_500, 5_000, 10_000, 20_000, 40_000),
    "anchors": (125, 250, 500, 1_000, 2_000),
    "components": (16, 32, 64, 128, 256),
    "views": (1, 2, 4, 8),
    "rounds": (2, 4, 8, 16),
}
PARAMETERS = {
    "anchors": "n_anchors", "components": "n_components", "rounds": "max_iter",
}  # fmt: skip
FEATURES, CLUSTERS = 64, 10  # of the generated rows; the claims name neither


def runs(
    along: str,
    *,
    steps: Sequence[int] | None = None,
    method: str = PUBLISHED,
    n_seeds: int = 1,
) -> list[Run]:
    """One fit per step and seed, all other sizes fixed."""
    taken = build(method, {}, CLUSTERS, 0, "").get_params()
    known = tuple(s for s in STEPS if PARAMETERS.get(s, "n_clusters") in taken)
    check_choice(along, "along", known)
    out = []
    for step in steps or STEPS[along]:
        sizes = Sizes()._replace(**{along: step})
        setting = {p: getattr(sizes, s) for s, p in PARAMETERS.items() if s in known}
        out += [Run(_data(sizes), "file", method, setting, s) for s in range(n_seeds)]
    return out


def _data(sizes: Sizes) -> DataSet:
    return DataSet.generated(
        f"generated {sizes.rows} rows × {sizes.views} views",
        n_samples=sizes.rows,
        n_features=[FEATURES] * sizes.views,
        n_clusters=CLUSTERS,
        random_state=0,
    )


class Measured(NamedTuple):
    """One step: its size, the claims and what the process took, means over seeds."""

    step: int
    claimed_time: float
    claimed_memory: float
    wall: float
    cpu: float
    peak: float  # in MB
    growth: float  # the peak above what was held before the fit


def measured(along: str, records: Iterable[Record]) -> list[Measured]:
    """What was found, by step."""
    out = []
    for s in summarise(records):
        if not s.ok:
            continue
        first = s.ok[0]
        known = {size: s.setting.get(name) for size, name in PARAMETERS.items()}
        sizes = Sizes(rows=first["rows"], views=len(first["n_features"]))
        sizes = sizes._replace(**{size: x for size, x in known.items() if x})
        wall, cpu, peak, start = (s.mean(n) or 0.0 for n in COSTS)
        claims = sizes.claimed_time(), sizes.claimed_memory()
        memory = peak / 1e6, max(peak - start, 1.0) / 1e6
        out.append(Measured(getattr(sizes, along), *claims, wall, cpu, *memory))
    return sorted(out)


def tables(along: str, records: Iterable[Record]) -> list[Table]:
    """Measured cost per step, each beside the claim relative to the first step."""
    table = Table(
        name=f"scaling-{along}",
        caption=f"Cost of a fit along {along} (generated data): measured, and the "
        "paper's claim relative to the first step",
        columns=[
            along, "wall s", "CPU s", "CPU ×", "claimed ×", "peak MB", "growth MB",
            "growth ×", "claimed memory ×",
        ],
        notes=["Peak memory includes Python, its libraries and the data themselves; "
               "growth is the peak above what the process held before the fit."],
    )  # fmt: skip
    steps = measured(along, records)
    for m in steps:
        cpu, time, growth, memory = (
            f"{getattr(m, name) / getattr(steps[0], name):.2f}"
            for name in ("cpu", "claimed_time", "growth", "claimed_memory")
        )
        seconds = f"{m.wall:.2f}", f"{m.cpu:.2f}"
        megabytes = f"{m.peak:.0f}", f"{m.growth:.0f}"
        table.add(f"{m.step}", *seconds, cpu, time, *megabytes, growth, memory)
    return [table]


def figures(along: str, records: Iterable[Record]) -> dict[str, Figure]:
    """Time and memory on logarithmic axes with the claims as dashed lines."""
    records = list(records)
    steps = measured(along, records)
    if len(steps) < 2:
        return {}
    fixed = Sizes()._asdict().items()
    rest = ", ".join(f"{value:,} {name}" for name, value in fixed if name != along)
    title = f"{records[0]['method']} along {along} (generated data; {rest})"
    figure = new_figure(10, 4.4, title)
    left, right = figure.subplots(1, 2)
    _draw(left, steps, {"wall": "wall", "cpu": "CPU"}, "claimed_time")
    left.set(xlabel=along, ylabel="seconds", title="Time")
    lines = {"peak": "peak of the process", "growth": "growth during the fit"}
    _draw(right, steps, lines, "claimed_memory")
    right.set(xlabel=along, ylabel="MB", title="Memory")
    return {f"scaling-{along}": figure}


def _draw(axis: Axes, steps: list[Measured], lines: dict[str, str], claim: str) -> None:
    """Two lines with their slopes, the claim through the last step of the last."""
    from matplotlib.ticker import LogLocator

    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    x, claimed = ([getattr(m, name) for m in steps] for name in ("step", claim))
    for (name, words), colour, marker in zip(
        lines.items(), COLOURS, "os", strict=False
    ):
        y = [getattr(m, name) for m in steps]
        # The slope of the last steps, where constant costs no longer hide it.
        slope = np.polyfit(np.log(x[-3:]), np.log(y[-3:]), 1)[0]
        label = f"{words} (slope {slope:.2f})"
        axis.plot(x, y, color=colour, marker=marker, label=label)
    y = [y[-1] * c / claimed[-1] for c in claimed]
    axis.plot(x, y, color="black", linestyle="--", label="the paper's claim")
    axis.set_xticks(x, [f"{v:,}" for v in x])
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.minorticks_off()
    axis.legend(frameon=False)
    axis.grid(alpha=0.3, which="both")
