"""Where the time of a default fit goes: seconds of the processor, part by part.

    python benchmarks/parts.py --out parts.json      # 200 … 100,000 rows, digits, text
    python benchmarks/parts.py --quick

What all threads take together is counted, not the time that passes: other programs on
the machine matter little then. The least of a few fits, after one that nobody counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import figures
import manyview.base
import manyview.s2mvtc
import manyview.stages.communities
from manyview import S2MVTC
from manyview.datasets import load_digits_views, make_views
from manyview.engine.threads import in_the_background

ROWS = (200, 1000, 2000, 5000, 20_000, 100_000)
WIDTHS = (50, 50, 50)
CLUSTERS = 10
REPEATS = 3
DOCUMENTS, TERMS, WORDS, EMBEDDING = 20_000, 20_000, 60, 384
FIT, NEAR = manyview.s2mvtc, manyview.stages.communities
# Functions of each part, and where the fit finds them.
PARTS: dict[str, list[tuple[Any, str]]] = {
    "draw": [(S2MVTC, "_draw")],
    "anchors": [(FIT, name) for name in ("choose_anchors", "build_graph")],
    "ridge": [
        (FIT, name)
        for name in ("plain_features", "sum_grams", "fit_features", "choose_weights")
    ],
    "graph": [(FIT, "fit_spectrum"), (FIT, "put_basis")],
    "neighbours": [(NEAR, "view_graphs"), (NEAR, "weighed")],
    "Leiden": [(NEAR, "leiden_with_k")],
    "whole views": [(FIT, "see_all"), (NEAR, "in_columns"), (NEAR, "held_out")],
    "moves": [(NEAR, "tells_more"), (NEAR, "moved_by_views")],
    "rounds": [(FIT, "start_from_graph"), (FIT, "run_rounds")],
    "k-means": [(FIT, "partitions"), (FIT, "kmeans"), (FIT, "refine_clusters")],
    "end": [(S2MVTC, "_store_rounds")],
}


def one_by_one(allowed: bool) -> Any:
    """No job in the background: its time would count for what goes on meanwhile."""
    return in_the_background(False)


def timed(work: Callable[..., Any], spent: dict[str, float], part: str) -> Any:
    """The same function, its time added to the part."""

    def counted(*given: Any, **named: Any) -> Any:
        start = time.process_time()
        try:
            return work(*given, **named)
        finally:
            spent[part] += time.process_time() - start

    return counted


def measure(name: str, views: Any, clusters: int, repeats: int) -> dict[str, Any]:
    """Seconds of every part in the shortest fit."""
    fits = []
    for _ in range(repeats + 1):
        spent = dict.fromkeys(PARTS, 0.0)
        real = [(place, n, getattr(place, n)) for p in PARTS.values() for place, n in p]
        for part, functions in PARTS.items():
            for place, function in functions:
                work = timed(getattr(place, function), spent, part)
                setattr(place, function, work)
        real.append((manyview.base, "in_the_background", in_the_background))
        manyview.base.in_the_background = one_by_one
        start = time.process_time()
        S2MVTC(clusters, random_state=0).fit(views)
        spent["all"] = time.process_time() - start
        for place, function, work in real:
            setattr(place, function, work)
        fits.append(spent)
    row: dict[str, Any] = {"data": name, "rows": len(views)}
    row |= min(fits[1:], key=lambda spent: spent["all"])
    print(row, flush=True)
    return row


def documents(n_rows: int) -> dict[str, Any]:
    """Words of topics, sparse, and a dense embedding beside them."""
    rng = np.random.default_rng(0)
    topics = rng.integers(CLUSTERS, size=n_rows)
    words = np.empty((n_rows, WORDS), np.int32)
    for topic in range(CLUSTERS):
        share = rng.gamma(0.3, size=TERMS) / np.arange(1, TERMS + 1)
        own = np.flatnonzero(topics == topic)
        words[own] = rng.choice(TERMS, (len(own), WORDS), p=share / share.sum())
    ends = np.arange(n_rows + 1) * WORDS
    counts = sp.csr_array(
        (np.ones(words.size, np.float32), words.ravel(), ends), (n_rows, TERMS)
    )
    counts.sum_duplicates()
    centres = rng.normal(size=(CLUSTERS, EMBEDDING))
    dense = 0.5 * centres[topics] + rng.normal(size=(n_rows, EMBEDDING))
    return {"words": counts, "embedding": dense.astype(np.float32)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    sizes, repeats = ((300,), 1) if options.quick else (ROWS, REPEATS)
    table = []
    for n_rows in sizes:
        views = make_views(n_rows, WIDTHS, CLUSTERS, random_state=0)
        table.append(measure("generated", views, CLUSTERS, repeats))
    if not options.quick:
        table.append(measure("digits", load_digits_views(), 10, repeats))
        text = manyview.Views.of(documents(DOCUMENTS))
        table.append(measure("text", text, CLUSTERS, 1))
    figures.save(options.out, {"machine": figures.machine(), "results": table})
    print(figures.table(table))


if __name__ == "__main__":
    main()
