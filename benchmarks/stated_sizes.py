"""What stated sizes do: equal ones, and a least size, beside a plain fit.

    MANYVIEW_DATA=... python benchmarks/stated_sizes.py
    MANYVIEW_DATA=... python benchmarks/stated_sizes.py --data ORL BDGP --seeds 1
    python benchmarks/stated_sizes.py --quick --out sizes.md   # generated rows

ACC of S2MVTC on shuffled rows, plain, with `cluster_sizes="equal"`, and with
`min_cluster_size` half of n_samples / n_clusters. First the sets whose classes are
of one size (the largest at most a quarter above the smallest), then the others.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import figures
from honest import SPECIAL
from knowledge import shown
from manyview import S2MVTC
from manyview.errors import ManyviewWarning
from manyview.experiments.data_set import DataSet, found, row_order
from manyview.files.atomic import write_text
from manyview.metrics import accuracy

NEARLY_EQUAL = 1.25
SEEDS = 3
SETS = (
    "100Leaves", "3Sources", "BDGP", "CCV", "HW2sources", "Handwritten", "MSRC-v5",
    "multiview_mnist", "ORL", "Prokaryotic", "Reuters-1200", "Wikipedia",
)  # fmt: skip
PAGE = figures.ROOT / "benchmarks" / "results" / "stated_sizes.md"
GENERATED = {"n_samples": 600, "n_features": [10, 8], "n_clusters": 4}


def measure(data: DataSet, seeds: int) -> dict[str, Any]:
    """Means over seeds: one line of the table, as figures."""
    views = data.load()
    scored = data.is_scored(views.labels)
    classes = np.unique(views.labels, return_inverse=True)[1]
    k, counts = len(np.unique(classes[scored])), np.bincount(classes[scored])
    lines = []
    for seed in range(seeds):
        order = row_order("shuffled", views.labels, len(views), seed)
        rows, own, there = views[order], classes[order], scored[order]

        def score(order_of: Any = rows, is_there: Any = there, **stated: Any) -> float:
            model = S2MVTC(k, random_state=seed).fit(order_of, **stated)  # noqa: B023
            return accuracy(own[is_there], model.labels_[is_there])  # noqa: B023

        plain, equal = score(), score(cluster_sizes="equal")
        least = score(min_cluster_size=len(views) // (2 * k))
        lines.append({"plain": plain, "equal": equal, "at least half": least})
    means = {name: float(np.mean([line[name] for line in lines])) for name in lines[0]}
    sizes = {
        "smallest class": int(counts[counts > 0].min()),
        "largest": int(counts.max()),
    }
    head = {"data": data.name, "rows": len(views), "clusters": k, **sizes}
    return {**head, **means}


def is_equal(line: dict[str, Any]) -> bool:
    return bool(line["largest"] <= NEARLY_EQUAL * line["smallest class"])


def page(lines: list[dict[str, Any]], seeds: int) -> str:
    """Two tables: classes of one size, and others."""
    parts = [
        "# What stated sizes do",
        f"ACC, {seeds} seeds, shuffled rows.",
        figures.describe(figures.machine()),
    ]
    for name, of_one_size in (("equal", True), ("other", False)):
        part = [line for line in lines if is_equal(line) is of_one_size]
        parts.append(f"<!-- {name} -->")
        if part:
            columns = [n for n, v in part[0].items() if isinstance(v, float)]
            mean = {n: float(np.mean([line[n] for line in part])) for n in columns}
            total = dict.fromkeys(part[0], "") | {
                "data": f"mean of {len(part)}",
                **mean,
            }
            parts.append(figures.table([shown(line) for line in [*part, total]]))
    return "\n\n".join([*parts, "<!-- end -->"]).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="*", help="only these sets")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--quick", action="store_true", help="generated data alone")
    parser.add_argument("--out", type=Path, default=PAGE, help="Markdown file to write")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ManyviewWarning)
    wanted = options.data or SETS
    sets = [SPECIAL.get(d.name, d) for d in found() if d.name in wanted]
    if options.quick:
        sets = [
            DataSet.generated("small", view_quality=0.4, random_state=0, **GENERATED)
        ]
    lines = []
    for data in sets:
        lines.append(measure(data, options.seeds))
        print(shown(lines[-1]), flush=True)
        write_text(options.out, page(lines, options.seeds))


if __name__ == "__main__":
    main()
