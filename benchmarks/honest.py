"""The honest benchmark: shuffled rows, default settings, every method, many seeds.

    MANYVIEW_DATA=... python benchmarks/honest.py --out honest --jobs 2

Stopped and started again it goes on where it was. `--quick` runs a small
generated data set, `--ordered` only the part in true order. Every compared method
runs twice, as it prepares its views itself and on our scaling (`--preparation`),
and a third time with its authors' protocol where that differs from ours.
`python benchmarks/honest_pictures.py honest` draws the figures.
The settings were looked at on both halves; see DESIGN.md.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any, NamedTuple

from manyview.datasets import known
from manyview.experiments import ablation
from manyview.experiments.data_set import DataSet
from manyview.experiments.estimators import (
    ALONG_AN_ORDER,
    ON_OUR_SCALING,
    method_names,
    names_by_authors,
    names_on_our_scaling,
)
from manyview.experiments.execute import Limits, execute
from manyview.experiments.planned_run import Record, Run
from manyview.experiments.results_file import Results
from manyview.experiments.seed_summary import SCORES, Summary, by, summarise
from manyview.files.atomic import write_text
from manyview.present.table import Table
from ranking import better_preparations, score_tables, standing, standing_tables

TUNING = (
    "100Leaves", "3Sources", "BBCSport-2view", "CCV", "Cifar-10-deep", "Handwritten",
    "MSRC-v5", "multiview_mnist", "Prokaryotic", "Scene-15",
)  # fmt: skip
HELD_OUT = (
    "ALOI-1k", "ALOI-100", "AwA-5view", "BDGP", "CITE-InHouse", "Cora", "HW2sources",
    "nutrimouse", "ORL", "ProteinFold", "PUC-Rio-HAR", "Reuters-1200", "SNAREseq",
    "Wikipedia",
)  # fmt: skip
ELEVEN = (
    "MSRC-v5", "ORL", "Handwritten", "3Sources", "ProteinFold", "SNAREseq",
    "HW2sources", "Wikipedia", "100Leaves", "Scene-15", "CCV",
)  # fmt: skip
SEQUENCES = ("GesturePhase", "HAPT_windows", "IndianPines")
GROUPS = {
    "tuning half": TUNING,
    "held-out half": HELD_OUT,
    "all": (*TUNING, *HELD_OUT),
    "eleven": ELEVEN,
}
# The class "unknown" is none, though its cells are there; and a smaller ALOI.
SPECIAL = {
    "CITE-InHouse": DataSet("CITE-InHouse", "CITE-InHouse", unscored_classes=(6,)),
    "ALOI-100": DataSet("ALOI-100", "ALOI-1k", first_classes=100),
}
LARGE = 20_000
TIME_LIMIT = 1800.0


class Plan(NamedTuple):
    """What is run: data sets, methods, seeds and the range of durations."""

    names: list[str]
    groups: dict[str, tuple[str, ...]]
    sequences: list[str]
    methods: list[str]
    seeds: int
    seeds_when_large: int = 3
    range_seeds: int = 5
    durations: tuple[int, ...] = (10, 20, 40)

    def seeds_of(self, name: str) -> range:
        """Ten, or three for large data."""
        rows = {k.name: k.rows for k in known()}
        large = rows.get(name, 0) > LARGE
        return range(self.seeds_when_large if large else self.seeds)


def data_set(name: str) -> DataSet:
    """By its name in the lists above."""
    return SPECIAL.get(name) or DataSet(name, name)


def shuffled_runs(plan: Plan) -> list[Run]:
    """Every method with its default setting."""
    return [
        Run(data_set(name), "shuffled", method, {}, seed)
        for name in plan.names
        for method in plan.methods
        for seed in plan.seeds_of(name)
    ]


def ablation_runs(plan: Plan) -> list[Run]:
    """The default method without one part at a time."""
    return [
        Run(data_set(name), "shuffled", method, setting, seed)
        for name in plan.names
        for method, setting in ablation.DEFAULT_VARIANTS.values()
        for seed in plan.seeds_of(name)
    ]


def ordered_runs(plan: Plan) -> list[Run]:
    """True order: every method, and sequence smoothing over a range of durations."""
    settings: list[tuple[str, dict[str, Any]]] = [(m, {}) for m in plan.methods]
    settings += [
        (ALONG_AN_ORDER, {"graph": graph, "min_duration": duration})
        for graph in (False, True)
        for duration in plan.durations
    ]
    return [
        Run(data_set(name), "file", method, setting, seed)
        for name in plan.sequences
        for method, setting in settings
        for seed in range(plan.range_seeds)
    ]


def ordered_tables(records: list[Record]) -> list[Table]:
    """One table per sequence: every method, and SequenceS2MVTC by duration."""
    tables = []
    for data, group in by(summarise(records), lambda s: s.data).items():
        table = Table(
            name=f"ordered-{data}",
            caption=f"{data} in its true order, {len(group[0].records)} seeds: mean ± "
            "standard deviation",
            columns=["method", "graph", "min_duration", *SCORES],
        )
        for s in group:
            how = (str(s.setting.get(n, "–")) for n in ("graph", "min_duration"))
            table.add(s.method, *how, *(s.show(n) for n in SCORES))
        tables.append(table)
    return tables


def ablation_table(records: list[Record], names: list[str]) -> Table:
    """ACC of every variant on every data set."""
    variants = ablation.DEFAULT_VARIANTS
    table = Table(
        name="ablation",
        caption="Default S2MVTC without one part at a time, rows shuffled: ACC, mean ± "
        "standard deviation",
        columns=["data", *variants],
    )
    found = by(summarise(records), lambda s: s.data)
    for name in names:
        row = ablation.pick(found.get(name, []), variants)
        table.add(name, *("–" if s is None else s.show("ACC") for s in row))
    return table


def write(out: Path, tables: list[Table], content: dict[str, Any]) -> None:
    """All tables on one Markdown page and each by itself; the figures as JSON."""
    for table in tables:
        table.write(out / "tables")
    write_page(out, tables, content)


def write_page(out: Path, tables: list[Table], content: dict[str, Any]) -> None:
    """All tables on one Markdown page; the figures as JSON."""
    page = "# The honest benchmark\n\n" + "\n".join(t.to_markdown() for t in tables)
    write_text(out / "honest.md", page)
    write_text(out / "honest.json", json.dumps(content, indent=1, sort_keys=True))


def shuffled_tables(
    rows: list[dict[str, Any]], better: list[dict[str, Any]], found: list[Summary]
) -> list[Table]:
    """Standing of all and of the better preparations, then every score."""
    tables = standing_tables(rows, "standing")
    tables += standing_tables(
        better, "better-preparation", "better preparation of each"
    )
    return tables + score_tables(found, "shuffled", "Rows shuffled")


def benchmark(
    plan: Plan, results: Results, limits: Limits, *, ablate: bool = True
) -> None:
    """Run what is missing and write the page."""
    records = execute(shuffled_runs(plan), results, limits)
    summaries = summarise(records)
    rows = standing(summaries, results, plan.groups)
    better = standing(better_preparations(summaries), results, plan.groups)
    tables = shuffled_tables(rows, better, summaries)
    content: dict[str, Any] = {"standing": rows, "shuffled": _plain(records)}
    content |= {"better": better, "groups": plan.groups}
    write(results.folder, tables, content)
    if ablate:
        parts = execute(ablation_runs(plan), results, limits)
        tables.append(ablation_table(parts, plan.names))
        content["ablation"] = _plain(parts)
    write(results.folder, tables, content)
    true_order = ordered_benchmark(plan, results, limits)
    tables += ordered_tables(true_order)
    content["ordered"] = _plain(true_order)
    write(results.folder, tables, content)


def ordered_benchmark(plan: Plan, results: Results, limits: Limits) -> list[Record]:
    """The part in true order, on a page of its own."""
    records = execute(ordered_runs(plan), results, limits)
    page = "\n".join(t.to_markdown() for t in ordered_tables(records))
    write_text(results.folder / "ordered.md", page)
    figures = json.dumps(_plain(records), indent=1, sort_keys=True)
    write_text(results.folder / "ordered.json", figures)
    return records


def _plain(records: list[Record]) -> list[dict[str, Any]]:
    """One entry per data set, method and setting."""
    return [
        {
            "data": s.data,
            "method": s.method,
            "preparation": "own" if s.method.endswith(ON_OUR_SCALING) else "authors",
            "setting": s.setting,
            "n_seeds": len(s.ok),
            "error": s.failure,
            "scores": {n: s.values(n) for n in SCORES},
            "cpu_s": s.mean("cpu_s"),
            "wall_s": s.mean("wall_s"),
            "peak_bytes": s.mean("peak_bytes"),
        }
        for s in summarise(records)
    ]


def quick_plan() -> Plan:
    """A small generated data set and two methods: does everything run?"""
    SPECIAL["small"] = DataSet.generated(
        "small", n_samples=90, n_features=[4, 5], n_clusters=3, random_state=0
    )
    groups = {"tuning half": ("small",), "all": ("small",)}
    return Plan(
        ["small"], groups, ["small"],
        ["ConcatKMeans", "ConcatKMeans" + ON_OUR_SCALING, "S2MVTC"],
        seeds=2, range_seeds=1, durations=(10,),
    )  # fmt: skip


def full_plan(
    data: list[str] | None, methods: list[str] | None, seeds: int, preparation: str
) -> Plan:
    """Everything, or the named data sets, methods and preparation, or fewer seeds."""
    theirs = methods or [*method_names(), *names_by_authors()]
    ours = [
        m
        for m in names_on_our_scaling()
        if {m, m.removesuffix(ON_OUR_SCALING)} & set(theirs)
    ]
    names = {"authors": theirs, "own": ours, "both": [*theirs, *ours]}[preparation]
    wanted = set(data or (*TUNING, *HELD_OUT, *SEQUENCES))
    groups = {g: tuple(n for n in names if n in wanted) for g, names in GROUPS.items()}
    return Plan(
        names=list(groups["all"]),
        groups={g: names for g, names in groups.items() if names},
        sequences=[n for n in SEQUENCES if n in wanted],
        methods=list(dict.fromkeys(names)),
        seeds=seeds,
    )


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="honest", help="folder of the results")
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--retry", action="store_true", help="run failed runs again")
    parser.add_argument("--quick", action="store_true", help="small generated data")
    parser.add_argument("--no-ablation", action="store_true", help="methods only")
    parser.add_argument("--ordered", action="store_true", help="only true order")
    parser.add_argument("--data", nargs="*", help="only these data sets")
    parser.add_argument("--methods", nargs="*", help="only these methods")
    parser.add_argument(
        "--preparation",
        choices=("authors", "own", "both"),
        default="both",
        help="of the views: the method's own (authors), our scaling (own), or both",
    )
    parser.add_argument("--seeds", type=int, default=10, help="shuffles per data set")
    args = parser.parse_args()
    results = Results(args.out)
    limits = Limits(TIME_LIMIT, jobs=args.jobs, retry_failed=args.retry)
    wanted = (args.data, args.methods, args.seeds, args.preparation)
    plan = quick_plan() if args.quick else full_plan(*wanted)
    if args.ordered:
        ordered_benchmark(plan, results, limits)
        return
    benchmark(plan, results, limits, ablate=not args.no_ablation)


if __name__ == "__main__":
    main()
