"""Records of several seeds together: mean and spread, as cells of a table."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any, TypeVar

from manyview.experiments.planned_run import Record
from manyview.present.table import Cell, mark_best

Item = TypeVar("Item")

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
    def failure(self) -> str | None:
        """How many runs failed and why the first did; None where all ended well."""
        bad = [r for r in self.records if r["status"] != "ok"]
        if not bad:
            return None
        first = str(bad[0].get("error")).strip().splitlines()[0][:200]
        share = f" with {len(bad)} of {len(self.records)} seeds" if self.ok else ""
        return f"failed{share}: {first}"

    def values(self, name: str) -> list[float]:
        """A score or cost of every seed."""
        source = [r if name in COSTS else r.get("scores", {}) for r in self.ok]
        return [float(s[name]) for s in source if name in s]

    def mean(self, name: str) -> float | None:
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
    what = ("data", "order", "method", "setting")

    def key(record: Record) -> str:
        return json.dumps([record.get(w) for w in (*what, "extras")], sort_keys=True)

    groups = by(records, key).values()
    return [Summary(**{w: g[0][w] for w in what}, records=tuple(g)) for g in groups]


def by(items: Iterable[Item], key: Callable[[Item], Any]) -> dict[Any, list[Item]]:
    """Grouped, in order of first appearance."""
    groups: dict[Any, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def cells(found: Sequence[Summary | None], score: str) -> list[Cell]:
    """A score of every summary; the best and second best stand out."""
    marks = mark_best([None if s is None else s.mean(score) for s in found])
    return list(map(Cell, ("–" if s is None else s.show(score) for s in found), marks))


def figure_cells(
    values: Sequence[float | None], form: str = ".3f", *, lowest: bool = False
) -> list[Cell]:
    """A column of figures; the best and second best stand out."""
    texts = ("–" if x is None else f"{x:{form}}" for x in values)
    return list(map(Cell, texts, mark_best(values, lowest=lowest)))


def most_seeds(group: Iterable[Summary]) -> int:
    """The number of seeds that a caption names."""
    return max(len(s.records) for s in group)
