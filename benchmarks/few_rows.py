"""What each step of a fit of few rows carries, set by set.

    MANYVIEW_DATA=... python benchmarks/few_rows.py --jobs 2
    MANYVIEW_DATA=... python benchmarks/few_rows.py --data MSRC-v5 ORL --seeds 1
    python benchmarks/few_rows.py --quick --out few.md

ACC, NMI and ARI of S2MVTC on shuffled rows of the honest benchmark's sets of at most
8,192 rows, as it is and without one step at a time, down to the communities alone.
"""

from __future__ import annotations

import argparse
import warnings
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

import figures
from honest import HELD_OUT, TUNING, data_set
from manyview import S2MVTC
from manyview.datasets import known
from manyview.engine.contract import sizes
from manyview.errors import ManyviewWarning
from manyview.experiments.data_set import DataSet, row_order
from manyview.files.atomic import write_text
from manyview.metrics import accuracy, ari, nmi
from manyview.stages import communities, held_out

SEEDS = 3
SCORES = {"ACC": accuracy, "NMI": nmi, "ARI": ari}
PAGE = figures.ROOT / "benchmarks" / "results" / "few_rows.md"
NEVER = SimpleNamespace(scores=None)


def _replaced(name: str, with_what: Any) -> list[AbstractContextManager[Any]]:
    return [mock.patch.object(communities, name, with_what)]


def variants() -> dict[str, list[AbstractContextManager[Any]]]:
    """What stands in for a step that is left out."""
    communities_alone = _replaced("settled", lambda rows, labels, *_: labels)
    communities_alone += _replaced(
        "moved_as_seen", lambda rows, seen, labels, *_: labels
    )
    return {
        "whole": [],
        "no fits to prepared views": _replaced(
            "in_columns", lambda kinds, nodes: held_out.in_columns(kinds[:1], nodes)
        ),
        "no fits at all": _replaced("held_out", lambda *_: NEVER),
        "no k-means": _replaced("tells_more", lambda *_: False),
        "communities alone": communities_alone,
    }


def small_sets() -> list[str]:
    """Of the honest benchmark, those where all rows' neighbours are looked up."""
    few = {k.name for k in known() if k.rows <= sizes.exact_rows}
    return [name for name in (*TUNING, *HELD_OUT) if name in few]


def scores(data: DataSet, variant: str, seed: int) -> list[float]:
    """Of one fit."""
    warnings.simplefilter("ignore", ManyviewWarning)
    views = data.load()
    order = row_order("shuffled", views.labels, len(views), seed)
    counts = data.is_scored(views.labels)[order]
    classes = views.labels[order][counts]
    model = S2MVTC(len(np.unique(classes)), random_state=seed)
    with ExitStack() as stack:
        for change in variants()[variant]:
            stack.enter_context(change)
        labels = model.fit(views[order]).labels_[counts]
    return [score(classes, labels) for score in SCORES.values()]


def measure(sets: list[DataSet], seeds: int, jobs: int) -> dict[Any, list[float]]:
    """Means over seeds by set and variant."""
    cells = [(data, variant) for data in sets for variant in variants()]
    found = {}
    with ProcessPoolExecutor(jobs) as pool:
        runs = {
            (data.name, variant): [
                pool.submit(scores, data, variant, seed) for seed in range(seeds)
            ]
            for data, variant in cells
        }
        try:
            for cell, started in runs.items():
                done = np.mean([run.result() for run in started], axis=0)
                found[cell] = [float(x) for x in done]
                print(*cell, *(f"{x:.3f}" for x in found[cell]), flush=True)
        except BaseException:  # the pool would run all others first
            pool.shutdown(cancel_futures=True)
            raise
    return found


def page(found: dict[Any, list[float]], seeds: int) -> str:
    """A table for every score, with the means of all sets below."""
    parts = [
        "# Few rows, without one step at a time",
        f"{seeds} seeds, shuffled rows.",
        figures.describe(figures.machine()),
    ]
    names = list(dict.fromkeys(data for data, _ in found))
    for i, score in enumerate(SCORES):
        lines = [
            {"data": name, **{v: f"{found[name, v][i]:.3f}" for v in variants()}}
            for name in names
        ]
        means = {v: np.mean([found[n, v][i] for n in names]) for v in variants()}
        mean = {v: f"{value:.3f}" for v, value in means.items()}
        total = {"data": f"mean of {len(names)}", **mean}
        parts += [f"**{score}**", figures.table([*lines, total])]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="*", help="only these sets")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--jobs", type=int, default=1, help="processes side by side")
    parser.add_argument("--quick", action="store_true", help="generated data alone")
    parser.add_argument("--out", type=Path, default=PAGE, help="Markdown file to write")
    options = parser.parse_args()
    sets = [data_set(name) for name in options.data or small_sets()]
    if options.quick:
        how = {"n_samples": 600, "n_features": [20, 30], "n_clusters": 5}
        sets = [DataSet.generated("small", view_quality=0.5, random_state=0, **how)]
    found = measure(sets, options.seeds, options.jobs)
    write_text(options.out, page(found, options.seeds))


if __name__ == "__main__":
    main()
