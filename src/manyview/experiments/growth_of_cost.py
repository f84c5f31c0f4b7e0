"""What a fit costs along one size, beside what the paper claims.

The claims: time O(max(k m n T, m³ T)) and storage O(max(k V n, m n)), with n
rows, V views, m anchors, k components and T rounds. Rows are generated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manyview.errors import InputError
from manyview.experiments.data_set import DataSet
from manyview.experiments.estimators import PUBLISHED
from manyview.experiments.planned_run import Record, Run
from manyview.experiments.seed_summary import COSTS, summarise
from manyview.present.figures import new_figure
from manyview.present.plot import COLOURS
from manyview.present.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Sizes(NamedTuple):
    """The sizes the cost depends on."""

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


STEPS: dict[str, tuple[int, ...]] = {
    "rows": (2_500, 5_000, 10_000, 20_000, 40_000),
    "anchors": (125, 250, 500, 1_000, 2_000),
    "components": (16, 32, 64, 128, 256),
    "views": (1, 2, 4, 8),
    "rounds": (2, 4, 8, 16),
}
FEATURES, CLUSTERS = 64, 10


def runs(
    along: str,
    *,
    steps: Sequence[int] | None = None,
    method: str = PUBLISHED,
    n_seeds: int = 1,
) -> list[Run]:
    """One fit per step and seed, all other sizes fixed."""
    if along not in STEPS:
        raise InputError(
            f"along={along!r} is no size of the method; choose one of "
            f"{', '.join(STEPS)}."
        )
    out = []
    for step in steps or STEPS[along]:
        sizes = Sizes()._replace(**{along: step})
        setting = {
            "n_anchors": sizes.anchors,
            "n_components": sizes.components,
            "max_iter": sizes.rounds,
        }
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
    """One step: its sizes and what the process took."""

    step: int
    sizes: Sizes
    wall_s: float
    cpu_s: float
    peak_bytes: float
    start_bytes: float

    @property
    def grown_bytes(self) -> float:
        """Peak above what the process held before the fit."""
        return max(self.peak_bytes - self.start_bytes, 1.0)


def measured(along: str, records: Iterable[Record]) -> list[Measured]:
    """Means over seeds, by step."""
    out = []
    for s in summarise(records):
        if s.error:
            continue
        setting, first = s.setting, s.ok[0]
        sizes = Sizes(
            rows=first["rows"],
            views=len(first["n_features"]),
            anchors=setting["n_anchors"],
            components=setting["n_components"],
            rounds=setting["max_iter"],
        )
        costs = [s.mean(n) or 0.0 for n in COSTS]
        out.append(Measured(getattr(sizes, along), sizes, *costs))
    return sorted(out)


def tables(along: str, records: Iterable[Record]) -> list[Table]:
    """Measured cost per step, each beside the claim relative to the first step."""
    steps = measured(along, records)
    table = Table(
        name=f"scaling-{along}",
        caption=f"Cost of a fit along {along} (generated data): measured, and the "
        "paper's claim relative to the first step",
        columns=[
            along, "wall s", "CPU s", "CPU ×", "claimed ×", "peak MB", "growth MB",
            "growth ×", "claimed memory ×",
        ],
    )  # fmt: skip
    for m in steps:
        first = steps[0]
        table.add(
            f"{m.step}",
            f"{m.wall_s:.2f}",
            f"{m.cpu_s:.2f}",
            f"{m.cpu_s / first.cpu_s:.2f}",
            f"{m.sizes.claimed_time() / first.sizes.claimed_time():.2f}",
            f"{m.peak_bytes / 1e6:.0f}",
            f"{m.grown_bytes / 1e6:.0f}",
            f"{m.grown_bytes / first.grown_bytes:.2f}",
            f"{m.sizes.claimed_memory() / first.sizes.claimed_memory():.2f}",
        )
    table.notes.append(
        "Peak memory includes Python, its libraries and the data themselves; growth is "
        "the peak above what the process held before the fit."
    )
    return [table]


def figures(along: str, records: Iterable[Record]) -> dict[str, Figure]:
    """Time and memory on logarithmic axes with the claims as dashed lines."""
    records = list(records)
    steps = measured(along, records)
    if len(steps) < 2:
        return {}
    method = records[0]["method"]
    fixed = Sizes()._asdict()
    fixed.pop(along)
    rest = ", ".join(f"{value:,} {name}" for name, value in fixed.items())
    title = f"{method} along {along} (generated data; {rest})"
    figure = new_figure(10, 4.4, title)
    left, right = figure.subplots(1, 2)
    x = [m.step for m in steps]
    _lines(
        left, x, {"wall": [m.wall_s for m in steps], "CPU": [m.cpu_s for m in steps]}
    )
    _claim(left, x, [m.sizes.claimed_time() for m in steps], steps[-1].cpu_s)
    left.set(xlabel=along, ylabel="seconds", title="Time")
    grown = [m.grown_bytes / 1e6 for m in steps]
    peak = [m.peak_bytes / 1e6 for m in steps]
    _lines(right, x, {"growth during the fit": grown, "peak of the process": peak})
    _claim(right, x, [m.sizes.claimed_memory() for m in steps], grown[-1])
    right.set(xlabel=along, ylabel="MB", title="Memory")
    for axis in (left, right):
        axis.legend(frameon=False)
        axis.grid(alpha=0.3, which="both")
    return {f"scaling-{along}": figure}


def _lines(axis: Any, x: list[int], lines: dict[str, list[float]]) -> None:
    from matplotlib.ticker import LogLocator

    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    for (name, y), colour, marker in zip(lines.items(), COLOURS, "os", strict=False):
        # The slope of the last steps, where constant costs no longer hide it.
        slope = np.polyfit(np.log(x[-3:]), np.log(y[-3:]), 1)[0]
        label = f"{name} (slope {slope:.2f})"
        axis.plot(x, y, color=colour, marker=marker, label=label)
    axis.set_xticks(x, [f"{v:,}" for v in x])
    axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.yaxis.set_major_formatter("{x:g}")
    axis.minorticks_off()


def _claim(axis: Any, x: list[int], claim: list[float], last: float) -> None:
    """The claimed growth, drawn through the last measured step."""
    y = [last * c / claim[-1] for c in claim]
    axis.plot(x, y, color="black", linestyle="--", label="the paper's claim")
