"""Planted outliers: does the score of `find_outliers` find them?

    MANYVIEW_DATA=... python benchmarks/outliers.py              # all that is found
    MANYVIEW_DATA=... python benchmarks/outliers.py --data MSRC-v5 Handwritten
    python benchmarks/outliers.py --quick --out outliers.md      # generated rows

5 % of the rows are made strange, in three ways: features between the least and the
largest of the set, in all views or in one, and rows of different classes that have
exchanged half of their views. Labels are used for that exchange and the area under the
ROC curve alone. Every known set of at most 2,500 rows, and generated ones.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

import figures
from manyview import S2MVTC
from manyview.datasets import known
from manyview.experiments.data_set import DataSet, found
from manyview.files.atomic import write_text

MOST_ROWS = 2500
SHARE = 0.05
SEEDS = 3
KINDS = ("noise in all views", "noise in one view", "views exchanged")
PAGE = figures.ROOT / "benchmarks" / "results" / "outliers.md"
GENERATED = {"n_samples": 1000, "n_features": [10, 15, 8], "n_clusters": 5}


def plant(
    arrays: list[Any], classes: Any, kind: str, rng: np.random.Generator
) -> tuple[list[Any], Any]:
    """The views with strange rows, and which these are."""
    dense = [x.toarray() if sp.issparse(x) else np.asarray(x) for x in arrays]
    views = [np.array(x, dtype=np.float64) for x in dense]
    n_rows, n_views = len(classes), len(views)
    rows = rng.permutation(n_rows)[: int(SHARE * n_rows)]
    if kind == "views exchanged":
        rows = exchange(views, rows, classes, rng)
    else:
        for row in rows:
            some = range(n_views) if kind == KINDS[0] else [rng.integers(n_views)]
            for v in some:
                views[v][row] = rng.uniform(dense[v].min(axis=0), dense[v].max(axis=0))
    planted = np.zeros(n_rows, dtype=bool)
    planted[rows] = True
    pairs = zip(views, arrays, strict=True)
    return [sp.csr_array(x) if sp.issparse(a) else x for x, a in pairs], planted


def exchange(
    views: list[Any], rows: Any, classes: Any, rng: np.random.Generator
) -> list[int]:
    """Pairs of rows of different classes, half of their views exchanged."""
    left, done = list(rows), []
    while left:
        row = left.pop()
        others = [other for other in left if classes[other] != classes[row]]
        if not others:
            continue
        left.remove(others[0])
        for v in rng.permutation(len(views))[: max(1, len(views) // 2)]:
            views[v][[row, others[0]]] = views[v][[others[0], row]]
        done += [row, others[0]]
    return done


def measure(data: DataSet) -> Iterator[dict[str, Any]]:
    """One line: the area for every kind, mean over seeds."""
    views = data.load()
    classes = np.unique(views.labels, return_inverse=True)[1]
    line: dict[str, Any] = {"data": data.name, "rows": len(views)}
    for kind in KINDS:
        areas = []
        for seed in range(SEEDS):
            rng = np.random.default_rng(seed)
            strange, planted = plant(list(views.arrays), classes, kind, rng)
            model = S2MVTC(int(classes.max()) + 1, random_state=seed).fit(strange)
            score = model.find_outliers(strange).score
            areas.append(roc_auc_score(planted, score))
        line[kind] = f"{np.mean(areas):.3f} ± {np.std(areas):.3f}"
    yield line


def sets(names: list[str] | None) -> list[DataSet]:
    """Generated rows, clear and less clear, and the known sets that are not large."""
    made = [
        DataSet.generated(
            f"generated, quality {q}", view_quality=q, random_state=0, **GENERATED
        )
        for q in (1.0, 0.75, 0.5)
    ]
    small = {k.name for k in known() if k.rows <= MOST_ROWS}
    real = [d for d in found() if d.name in (names or small)]
    return real if names else [*made, *real]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="*", help="only these data sets")
    parser.add_argument("--quick", action="store_true", help="generated data alone")
    parser.add_argument("--out", type=Path, default=PAGE, help="Markdown file to write")
    options = parser.parse_args()
    small = DataSet.generated("small", random_state=0, **GENERATED)
    rows: list[dict[str, Any]] = []
    for data in [small] if options.quick else sets(options.data):
        for line in measure(data):
            print(line, flush=True)
            rows.append(line)
        text = [
            f"Area under the ROC curve, {SHARE:.0%} of the rows planted, "
            f"{SEEDS} seeds.",
            figures.describe(figures.machine()),
            "<!-- table -->",
            figures.table(rows),
        ]
        write_text(options.out, "# Planted outliers\n\n" + "\n\n".join(text) + "\n")


if __name__ == "__main__":
    main()
