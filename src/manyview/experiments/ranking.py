"""Many data sets at once: a table per score, means, average ranks, agreement."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import mean
from typing import Any

from manyview.experiments.results_file import Results
from manyview.experiments.seed_summary import (
    SCORES,
    Summary,
    agreement,
    average_ranks,
    by,
)
from manyview.present.table import Cell, Table, mark_best

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
        )
        for data, group in by(summaries, lambda s: s.data).items():
            found = {s.method: s for s in group}
            means = [found[m].mean(score) if m in found else None for m in methods]
            marks = mark_best(means)
            cells = [
                Cell(found[m].show(score) if m in found else "–", mark)
                for m, mark in zip(methods, marks, strict=True)
            ]
            table.add(data, *cells)
        out.append(table)
    return out


def standing(
    summaries: Sequence[Summary], results: Results, groups: Mapping[str, Iterable[str]]
) -> list[dict[str, Any]]:
    """Means, ranks and agreement of every method over every group of data sets."""
    out = []
    seeds = {id(s): agreement(s, results) for s in summaries}
    for group, names in groups.items():
        wanted = set(names)
        inside = [s for s in summaries if s.data in wanted]
        ranks = {score: average_ranks(inside, score) for score in RANKED}
        for method, found in by(inside, lambda s: s.method).items():
            ok = [s for s in found if s.ok]
            agree = [a for s in ok if (a := seeds[id(s)]) is not None]
            out.append(
                {
                    "group": group,
                    "method": method,
                    "n_data": len(found),
                    "n_ok": len(ok),
                    "means": {n: _mean(s.mean(n) for s in ok) for n in SCORES},
                    "ranks": {n: ranks[n][method][0] for n in RANKED},
                    "agreement": _mean(agree),
                }
            )
    return out


def standing_tables(rows: Sequence[dict[str, Any]], name: str) -> list[Table]:
    """One table per group: means of the seven scores, average ranks, agreement."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        tables.setdefault(row["group"], []).append(row)
    return [_standing_table(g, lines, name) for g, lines in tables.items()]


def _standing_table(group: str, rows: list[dict[str, Any]], name: str) -> Table:
    n_data = max(r["n_data"] for r in rows)
    ranks = [f"rank {n}" for n in RANKED]
    table = Table(
        name=f"{name}-{group.replace(' ', '-')}",
        caption=f"Mean over {n_data} data sets ({group}), average ranks (1 is best), "
        "agreement of the labels between seeds (mean ARI)",
        columns=["method", *SCORES, *ranks, "agreement", "data sets"],
    )
    columns = [
        *(([r["means"][n] for r in rows], False) for n in SCORES),
        *(([r["ranks"][n] for r in rows], True) for n in RANKED),
        ([r["agreement"] for r in rows], False),
    ]
    marks = [mark_best(values, lowest=low) for values, low in columns]
    for i, row in enumerate(rows):
        cells = [
            Cell("–" if values[i] is None else f"{values[i]:.3f}", mark[i])
            for (values, _), mark in zip(columns, marks, strict=True)
        ]
        table.add(row["method"], *cells, f"{row['n_ok']}/{n_data}")
    if any(r["n_ok"] < n_data for r in rows):
        table.notes.append(
            "A method that failed on a data set takes the last rank there; its means "
            "are over the data sets it finished."
        )
    return table


def _mean(values: Iterable[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return mean(known) if known else None
