"""What fits of the views do to clusters of many rows, set by set.

    MANYVIEW_DATA=... python benchmarks/many_rows.py
    MANYVIEW_DATA=... python benchmarks/many_rows.py --data AwA-5view --seeds 1
    python benchmarks/many_rows.py --quick --out many.md

ACC, NMI and ARI of S2MVTC on shuffled rows, without and with `stages.telling_apart`
and `stages.whole_rows`, and how many of the fits took either: first sets of more than
8,192 rows and generated ones, then small sets on the road of many rows, with 1,000
rows or a third whose neighbours are looked up.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import figures
from honest import SPECIAL
from knowledge import shown
from manyview import S2MVTC
from manyview.engine.contract import lowered, sizes
from manyview.errors import ManyviewWarning
from manyview.experiments.data_set import DataSet, row_order
from manyview.files.atomic import write_text
from manyview.metrics import accuracy, ari, nmi
from manyview.stages import refining

SEEDS = 3
LARGE = (
    "Cifar-10-deep", "ALOI-100", "IndianPines", "AwA-5view", "PUC-Rio-HAR",
    "HAPT_windows", "GesturePhase",
)  # fmt: skip
SMALL = (
    "100Leaves", "BDGP", "CCV", "Cora", "Handwritten", "HW2sources", "MSRC-v5",
    "multiview_mnist", "ORL", "Reuters-1200", "Scene-15", "Wikipedia",
)  # fmt: skip
# Sizes of clusters one to forty and one to fifteen, a view of noise, and equal ones.
GENERATED = {
    "1 : 40": {"n_clusters": 8, "imbalance": 40.0, "view_quality": [0.6, 0.5, 0.3]},
    "1 : 15": {"n_clusters": 12, "imbalance": 15.0, "view_quality": [0.5, 0.6, 0.4]},
    "noise": {"n_clusters": 10, "view_quality": [0.0, 0.6, 0.5]},
    "equal": {"n_clusters": 10, "view_quality": [0.4, 0.5, 0.4]},
}
WIDTHS, ROWS = [20, 30, 40], 12_000
SMALL_ROWS = 1000
BY_VIEWS = ("tell_apart", "follow_whole_rows")
SCORES = {"ACC": accuracy, "NMI": nmi, "ARI": ari}
PAGE = figures.ROOT / "benchmarks" / "results" / "many_rows.md"


def generated(n_rows: int) -> list[DataSet]:
    """Data on which nothing was chosen; the first is like one that was looked at."""
    size = {"n_samples": n_rows, "n_features": WIDTHS, "random_state": 0}
    return [
        DataSet.generated(f"generated, {name}", **size, **how)
        for name, how in GENERATED.items()
    ]


def measure(data: DataSet, seeds: Sequence[int], exact_rows: int) -> dict[str, Any]:
    """Means over seeds: one line of the table."""
    views = data.load()
    classes = np.unique(views.labels, return_inverse=True)[1]
    plain, told, taken = [], [], 0
    if len(views) <= sizes.exact_rows:  # others are on the road of many as they are
        exact_rows = min(exact_rows, len(views) // 3)
    for seed in seeds:
        order = row_order("shuffled", views.labels, len(views), seed)
        model = S2MVTC(classes.max() + 1, random_state=seed)
        with lowered(exact_rows=exact_rows):
            found = model.fit(views[order]).labels_
            takes, other = len(model._passes.rounds) > model.max_iter, found
            if takes:  # else the fit without is the same
                without = dict.fromkeys(BY_VIEWS, lambda *_: None)
                with mock.patch.multiple(refining, **without):
                    other = model.fit(views[order]).labels_
        taken += takes
        told.append([score(classes[order], found) for score in SCORES.values()])
        plain.append([score(classes[order], other) for score in SCORES.values()])
    line: dict[str, Any] = {"data": data.name, "rows": len(views), "taken": taken}
    for name, values in (("without", plain), ("with", told)):
        means = zip(SCORES, np.mean(values, axis=0), strict=True)
        line |= {f"{score} {name}": float(value) for score, value in means}
    return line


def page(tables: dict[str, list[dict[str, Any]]], seeds: Sequence[int]) -> str:
    """Both tables, each with its means."""
    parts = [
        "# Many rows, with and without fits of the views",
        f"{len(seeds)} seeds, shuffled rows.",
        figures.describe(figures.machine()),
    ]
    for name, lines in tables.items():
        columns = [n for n, v in lines[0].items() if isinstance(v, float)]
        mean = {n: float(np.mean([line[n] for line in lines])) for n in columns}
        total = dict.fromkeys(lines[0], "") | {"data": f"mean of {len(lines)}", **mean}
        parts += [f"**{name}**", figures.table([shown(x) for x in [*lines, total]])]
    return "\n\n".join(parts).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="*", help="only these sets")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--quick", action="store_true", help="generated data alone")
    parser.add_argument("--out", type=Path, default=PAGE, help="Markdown file to write")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ManyviewWarning)
    named = {n: SPECIAL.get(n) or DataSet(n, n) for n in (*LARGE, *SMALL)}
    wanted = options.data or list(named)
    large = [named[n] for n in LARGE if n in wanted]
    large += [] if options.data else generated(ROWS)
    small = [named[n] for n in SMALL if n in wanted]
    if options.quick:
        large, small = [], generated(1500)[:1]
    roads = {
        "More than 8,192 rows": (large, sizes.exact_rows),
        "Fewer rows, on the road of many": (small, SMALL_ROWS),
    }
    tables: dict[str, list[dict[str, Any]]] = {}
    seeds = range(options.seeds)
    for name, (sets, exact_rows) in roads.items():
        for data in sets:
            line = measure(data, seeds, exact_rows)
            tables.setdefault(name, []).append(line)
            print(shown(line), flush=True)
            write_text(options.out, page(tables, seeds))


if __name__ == "__main__":
    main()
