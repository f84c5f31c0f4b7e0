"""Records of several seeds together: mean, spread, agreement, ranks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import mean, stdev
from typing import Any

import numpy as np
from scipy.stats import rankdata

from manyview.experiments.execute import labels_of
from manyview.experiments.planned_run import Record
from manyview.experiments.results_file import Results
from manyview.metrics import ari
from manyview.present.table import Cell, mark_best

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
        spread = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
        return f"{mean(values):.3f}{spread}"


def summarise(records: Iterable[Record]) -> list[Summary]:
    """Records by data, order, method and setting, in order of first appearance."""
    groups = by(
        records,
        lambda r: json.dumps(
            [r["data"], r["order"], r["method"], r["setting"], r.get("extras")],
            sort_keys=True,
        ),
    )
    return [
        Summary(g[0]["data"], g[0]["order"], g[0]["method"], g[0]["setting"], tuple(g))
        for g in groups.values()
    ]


def by[Item](
    items: Iterable[Item], key: Callable[[Item], Any]
) -> dict[Any, list[Item]]:
    """Grouped, in order of first appearance."""
    groups: dict[Any, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def cells(found: Sequence[Summary | None], score: str) -> list[Cell]:
    """A score of every summary; the best and second best stand out."""
    marks = mark_best([None if s is None else s.mean(score) for s in found])
    texts = ("–" if s is None else s.show(score) for s in found)
    return [Cell(*cell) for cell in zip(texts, marks, strict=True)]


def most_seeds(group: Iterable[Summary]) -> int:
    """The number of seeds that a caption names."""
    return max(len(s.records) for s in group)


def agreement(summary: Summary, results: Results) -> float | None:
    """Mean ARI between the labels of all pairs of seeds."""
    paths = [labels_of(r, results) for r in summary.ok]
    labels = [np.load(p, allow_pickle=False) for p in paths if p.exists()]
    return mean_known(ari(a, b) for a, b in combinations(labels, 2))


def average_ranks(
    summaries: Sequence[Summary], score: str
) -> dict[str, tuple[float, int]]:
    """Mean rank of every method over data sets (1 is best), and their number.

    A method that failed on a data set takes the last place there.
    """
    ranks: dict[str, list[float]] = {}
    for group in by(summaries, lambda s: s.data).values():
        found = [s.mean(score) for s in group]
        places = rankdata([np.inf if f is None else -f for f in found])
        for s, place in zip(group, places, strict=True):
            ranks.setdefault(s.method, []).append(float(place))
    return {m: (mean(r), len(r)) for m, r in ranks.items()}


def mean_known(values: Iterable[float | None]) -> float | None:
    """Mean of the values there are."""
    known = [v for v in values if v is not None]
    return mean(known) if known else None
