"""Records of several seeds together: mean, spread, agreement, ranks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean, stdev
from typing import Any

import numpy as np

from manyview.experiments.execute import labels_of
from manyview.experiments.planned_run import Record
from manyview.experiments.results_file import Results
from manyview.metrics import ari

SCORES = ("ACC", "NMI", "Purity", "F-score", "Precision", "Recall", "ARI")
COSTS = ("wall_s", "cpu_s", "peak_bytes", "start_bytes")


@dataclass(frozen=True)
class Summary:
    """The records of one method and setting on one data set in one order."""

    data: str
    order: str
    method: str
    setting: dict[str, Any]
    records: tuple[Record, ...]

    @property
    def ok(self) -> list[Record]:
        """The records of runs that ended well."""
        return [r for r in self.records if r["status"] == "ok"]

    @property
    def error(self) -> str | None:
        """Why there is no figure, if there is none."""
        return None if self.ok else str(self.records[0].get("error"))

    def values(self, name: str) -> list[float]:
        """A score or cost of every seed."""
        source = [r if name in COSTS else r.get("scores", {}) for r in self.ok]
        return [float(s[name]) for s in source if name in s]

    def mean(self, name: str) -> float | None:
        """Mean over seeds."""
        values = self.values(name)
        return mean(values) if values else None

    def show(self, name: str) -> str:
        """Mean ± standard deviation (n − 1)."""
        values = self.values(name)
        if not values:
            return "–"
        if len(values) == 1:
            return f"{values[0]:.3f}"
        return f"{mean(values):.3f} ± {stdev(values):.3f}"


def summarise(records: Iterable[Record]) -> list[Summary]:
    """Records by data, order, method and setting, in order of first appearance."""
    groups: dict[str, list[Record]] = {}
    for r in records:
        what = [r["data"], r["order"], r["method"], r["setting"], r.get("extras")]
        groups.setdefault(json.dumps(what, sort_keys=True), []).append(r)
    return [
        Summary(g[0]["data"], g[0]["order"], g[0]["method"], g[0]["setting"], tuple(g))
        for g in groups.values()
    ]


def agreement(summary: Summary, results: Results) -> float | None:
    """Mean ARI between the labels of all pairs of seeds."""
    paths = [labels_of(r, results) for r in summary.ok]
    labels = [np.load(p, allow_pickle=False) for p in paths if p.exists()]
    pairs = [ari(a, b) for a, b in combinations(labels, 2)]
    return mean(pairs) if pairs else None


def average_ranks(
    summaries: Sequence[Summary], score: str
) -> dict[str, tuple[float, int]]:
    """Mean rank of every method over data sets (1 is best), and their number.

    Ranks are among the methods that have a figure; one that failed on a data set
    takes the last place there.
    """
    from scipy.stats import rankdata

    ranks: dict[str, list[float]] = {}
    for _, group in by(summaries, lambda s: s.data).items():
        found = [s.mean(score) for s in group]
        worst = -np.inf
        order = rankdata([-(worst if f is None else f) for f in found])
        for s, rank in zip(group, order, strict=True):
            ranks.setdefault(s.method, []).append(float(rank))
    return {m: (mean(r), len(r)) for m, r in ranks.items()}


def by(
    summaries: Iterable[Summary], key: Callable[[Summary], Any]
) -> dict[Any, list[Summary]]:
    """Grouped, in order of first appearance."""
    groups: dict[Any, list[Summary]] = {}
    for s in summaries:
        groups.setdefault(key(s), []).append(s)
    return groups
