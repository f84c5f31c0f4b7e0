"""Many data sets at once: a table per score, means, average ranks, agreement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from statistics import mean
from typing import Any

import numpy as np
from scipy.stats import rankdata

from manyview.experiments.estimators import ON_OUR_SCALING, notes_on
from manyview.experiments.execute import labels_of
from manyview.experiments.results_file import Results
from manyview.experiments.seed_summary import (
    SCORES,
    Summary,
    by,
    cells,
    figure_cells,
)
from manyview.metrics import ari
from manyview.present.table import Table

RANKED = ("ACC", "NMI", "ARI")


def score_tables(summaries: Sequence[Summary], name: str, title: str) -> list[Table]:
    """One table per score: data sets down, methods across."""
    methods = list(by(summaries, lambda s: s.method))
    out = []
    for score in SCORES:
        table = Table(
            name=f"{name}-{score}",
            caption=f"{title}: {score}, mean ± standard deviation over seeds",
            columns=["data", *methods],
            notes=notes_on(methods),
        )
        for data, group in by(summaries, lambda s: s.data).items():
            found = {s.method: s for s in group}
            table.add(data, *cells([found.get(m) for m in methods], score))
        out.append(table)
    return out


def standing(
    summaries: Sequence[Summary],
    results: Results | None,
    groups: Mapping[str, Iterable[str]],
) -> list[dict[str, Any]]:
    """Means, ranks and agreement of every method over every group of data sets.

    Without `results` there are no labels that could agree.
    """
    out = []
    agreed = {id(s): agreement(s, results) if results else None for s in summaries}
    for group, names in groups.items():
        wanted = set(names)
        inside = [s for s in summaries if s.data in wanted]
        ranks = {score: average_ranks(inside, score) for score in RANKED}
        for method, found in by(inside, lambda s: s.method).items():
            ok = [s for s in found if s.ok]
            out.append(
                {
                    "group": group,
                    "method": method,
                    "n_data": len(found),
                    "n_ok": len(ok),
                    "means": {n: mean_known(s.mean(n) for s in ok) for n in SCORES},
                    "ranks": {n: ranks[n][method][0] for n in RANKED},
                    "agreement": mean_known(agreed[id(s)] for s in ok),
                }
            )
    return out


def better_preparations(summaries: Sequence[Summary]) -> list[Summary]:
    """Of every method the preparation of its views with the higher mean accuracy.

    Over the data sets that it has finished on both; the labels choose, so that no
    method loses by its preparation alone.
    """
    found = by(summaries, lambda s: s.method)
    kept = []
    for method, own in found.items():
        other = found.get(_on_the_other_scaling(method), [])
        if not other or _mean_on(own, other) >= _mean_on(other, own):
            kept += own
    return kept


def _on_the_other_scaling(method: str) -> str:
    if method.endswith(ON_OUR_SCALING):
        return method.removesuffix(ON_OUR_SCALING)
    return method + ON_OUR_SCALING


def _mean_on(own: list[Summary], other: list[Summary]) -> tuple[float, bool]:
    """Mean accuracy on the data sets of both; where level, the method's own wins."""
    shared = {s.data for s in own if s.ok} & {s.data for s in other if s.ok}
    values = mean_known(s.mean("ACC") for s in own if s.data in shared)
    return values or 0.0, not own[0].method.endswith(ON_OUR_SCALING)


def standing_tables(
    rows: Sequence[dict[str, Any]], name: str, what: str = ""
) -> list[Table]:
    """One table per group: means of the seven scores, average ranks, agreement."""
    groups = by(rows, lambda row: row["group"])
    return [_standing_table(g, lines, name, what) for g, lines in groups.items()]


def _standing_table(
    group: str, rows: list[dict[str, Any]], name: str, what: str
) -> Table:
    n_data = max(r["n_data"] for r in rows)
    table = Table(
        name=f"{name}-{group.replace(' ', '-')}",
        caption=f"{what and what.capitalize() + ': '}"
        f"Mean over {n_data} data sets ({group}), average ranks (1 is best), "
        "agreement of the labels between seeds (mean ARI)",
        columns=["method", *SCORES, *(f"rank {n}" for n in RANKED), "agreement",
                 "data sets"],
    )  # fmt: skip
    columns = [
        *(figure_cells([r["means"][n] for r in rows]) for n in SCORES),
        *(figure_cells([r["ranks"][n] for r in rows], lowest=True) for n in RANKED),
        figure_cells([r["agreement"] for r in rows]),
    ]
    for row, *shown in zip(rows, *columns, strict=True):
        table.add(row["method"], *shown, f"{row['n_ok']}/{n_data}")
    table.notes += notes_on(r["method"] for r in rows)
    if any(r["n_ok"] < n_data for r in rows):
        table.notes.append(
            "A method that failed on a data set takes the last rank there; its means "
            "are over the data sets it finished."
        )
    return table


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
