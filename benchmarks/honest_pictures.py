"""Pictures of the honest benchmark, from the file of figures that it wrote.

    python benchmarks/honest_pictures.py benchmarks/results --out docs/measured

draws average ranks with their critical difference, the accuracy of every method on
every data set, and paired differences of S2MVTC to AnchorSpectral and to the best
rival. Of a method that ran on two preparations of the views the better is shown.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.stats import studentized_range, t

from manyview.experiments.seed_summary import SCORES, Summary, by
from manyview.present.plot import COLOURS, MARKERS, new_figure, save
from ranking import average_ranks, better_preparations, mean_known

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

OURS, START = "S2MVTC", "AnchorSpectral"
# Of intervals, and of the test behind the critical difference.
CONFIDENCE = 0.95
# A whole row per method or data set, in inches.
ROW = 0.28


class Difference(NamedTuple):
    """Mean of paired differences, and half of its interval (None from one pair)."""

    mean: float
    half: float | None


def read(folder: Path) -> list[Summary]:
    """The runs on shuffled rows, the better preparation of every method."""
    entries = json.loads((folder / "honest.json").read_text("utf-8"))["shuffled"]
    found = [summary(e) for e in entries if not e["setting"]]
    return better_preparations(found)


def summary(entry: dict[str, Any]) -> Summary:
    """A data set and method again as one record per seed."""
    scores = {n: entry["scores"].get(n, []) for n in SCORES}
    records = [
        {"status": "ok", "scores": {n: v[i] for n, v in scores.items() if v}}
        for i in range(len(scores["ACC"]))
    ]
    failed = {"status": "failed", "error": entry["error"]}
    what = {n: entry[n] for n in ("data", "method", "setting")}
    return Summary(order="shuffled", records=tuple(records or [failed]), **what)


def critical_difference(n_methods: int, n_data: int) -> float:
    """Ranks that differ by less may be chance (Nemenyi's test; Demšar, JMLR 2006)."""
    q = studentized_range.ppf(CONFIDENCE, n_methods, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_methods * (n_methods + 1) / (6 * n_data)))


