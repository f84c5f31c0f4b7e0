"""What each part is worth: the paper's Table 4, and the same for the default."""

from collections.abc import Iterable
from typing import Any

from manyview.experiments import paper_tables
from manyview.experiments.compare import IN_WORDS, failures
from manyview.experiments.data_set import DataSet
from manyview.experiments.estimators import ALONG_AN_ORDER, PUBLISHED
from manyview.experiments.planned_run import Record, Run
from manyview.experiments.seed_summary import Summary, by, cells, most_seeds, summarise
from manyview.present.table import Table

Variants = dict[str, tuple[str, dict[str, Any]]]

PUBLISHED_VARIANTS: Variants = {
    "without consensus": (PUBLISHED, {"beta": 0.0}),
    "without smoothing": (PUBLISHED, {"smoothing_weight": 0.0}),
    "linear anchors": (PUBLISHED, {"kernel": "linear"}),
    "full": (PUBLISHED, {}),
}
# Without the graph, the rounds start from principal directions and smooth nothing;
# without rounds, there is the plain spectral embedding of the same graph.
DEFAULT_VARIANTS: Variants = {
    "without graph": (ALONG_AN_ORDER, {"smoothing_weight": 0.0}),
    "without rounds": ("AnchorSpectral", {}),
    "without consensus": ("S2MVTC", {"beta": 0.0}),
    "full": ("S2MVTC", {}),
}
SCORES = ("ACC", "NMI", "ARI")


def runs(
    data: Iterable[DataSet],
    *,
    orders: tuple[str, ...] = ("file", "shuffled"),
    n_seeds: int = 5,
) -> list[Run]:
    """The published variants in every order, the default's on shuffled rows."""
    wanted = [(order, PUBLISHED_VARIANTS) for order in orders]
    return [
        Run(d, order, method, setting, seed)
        for d in data
        for seed in range(n_seeds)
        for order, variants in [*wanted, ("shuffled", DEFAULT_VARIANTS)]
        for method, setting in variants.values()
    ]


def tables(records: Iterable[Record]) -> list[Table]:
    """One table per data set for the published setting, one for the default."""
    groups = by(summarise(records), lambda s: s.data).items()
    return [make(*g) for g in groups for make in (_published_table, _default_table)]


def _published_table(data: str, group: list[Summary]) -> Table:
    """Rows are orders and scores, columns the variants, as in the paper."""
    caption = (
        f"{data}, S²MVTC as published without one part at a time, "
        f"{most_seeds(group)} seeds: mean ± standard deviation"
    )
    columns = ["row order", "score", *PUBLISHED_VARIANTS]
    table = Table(f"ablation-{data}-published", caption, columns)
    mine = [s for s in group if s.method == PUBLISHED]
    for order, found in by(mine, lambda s: s.order).items():
        picked = pick(found, PUBLISHED_VARIANTS)
        for score in SCORES:
            table.add(IN_WORDS[order], score, *cells(picked, score))
        named = (f"{IN_WORDS[order].capitalize()}, {v}" for v in PUBLISHED_VARIANTS)
        table.notes += failures(zip(named, picked, strict=True))
    paper = paper_tables.ablation().get(data)
    if paper:
        shown = (f"{paper[v]:.3f}" for v in PUBLISHED_VARIANTS)
        table.add("in the paper (sorted)", "ACC", *shown)
        table.notes.append(f"In the paper: Table 4 of {paper_tables.SOURCE}.")
    return table


def _default_table(data: str, group: list[Summary]) -> Table:
    caption = (
        f"{data}, S2MVTC with default settings without one part at a time, "
        f"rows shuffled, {most_seeds(group)} seeds: mean ± standard deviation"
    )
    table = Table(f"ablation-{data}-default", caption, ["score", *DEFAULT_VARIANTS])
    found = pick([s for s in group if s.order == "shuffled"], DEFAULT_VARIANTS)
    for score in SCORES:
        table.add(score, *cells(found, score))
    table.notes += failures(zip(DEFAULT_VARIANTS, found, strict=True))
    return table


def pick(group: Iterable[Summary], variants: Variants) -> list[Summary | None]:
    """The summary of every variant, None where there is none."""
    found = {(s.method, str(s.setting)): s for s in group}
    return [found.get((m, str(setting))) for m, setting in variants.values()]
