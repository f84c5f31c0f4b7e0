"""Time on small and middle-sized data beside what scikit-learn offers for one view.

    python benchmarks/small.py --out small.json --docs     # 200 … 20,000 rows
    python benchmarks/small.py --quick

Medians of runs that take turns in one process, so that what else the machine does
meets all alike. The other two cluster the joined, standardised views. Real data sets
are measured where `MANYVIEW_DATA` holds them.
"""

from __future__ import annotations

import argparse
import statistics
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.preprocessing import StandardScaler

import child
import figures
from manyview import S2MVTC
from manyview.datasets import known, load, load_digits_views, make_views
from manyview.errors import ManyviewError

ROWS = (200, 1000, 2000, 5000, 20_000)
SETS = ("BBCSport-2view", "CITE-InHouse", "Handwritten", "CCV")
WIDTHS = (50, 50, 50)
CLUSTERS = 10
REPEATS = 5
# Where joined views are this wide the other two are not asked.
MOST_COLUMNS = 2000


def rivals(views: Any, clusters: int) -> dict[str, Callable[[], Any]]:
    """Ours first; the others on the joined views."""
    ours = {"S2MVTC": lambda: S2MVTC(clusters, random_state=0).fit(views)}
    if sum(views.n_features) > MOST_COLUMNS:
        return ours
    joined = StandardScaler().fit_transform(
        np.hstack([np.asarray(a, dtype=np.float64) for a in views.arrays])
    )
    kmeans = KMeans(clusters, n_init=10, random_state=0)
    spectral = SpectralClustering(
        clusters, affinity="nearest_neighbors", random_state=0
    )
    return ours | {
        "k-means": lambda: kmeans.fit(joined),
        "spectral": lambda: spectral.fit(joined),
    }


def measure(name: str, views: Any, clusters: int, repeats: int) -> dict[str, Any]:
    """Median seconds of each, in turns, after one run that nobody counts."""
    jobs = rivals(views, clusters)
    taken: dict[str, list[float]] = {method: [] for method in jobs}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(repeats + 1):
            for method, job in jobs.items():
                seconds, _ = child.timed(job)
                if turn:
                    taken[method].append(seconds)
    median = {method: statistics.median(t) for method, t in taken.items()}
    ours = median["S2MVTC"]
    row = {
        "data": name,
        "rows": len(views),
        "columns": "+".join(map(str, views.n_features)),
        "S2MVTC s": ours,
        "k-means s": median.get("k-means"),
        "spectral s": median.get("spectral"),
        "over k-means": ours / median["k-means"] if "k-means" in median else None,
        "over spectral": ours / median["spectral"] if "spectral" in median else None,
    }
    print(row, flush=True)
    return row


def real_sets(names: tuple[str, ...]) -> list[tuple[str, Any]]:
    """Those of the named sets that are here."""
    there = {found.name for found in known()}
    found = []
    for name in names:
        if name in there:
            try:
                found.append((name, load(name)))
            except ManyviewError as error:
                print(f"{name}: {error}")
    return found


def draw(rows: list[dict[str, Any]], path: str) -> None:
    """Seconds over rows of the generated data, on log axes."""
    from matplotlib.figure import Figure

    made = [row for row in rows if row["data"] == "generated"]
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for column in ("S2MVTC s", "k-means s", "spectral s"):
        axes.loglog(
            [row["rows"] for row in made],
            [row[column] for row in made],
            "o-",
            label=column.removesuffix(" s"),
        )
    axes.set(xlabel="rows (3 views of 50 columns)", ylabel="seconds, median")
    axes.legend(frameon=False)
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out")
    parser.add_argument("--figure", help="a picture of time over rows")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--docs", action="store_true")
    options = parser.parse_args()
    sizes, repeats = ((100, 200), 1) if options.quick else (ROWS, REPEATS)
    table = []
    for n_rows in sizes:
        views = make_views(n_rows, WIDTHS, CLUSTERS, random_state=0)
        table.append(measure("generated", views, CLUSTERS, repeats))
    if not options.quick:
        table.append(measure("digits", load_digits_views(), 10, repeats))
        for name, views in real_sets(SETS):
            clusters = len(np.unique(views.labels))
            table.append(measure(name, views, clusters, repeats))
    found = {"machine": figures.machine(), "results": table}
    figures.save(options.out, found)
    if options.figure:
        draw(table, options.figure)
    if options.docs:
        text = [figures.describe(found["machine"]), figures.table(table)]
        figures.fill("small", "\n\n".join(text))


if __name__ == "__main__":
    main()
