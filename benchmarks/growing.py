"""Grown data: false alarms of `drift`, alarms that are due, numbers that a refit keeps.

    MANYVIEW_DATA=... python benchmarks/growing.py               # all that is found
    MANYVIEW_DATA=... python benchmarks/growing.py --data MSRC-v5 Handwritten
    python benchmarks/growing.py --quick --out growing.md        # generated rows

A model is fitted to a random half of the rows. The other half is checked for drift, as
it is (alarms are false) and with noise of one standard deviation on every feature of
one view (the alarm is right where it names this view alone). Then the model is fitted
again to all rows with another seed: which share of the first half keeps its cluster
under its number, beside the share that the best renumbering would keep. Every known set
of at most 2,500 rows, and generated ones. No labels are used but their number.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import figures
from manyview import S2MVTC, Views, drift
from manyview.datasets import known
from manyview.errors import ManyviewWarning
from manyview.experiments.data_set import DataSet, found
from manyview.files.atomic import write_text
from manyview.metrics import accuracy

MOST_ROWS = 2500
SPLITS = 20
RATE = 0.05
PAGE = figures.ROOT / "benchmarks" / "results" / "growing.md"
GENERATED = {"n_samples": 1000, "n_features": [10, 15, 8], "n_clusters": 5}


def worn(views: Views, v: int, rng: np.random.Generator) -> Views:
    """The rows with noise on one view."""
    arrays = list(views.arrays)
    own = arrays[v].toarray() if sp.issparse(arrays[v]) else np.array(arrays[v])
    arrays[v] = own + rng.normal(size=own.shape) * own.std(axis=0)
    return Views(arrays, names=views.names, present=views.present)


def measure(data: DataSet, n_splits: int) -> dict[str, Any]:
    """One line of the table."""
    views = data.load()
    k, n = len(np.unique(views.labels)), len(views)
    false, named, kept, fresh = 0, 0, [], []
    for seed in range(n_splits):
        rng = np.random.default_rng(seed)
        rows = rng.permutation(n)
        half, rest = rows[: n // 2], rows[n // 2 :]
        model = S2MVTC(k, random_state=seed).fit(views[half])
        before = model.labels_
        calm = drift(model, views[rest], rate=RATE)
        false += calm.drifted or bool(calm.shares)
        v = int(rng.integers(views.n_views))
        alarm = drift(model, worn(views[rest], v, rng), rate=RATE)
        named += alarm.views == [views.names[v]]
        model.set_params(random_state=seed + n_splits)
        model.refit(views[rows])
        kept.append((model.labels_[: len(half)] == before).mean())
        fresh.append(accuracy(before, model.labels_[: len(half)]))
    return {
        "data": data.name,
        "rows": n,
        "clusters": k,
        "false alarms": f"{false} of {n_splits}",
        "right alarms": f"{named} of {n_splits}",
        "rows that keep their number": f"{np.mean(kept):.3f}",
        "at best": f"{np.mean(fresh):.3f}",
    }


def sets(names: list[str] | None) -> list[DataSet]:
    """Generated data of two qualities, and every known set that is small and found."""
    made = [
        DataSet.generated(
            f"generated, quality {q}", view_quality=q, random_state=0, **GENERATED
        )
        for q in (1.0, 0.5)
    ]
    small = {k.name for k in known() if k.rows <= MOST_ROWS}
    real = [d for d in found() if d.name in (names or small)]
    return [*made, *real]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="*", help="of the known sets only these")
    parser.add_argument("--quick", action="store_true", help="generated data alone")
    parser.add_argument("--out", type=Path, default=PAGE, help="Markdown file to write")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ManyviewWarning)
    small = DataSet.generated("small", random_state=0, **GENERATED)
    rows: list[dict[str, Any]] = []
    for data in [small] if options.quick else sets(options.data):
        rows.append(measure(data, 5 if options.quick else SPLITS))
        print(rows[-1], flush=True)
        text = [
            f"{SPLITS} random halves, alarms at a rate of {RATE}.",
            figures.describe(figures.machine()),
            "<!-- table -->",
            figures.table(rows),
        ]
        write_text(options.out, "# Grown data\n\n" + "\n\n".join(text) + "\n")


if __name__ == "__main__":
    main()
