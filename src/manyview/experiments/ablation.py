"""What each part is worth: the paper's Table 4, and the same for the default."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from manyview.experiments import paper_tables
from manyview.experiments.compare import IN_WORDS
from manyview.experiments.data_set import DataSet
from manyview.experiments.estimators import PUBLISHED
from manyview.experiments.planned_run import Record, Run
from manyview.experiments.seed_summary import Summary, by, summarise
from manyview.present.table import Cell, Table, mark_best

DEFAULT = "S2MVTC"
PUBLISHED_VARIANTS: dict[str, dict[str, Any]] = {
    "without consensus": {"consensus": False},
    "without smoothing": {"smoothing": None},
    "linear anchors": {"kernel": "linear"},
    "full": {},
}
# No rounds: the plain spectral embedding of the same graph.
DEFAULT_VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "without graph": (DEFAULT, {"smoothing": None}),
    "without rounds": ("AnchorSpectral", {}),
    "without consensus": (DEFAULT, {"consensus": False}),
    "linear kernel": (DEFAULT, {"kernel": "linear"}),
    "full": (DEFAULT, {}),
}
SCORES = ("ACC", "NMI", "ARI")


def runs(
    data: Iterable[DataSet],
    *,
    orders: tuple[str, ...] = ("file", "shuffled"),
    n_seeds: int = 5,
) -> list[Run]:
    """The published variants in every order, the default's on shuffled rows."""
    out = []
    for d in data:
        for seed in range(n_seeds):
            for order in orders:
                for setting in PUBLISHED_VARIANTS.values():
                    out.append(Run(d, order, PUBLISHED, setting, seed))
            for method, setting in DEFAULT_VARIANTS.values():
                out.append(Run(d, "shuffled", method, setting, seed))
    return out


def tables(records: Iterable[Record]) -> list[Table]:
    """One table per data set for the published setting, one for the default."""
    out = []
    for data, group in by(summarise(records), lambda s: s.data).items():
        out.append(_published_table(data, group))
        out.append(_default_table(data, group))
    return out


def _published_table(data: str, group: list[Summary]) -> Table:
    """Rows are orders and scores, columns the variants, as in the paper."""
    table = Table(
        name=f"ablation-{data}-published",
        caption=f"{data}, S²MVTC as published without one part at a time, "
        f"{_n_seeds(group)} seeds: mean ± standard deviation",
        columns=["row order", "score", *PUBLISHED_VARIANTS],
    )
    mine = [s for s in group if s.method == PUBLISHED]
    for order, found in by(mine, lambda s: s.order).items():
        for score in SCORES:
            cells = [_pick(found, PUBLISHED, s) for s in PUBLISHED_VARIANTS.values()]
            table.add(IN_WORDS[order], score, *_cells(cells, score))
    paper = paper_tables.ablation().get(data)
    if paper:
        table.add(
            "in the paper (sorted)",
            "ACC",
            *(f"{paper[v]:.3f}" for v in PUBLISHED_VARIANTS),
        )
        table.notes.append(f"In the paper: Table 4 of {paper_tables.SOURCE}.")
    return table


def _default_table(data: str, group: list[Summary]) -> Table:
    table = Table(
        name=f"ablation-{data}-default",
        caption=f"{data}, S2MVTC with default settings without one part at a time, "
        f"rows shuffled, {_n_seeds(group)} seeds: mean ± standard deviation",
        columns=["score", *DEFAULT_VARIANTS],
    )
    shuffled = [s for s in group if s.order == "shuffled"]
    found = [_pick(shuffled, m, s) for m, s in DEFAULT_VARIANTS.values()]
    for score in SCORES:
        table.add(score, *_cells(found, score))
    table.notes += [
        f"{variant} failed: {s.error}"
        for variant, s in zip(DEFAULT_VARIANTS, found, strict=True)
        if s is not None and s.error
    ]
    return table


def _n_seeds(group: list[Summary]) -> int:
    return max(len(s.records) for s in group)


def _pick(group: list[Summary], method: str, setting: dict[str, Any]) -> Summary | None:
    matching = (s for s in group if s.method == method and s.setting == setting)
    return next(matching, None)


def _cells(found: list[Summary | None], score: str) -> list[Cell]:
    marks = mark_best([None if s is None else s.mean(score) for s in found])
    return [
        Cell("–" if s is None else s.show(score), mark)
        for s, mark in zip(found, marks, strict=True)
    ]
