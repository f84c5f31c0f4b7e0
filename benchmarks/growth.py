"""Time and peak memory as the rows grow, with and without a memory limit.

    python benchmarks/growth.py --out growth.json        # 25k … 1.6M rows
    python benchmarks/growth.py --quick

Three views of 64 features, 20 clusters, default settings; at last fewer rows of three
wide views. Data on disk, so that peak memory is the method's own.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

import child
import figures
from manyview import S2MVTC
from manyview.datasets import load, make_views
from manyview.experiments.measuring import peak_memory
from manyview.running import progress

ROWS = (25_000, 100_000, 400_000, 1_600_000)
WIDE_ROWS, WIDE = 50_000, (512, 512, 512)


def fit(job: dict[str, Any]) -> None:
    """One size in this process."""
    views = load(job["data"])
    if job["limit"] is None:
        views.arrays = tuple(np.array(a) for a in views.arrays)
    before = peak_memory()
    titles: list[str] = []

    def hear(title: str, done: int, total: int) -> None:
        if done == 0:
            titles.append(title)

    model = S2MVTC(job["clusters"], random_state=0, memory_limit=job["limit"])
    planned = model.plan(views)
    with progress.listen(hear):
        seconds, _ = child.timed(lambda: model.fit(views))
    peak = peak_memory()  # before the scores, which are not the fit's
    child.answer(
        job,
        seconds=seconds,
        peak_gb=peak / 1e9,
        before_gb=before / 1e9,
        passes=len(titles),
        ari=adjusted_rand_score(views.labels, model.labels_),
        planned_seconds=planned.seconds,
        planned_gb=planned.peak_bytes / 1e9,
    )


def measure(
    rows: int,
    widths: tuple[int, ...],
    clusters: int,
    limits: list[str | None],
    script: str,
) -> list[dict[str, Any]]:
    """One size with every limit, from the same file."""
    found = []
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "rows.manyview-data")
        make_views(rows, widths, clusters, random_state=0, out=path)
        for limit in limits:
            job = {"data": path, "limit": limit, "clusters": clusters}
            got = child.run(script, job)
            row = {
                "rows": rows,
                "columns": "+".join(map(str, widths)),
                "limit": limit or "none",
                "seconds": got.get("seconds"),
                "planned s": got.get("planned_seconds"),
                "peak GB": got.get("peak_gb"),
                "planned GB": got.get("planned_gb"),
                "GB before the fit": got.get("before_gb"),
                "passes": got.get("passes"),
                "ARI": got.get("ari"),
                "error": got.get("error"),
            }
            print(row, flush=True)
            found.append(row)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out")
    parser.add_argument("--limit", default="1GB")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        fit(json.loads(options.job))
        return
    sizes = (600, 1200) if options.quick else ROWS
    widths = (8, 8, 8) if options.quick else (64, 64, 64)
    clusters = 4 if options.quick else 20
    table = []
    for rows in sizes:
        table += measure(rows, widths, clusters, [None, options.limit], __file__)
    last, before = table[-2], table[-4]
    growth = None
    if last["seconds"] and before["seconds"]:
        growth = last["seconds"] / before["seconds"]
        print(f"time at {last['rows']} rows over {before['rows']}: {growth:.2f}")
    wide = (600, (40, 40, 40)) if options.quick else (WIDE_ROWS, WIDE)
    table += measure(*wide, clusters, [None], __file__)
    found = {"machine": figures.machine(), "growth": growth, "results": table}
    figures.save(options.out, found)
    if options.docs:
        text = [figures.describe(found["machine"]), figures.table(table)]
        figures.fill("growth", "\n\n".join(text))


if __name__ == "__main__":
    main()
