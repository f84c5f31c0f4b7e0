"""Grown data: rows in pieces, false and due alarms of `drift`, numbers a refit keeps.

    MANYVIEW_DATA=... python benchmarks/growing.py               # all that is found
    MANYVIEW_DATA=... python benchmarks/growing.py --data MSRC-v5 Handwritten
    python benchmarks/growing.py --quick --out growing.md        # generated rows

*Rows in pieces.* `partial_fit` gets the rows in ten pieces, in three random orders;
the least agreement (ARI) of the result with one fit of all rows, and between the
orders; the agreement of that fit with one of another seed, which tells how well all
rows settle the clusters; the least of a model of the first piece alone that places all
rows; old rows that a piece has given another number; pieces that asked for a refit,
which would be false alarms; processor seconds of the last piece and of the one fit.
Generated rows beyond 8,192 stand where they are; in one more run their last piece has
noise of one standard deviation on every feature of one view, and the alarm is due.

*Alarms and numbers.* A model is fitted to a random half of the rows. The other half is
checked for drift, as it is (alarms are false) and with noise of one standard deviation
on every feature of one view (the alarm is right where it names this view alone). Then
the model is fitted again to all rows with another seed: which share of the first half
keeps its cluster under its number, beside the share that the best renumbering would
keep. No labels are used but their number.
"""

from __future__ import annotations

import argparse
import time
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

import figures
from manyview import S2MVTC, Views, drift
from manyview.errors import ManyviewWarning
from manyview.experiments.data_set import DataSet, found
from manyview.files.atomic import write_text
from manyview.metrics import accuracy

PIECES = (
    *("MSRC-v5", "3Sources", "ORL", "ProteinFold", "Handwritten", "100Leaves"),
    *("Wikipedia", "HW2sources", "SNAREseq", "Scene-15", "CCV"),
    "Cifar-10-deep",
)
ALARMS = ("MSRC-v5", "ORL", "Handwritten")
N_PIECES = 10
ORDERS = 3
SPLITS = 20
RATE = 0.05
PAGE = figures.ROOT / "benchmarks" / "results" / "growing.md"
GENERATED = {"n_samples": 1000, "n_features": [10, 15, 8], "n_clusters": 5}
MANY = {"n_samples": 30_000, "n_features": [20, 20, 20], "n_clusters": 10}


def worn(views: Views, v: int, rng: np.random.Generator) -> Views:
    """The rows with noise on one view."""
    arrays = list(views.arrays)
    own = arrays[v].toarray() if sp.issparse(arrays[v]) else np.array(arrays[v])
    arrays[v] = own + rng.normal(size=own.shape) * own.std(axis=0)
    return Views(arrays, names=views.names, present=views.present)


def fed(views: Views, k: int, rows: Any) -> tuple[S2MVTC, list[int], int, float]:
    """The model of rows in pieces: rows relabelled, alarms, seconds of the last one."""
    model, relabelled, alarms, seconds = S2MVTC(k, random_state=0), [], 0, 0.0
    for number, part in enumerate(np.array_split(rows, N_PIECES)):
        start = time.process_time()
        model.partial_fit(views[part])
        seconds = time.process_time() - start
        if number:
            relabelled.append(model.changes_.changed_rows)
            alarms += bool(model.changes_.refit_due)
    return model, relabelled, alarms, seconds


