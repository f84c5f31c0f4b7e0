"""How many, against chance: rows without clusters, and the classes of labelled sets.

    python benchmarks/no_clusters.py                       # generated rows alone
    MANYVIEW_DATA=... python benchmarks/no_clusters.py     # and the sets that are found
    python benchmarks/no_clusters.py --quick --out none.md

Nine kinds of rows without clusters, from white noise to a line: how often is the
answer that there are none, with and without the comparison with clouds? Of the labelled
sets of at most 5,000 rows: is the best guess within 20 % of the number of classes?
The comparison never changes the guess. Labels are looked at for that count alone.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import figures
from manyview import choose_n_clusters
from manyview.datasets import known
from manyview.experiments.data_set import found
from manyview.files.atomic import write_text
from manyview.selection import decide

MOST_ROWS = 5000
N_ROWS = 300
WIDTHS = (6, 9)
NEAR = 0.2
PAGE = figures.ROOT / "benchmarks" / "results" / "no_clusters.md"


def cloud(kind: str, rng: np.random.Generator) -> list[Any]:
    """Two views of rows without clusters."""
    sizes = [(N_ROWS, d) for d in WIDTHS]
    plain = {
        "normal": lambda size: rng.normal(size=size),
        "uniform": lambda size: rng.uniform(size=size),
        "heavy tails": lambda size: rng.standard_t(4, size=size),
        "skewed": lambda size: np.exp(0.7 * rng.normal(size=size)),
        "counts": lambda size: rng.poisson(3.0, size=size).astype(float),
    }
    if kind in plain:
        return [plain[kind](size) for size in sizes]
    if kind == "wide":
        return [rng.normal(size=(N_ROWS, d)) for d in (100, 200)]
    hidden = {
        "shared plane": rng.normal(size=(N_ROWS, 2)),
        "shared axis": rng.normal(size=(N_ROWS, 1)),
        "line": 5.0 * rng.uniform(size=(N_ROWS, 1)),
    }[kind]
    turns = [rng.normal(size=(hidden.shape[1], d)) for d in WIDTHS]
    noise = 0.3 if kind == "line" else 1.0
    return [2.0 * hidden @ t + noise * rng.normal(size=(N_ROWS, t.shape[1]))
            for t in turns]  # fmt: skip


KINDS = (
    "normal", "uniform", "heavy tails", "skewed", "counts", "wide", "shared plane",
    "shared axis", "line",
)  # fmt: skip


def count_none(kind: str, n_seeds: int) -> dict[str, Any]:
    """How often rows without clusters get no number, with and without clouds."""
    none = before = 0
    for seed in range(n_seeds):
        views = cloud(kind, np.random.default_rng(seed))
        choice = choose_n_clusters(views, random_state=seed)
        criteria = (choice.gap, choice.stability, choice.silhouette)
        none += choice.n_clusters is None
        before += decide(choice.candidates, *criteria).n_clusters is None
    return {
        "rows": kind,
        "no number": f"{none} of {n_seeds}",
        "without the comparison": f"{before} of {n_seeds}",
    }


def guess(data: Any) -> dict[str, Any]:
    """The guess for a labelled set beside its number of classes."""
    views = data.load()
    classes = len(np.unique(views.labels))
    choice = choose_n_clusters(views, random_state=0)
    near = abs(choice.best_guess - classes) <= NEAR * classes
    return {
        "data": data.name,
        "classes": classes,
        "best guess": choice.best_guess,
        "within 20 %": "yes" if near else "no",
        "certainty": choice.certainty,
        "deviations beyond chance": f"{choice.beyond_chance:.1f}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=10, help="of every kind of rows")
    parser.add_argument("--quick", action="store_true", help="two kinds of rows alone")
    parser.add_argument("--data", nargs="*", help="only these data sets")
    parser.add_argument("--out", type=Path, default=PAGE, help="Markdown file to write")
    options = parser.parse_args()
    small = {k.name for k in known() if k.rows <= MOST_ROWS}
    tables: list[list[dict[str, Any]]] = [[], []]
    kinds = ("normal", "line") if options.quick else KINDS
    sets = [] if options.quick else found()
    jobs = [(0, count_none, (kind, options.seeds)) for kind in kinds]
    wanted = [d for d in sets if d.name in (options.data or small)]
    jobs += [(1, guess, (data,)) for data in wanted]
    for place, measure, given in jobs:
        tables[place].append(measure(*given))
        print(tables[place][-1], flush=True)
        parts = [figures.describe(figures.machine()), "<!-- tables -->"]
        parts += [figures.table(rows) for rows in tables if rows]
        write_text(options.out, "# Against chance\n\n" + "\n\n".join(parts) + "\n")


if __name__ == "__main__":
    main()