def level_groups(ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """First and last of every longest run of sorted ranks within the difference."""
    spans = []
    for first, rank in enumerate(ranks):
        last = int(np.searchsorted(ranks, rank + difference, side="right")) - 1
        if last > first and not (spans and spans[-1][1] >= last):
            spans.append((first, last))
    return spans


def paired(
    ours: Sequence[Summary], other: Sequence[Summary], score: str
) -> dict[str, Difference]:
    """Our score less the other's, seed by seed, on every data set both finished."""
    values = {s.data: s.values(score) for s in other if s.ok}
    out = {}
    for s in ours:
        if s.ok and s.data in values:
            pairs = zip(s.values(score), values[s.data], strict=False)
            out[s.data] = with_interval([a - b for a, b in pairs])
    return out


def with_interval(values: Sequence[float]) -> Difference:
    """Their mean, and half of Student's interval about it."""
    n = len(values)
    if n < 2:
        return Difference(float(np.mean(values)), None)
    error = np.std(values, ddof=1) / np.sqrt(n)
    half = t.ppf((1 + CONFIDENCE) / 2, n - 1) * error
    return Difference(float(np.mean(values)), float(half))


def best_rival(summaries: Sequence[Summary], score: str) -> str:
    """The compared method of the highest mean over the data sets that it finished."""
    rivals = by(summaries, lambda s: s.method)
    means = {
        name: mean_known(s.mean(score) for s in found) or 0.0
        for name, found in rivals.items()
        if name not in (OURS, START)
    }
    return max(means, key=lambda name: means[name])


def draw_ranks(summaries: Sequence[Summary], score: str) -> Figure:
    """Methods on a line of ranks; bars join those that may differ by chance."""
    found = average_ranks(summaries, score)
    names = sorted(found, key=lambda name: found[name][0])
    ranks = [found[name][0] for name in names]
    n_data = len({s.data for s in summaries})
    difference = critical_difference(len(names), n_data)
    title = (
        f"Average ranks by {score} over {n_data} data sets, rows shuffled; bars join "
        f"methods within the critical difference ({difference:.2f})"
    )
    figure = new_figure(9, 1.6 + ROW * len(names), title)
    axis = figure.subplots()
    for place, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        colour = COLOURS[0] if name == OURS else COLOURS[7]
        axis.plot(rank, place, "o", color=colour)
        axis.annotate(
            f"{name}  {rank:.2f}", (rank, place), (7, 0), textcoords="offset points",
            va="center", color=colour,
        )  # fmt: skip
    for first, last in level_groups(ranks, difference):
        axis.plot(
            [ranks[first], ranks[first]], [first, last], lw=4, alpha=0.35, color="grey"
        )
    axis.set(xlabel=f"average rank by {score} (1 is best)", yticks=[])
    axis.set_xlim(0.8, max(ranks) + 0.35 * (max(ranks) - min(ranks) + 1))
    axis.invert_yaxis()
    return figure


def draw_scores(summaries: Sequence[Summary], score: str) -> Figure:
    """One row per data set, one mark per method."""
    sets = list(by(summaries, lambda s: s.data))
    n_seeds = max(len(s.ok) for s in summaries)
    title = f"{score} of every method on shuffled rows, mean of up to {n_seeds} seeds"
    figure = new_figure(9, 2.4 + 1.2 * ROW * len(sets), title)
    axis = figure.subplots()
    styles = zip(cycle(COLOURS[1:]), cycle(MARKERS), strict=False)
    for name, found in by(summaries, lambda s: s.method).items():
        own = name == OURS
        colour, marker = (COLOURS[0], "D") if own else next(styles)
        done = [s for s in found if s.ok]
        axis.plot(
            [s.mean(score) for s in done],
            [sets.index(s.data) for s in done],
            **{"linestyle": "", "marker": marker, "color": colour, "label": name},
            **({"ms": 9, "zorder": 3} if own else {"ms": 6, "alpha": 0.75}),
        )
    axis.set(xlabel=score, yticks=range(len(sets)))
    axis.set_yticklabels(sets, parse_math=False)
    axis.grid(axis="y", alpha=0.3)
    axis.invert_yaxis()
    figure.legend(loc="outside lower center", ncols=3, fontsize=8)
    return figure


def draw_differences(summaries: Sequence[Summary], score: str) -> Figure:
    """S2MVTC less its own start, and less the best rival, on every data set."""
    methods = by(summaries, lambda s: s.method)
    rival = best_rival(summaries, score)
    sets = list(by(summaries, lambda s: s.data))
    title = (
        f"Paired differences of {OURS} in {score}, rows shuffled, with intervals of "
        f"{CONFIDENCE:.0%} over seeds (all: over data sets)"
    )
    figure = new_figure(10, 2.0 + ROW * len(sets), title)
    for axis, other in zip(
        figure.subplots(1, 2, sharey=True), (START, rival), strict=True
    ):
        found = paired(methods[OURS], methods[other], score)
        _draw_column(axis, found, sets)
        axis.set_title(f"less {other}", fontsize=10, parse_math=False)
        axis.set_xlabel(f"difference in {score}")
    return figure


def _draw_column(axis: Axes, found: dict[str, Difference], sets: list[str]) -> None:
    rows = [*sets, "all"]
    every = with_interval([d.mean for d in found.values()])
    for place, name in enumerate(rows):
        own = every if name == "all" else found.get(name)
        if own is None:
            continue
        colour = COLOURS[5] if own.mean < 0 else COLOURS[0]
        marker = "D" if name == "all" else "o"
        axis.errorbar(
            own.mean, place, xerr=own.half, fmt=marker, color=colour, capsize=3
        )
    axis.axvline(0, color="black", lw=0.8)
    axis.set_yticks(range(len(rows)))
    axis.set_yticklabels(rows, parse_math=False)
    axis.set_ylim(len(rows) - 0.5, -0.5)
    axis.grid(axis="y", alpha=0.3)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="what benchmarks/honest.py wrote")
    parser.add_argument("--out", type=Path, help="folder of the pictures")
    parser.add_argument("--score", default="ACC", choices=("ACC", "NMI", "ARI"))
    args = parser.parse_args()
    summaries, out = read(args.folder), args.out or args.folder
    parts = {
        "ranks": draw_ranks,
        "scores": draw_scores,
        "differences": draw_differences,
    }
    for name, draw in parts.items():
        stem = out / f"honest-{name}-{args.score}"
        for path in save(draw(summaries, args.score), stem, ("png",)):
            print(path)


if __name__ == "__main__":
    main()
