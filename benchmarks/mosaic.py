"""The mosaic case: no row has all views, chains of overlaps join them.

    MANYVIEW_DATA=... python benchmarks/mosaic.py              # all that is found
    MANYVIEW_DATA=... python benchmarks/mosaic.py --data Handwritten MSRC-v5
    python benchmarks/mosaic.py --quick --out mosaic.md        # generated rows

Every row keeps two views that stand beside each other, drawn at random: the first and
the second, the second and the third, and so on. Accuracy of S2MVTC with all views, on
the mosaic, and of the rows of every link clustered by themselves (mean over the links,
each with labels of its own). Known sets of three views and more and at most 2,500 rows.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import figures
from manyview import S2MVTC, Views
from manyview.datasets import known
from manyview.experiments.data_set import DataSet, found
from manyview.files.atomic import write_text
from manyview.metrics import accuracy

MOST_ROWS = 2500
SEEDS = 3
PAGE = figures.ROOT / "benchmarks" / "results" / "mosaic.md"
GENERATED = {"n_samples": 600, "n_features": [8, 12, 6, 10], "n_clusters": 4}


def mosaic(n_rows: int, n_views: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Which views every row has, and which link of the chain it is."""
    link = rng.integers(n_views - 1, size=n_rows)
    present = np.zeros((n_rows, n_views), dtype=bool)
    rows = np.arange(n_rows)
    present[rows, link] = present[rows, link + 1] = True
    return present, link


def measure(data: DataSet) -> dict[str, Any] | None:
    """Mean accuracies over seeds; None for sets of fewer than three views."""
    views = data.load()
    if views.n_views < 3:
        return None
    classes = np.unique(views.labels, return_inverse=True)[1]
    n_clusters = int(classes.max()) + 1
    scores = []
    for seed in range(SEEDS):
        present, link = mosaic(len(views), views.n_views, np.random.default_rng(seed))
        model = S2MVTC(n_clusters, random_state=seed)
        whole = accuracy(classes, model.fit(views).labels_)
        part = model.fit(Views(views.arrays, present=present)).labels_
        apart = []
        for j in range(views.n_views - 1):
            rows = np.flatnonzero(link == j)
            own = [x[rows] for x in views.arrays[j : j + 2]]
            apart.append(accuracy(classes[rows], model.fit(own).labels_))
        scores.append((whole, accuracy(classes, part), np.mean(apart)))
    names = ("all views", "mosaic", "links by themselves")
    line = {"data": data.name, "rows": len(views), "views": views.n_views}
    means = np.mean(scores, axis=0)
    return line | {n: f"{m:.3f}" for n, m in zip(names, means, strict=True)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="*", help="only these data sets")
    parser.add_argument("--quick", action="store_true", help="generated data alone")
    parser.add_argument("--out", type=Path, default=PAGE, help="Markdown file to write")
    options = parser.parse_args()
    small = {k.name for k in known() if k.rows <= MOST_ROWS}
    sets = [DataSet.generated("generated", random_state=0, **GENERATED)]
    if not options.quick:
        sets += [d for d in found() if d.name in (options.data or small)]
    rows = []
    for data in sets:
        line = measure(data)
        if line is None:
            continue
        print(line, flush=True)
        rows.append(line)
        text = [f"Accuracy, mean of {SEEDS} seeds.",
                figures.describe(figures.machine()), "<!-- table -->",
                figures.table(rows)]  # fmt: skip
        write_text(options.out, "# Mosaics of views\n\n" + "\n\n".join(text) + "\n")


if __name__ == "__main__":
    main()