def in_pieces(data: DataSet) -> dict[str, Any]:
    """One line of the table of pieces."""
    views = data.load()
    k, n = len(np.unique(views.labels)), len(views)
    start = time.process_time()
    whole = S2MVTC(k, random_state=0).fit(views).labels_
    fitting = time.process_time() - start
    other = S2MVTC(k, random_state=1).fit(views).labels_
    found, alone, relabelled, alarms, seconds = [], [], [], 0, []
    for order in range(ORDERS):
        rows = np.random.default_rng(order).permutation(n)
        model, moved, told, last = fed(views, k, rows)
        labels = np.empty(n, dtype=int)
        labels[rows] = model.labels_
        found.append(labels)
        first = S2MVTC(k, random_state=0).fit(views[np.array_split(rows, N_PIECES)[0]])
        alone.append(adjusted_rand_score(whole, first.predict(views)))
        relabelled.append(np.sum(moved) / n)
        alarms += told
        seconds.append(last)
    between = [adjusted_rand_score(a, b) for a, b in combinations(found, 2)]
    return {
        "data": data.name,
        "rows": n,
        "clusters": k,
        "ARI with one fit": f"{min(adjusted_rand_score(whole, f) for f in found):.3f}",
        "between orders": f"{min(between):.3f}",
        "two seeds of it": f"{adjusted_rand_score(whole, other):.3f}",
        "first piece alone": f"{min(alone):.3f}",
        "relabelled, times": f"{np.mean(relabelled):.2f}",
        "alarms": f"{alarms} of {ORDERS * (N_PIECES - 1)}",
        "last piece, CPU s": f"{np.mean(seconds):.1f}",
        "one fit, CPU s": f"{fitting:.1f}",
    }


def last_piece_worn(data: DataSet) -> str:
    """What is said when the last piece of many rows has noise in one view."""
    views = data.load()
    k, rng = len(np.unique(views.labels)), np.random.default_rng(0)
    *before, last = np.array_split(rng.permutation(len(views)), N_PIECES)
    model = S2MVTC(k, random_state=0)
    for part in before:
        model.partial_fit(views[part])
    model.partial_fit(worn(views[last], 1, rng))
    return f"{data.name}, noise in {views.names[1]!r}: {model.changes_.refit_due}"


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


def real(wanted: tuple[str, ...], names: list[str] | None) -> list[DataSet]:
    """Those of the wanted sets that are found, smallest first."""
    some = [d for d in found() if d.name in wanted and (not names or d.name in names)]
    return sorted(some, key=lambda d: wanted.index(d.name))


def generated(name: str, quality: float, how: dict[str, Any]) -> DataSet:
    return DataSet.generated(
        f"{name}, quality {quality}", view_quality=quality, random_state=0, **how
    )


def page(pieces: list[Any], said: list[str], alarms: list[Any]) -> str:
    """The results as far as they go."""
    parts = ["# Grown data", figures.describe(figures.machine())]
    parts += [
        "## Rows in pieces",
        f"{N_PIECES} pieces, {ORDERS} random orders, random_state 0, one thread.",
        "<!-- pieces -->", figures.table(pieces), *said, "<!-- end of pieces -->",
        "## Alarms and numbers",
        f"{SPLITS} random halves, alarms at a rate of {RATE}.",
        "<!-- table -->", figures.table(alarms) if alarms else "",
    ]  # fmt: skip
    return "\n\n".join(parts).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="*", help="of the known sets only these")
    parser.add_argument("--quick", action="store_true", help="generated data alone")
    parser.add_argument("--out", type=Path, default=PAGE, help="Markdown file to write")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ManyviewWarning)
    pieces: list[dict[str, Any]] = []
    said: list[str] = []
    alarms: list[dict[str, Any]] = []
    few = [generated("generated", quality, GENERATED) for quality in (1.0, 0.5)]
    many = [generated("many", quality, MANY) for quality in (1.0, 0.5)]
    first, sets = few[:1], {n: real(n, options.data) for n in (PIECES, ALARMS)}
    if options.quick:
        first = [generated("pieces", 1.0, {**GENERATED, "n_samples": 300})]
        few, many, sets = [generated("small", 1.0, GENERATED)], [], {}

    def show(line: Any) -> None:
        print(line, flush=True)
        write_text(options.out, page(pieces, said, alarms))

    for data in [*first, *many, *sets.get(PIECES, [])]:
        pieces.append(in_pieces(data))
        show(pieces[-1])
    for data in many[:1]:
        said.append(last_piece_worn(data))
        show(said[-1])
    for data in [*few, *sets.get(ALARMS, [])]:
        alarms.append(measure(data, 5 if options.quick else SPLITS))
        show(alarms[-1])


if __name__ == "__main__":
    main()
