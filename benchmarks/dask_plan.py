"""What a plan says of a Dask cluster beside what a fit on one takes.

    python benchmarks/dask_plan.py --rows 1000000 10000000 40000000 --page
    python benchmarks/dask_plan.py --rows 40000000 --workers 2 --limit 1GB --folder /big
    python benchmarks/dask_plan.py --quick

Rows of few columns are made on the workers, or with a `--folder` written there and
read by them. Traffic is half of what the workers' sockets send and receive, since what
goes between two workers counts twice. Memory is the largest worker's in all, as a plan
counts it, and what the fit has added.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

import joblib
import psutil

from dask_engine import BLOCK, cluster, counted, estimator, make_rows, write_rows
from figures import ROOT, describe, fill, machine, table
from manyview.experiments.measuring import peak_memory

PAGE = ROOT / "docs" / "dask.md"
N_VIEWS = 2


def rows_on_workers(client: Any, n_rows: int, width: int) -> list[Any]:
    """Dask arrays, one per view, made where they stay."""
    import dask.array as da
    from dask import delayed

    made = delayed(make_rows, nout=N_VIEWS, pure=True)
    starts = range(0, n_rows, BLOCK)
    stops = [min(start + BLOCK, n_rows) for start in starts]
    blocks = [made(a, b, N_VIEWS, width) for a, b in zip(starts, stops, strict=True)]
    views = [
        da.concatenate(
            [
                da.from_delayed(block[v], (stop - start, width), "float32")
                for block, start, stop in zip(blocks, starts, stops, strict=True)
            ]
        )
        for v in range(N_VIEWS)
    ]
    from distributed import wait

    held = client.persist(views)
    wait(held)
    return list(held)


def held_memory() -> int:
    """Bytes this process holds now."""
    return int(psutil.Process().memory_info().rss)


def measure(n_rows: int, n_workers: int, args: argparse.Namespace) -> dict[str, Any]:
    """One fit and its plan."""
    folder = args.folder and args.folder / f"manyview-plan-{n_rows}"
    with cluster("0", n_workers) as client:
        if folder:
            views: Any = write_rows(folder, n_rows, args.width, N_VIEWS)
        else:
            views = rows_on_workers(client, n_rows, args.width)
        before = client.run(held_memory)
        moved = sum(client.run(counted).values())
        model = estimator(args.quick, engine=client, memory_limit=args.limit)
        plan = model.plan(views if folder else (n_rows, [args.width] * N_VIEWS))
        start = time.perf_counter()
        model.fit(views)
        seconds = time.perf_counter() - start
        moved = sum(client.run(counted).values()) - moved
        peaks = client.run(peak_memory)
    if folder:
        shutil.rmtree(folder)
    more = max(peaks[name] - before[name] for name in peaks)
    row = {
        "rows": n_rows,
        "workers": plan.workers,
        "limit": args.limit or "none",
        "seconds": seconds,
        "planned s": plan.seconds,
        "GB in a worker": max(peaks.values()) / 1e9,
        "planned GB": plan.peak_bytes / 1e9,
        "of it by the fit": more / 1e9,
        "traffic GB": moved / 2e9,
        "planned traffic GB": plan.traffic_bytes / 1e9,
    }
    print(row, flush=True)
    return row


def main() -> None:
    """Parse, run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--width", type=int, default=8, help="columns of both views")
    parser.add_argument("--workers", type=int, default=joblib.cpu_count())
    parser.add_argument("--folder", type=Path, help="where rows are written")
    parser.add_argument("--limit", help="memory_limit of the fit: 1GB")
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.add_argument("--page", action="store_true", help="fill in docs/dask.md")
    parser.add_argument(
        "--read", type=Path, nargs="+", help="what --out wrote: measure nothing"
    )
    args = parser.parse_args()
    if args.read:
        parts = [json.loads(path.read_text(encoding="utf-8")) for path in args.read]
    else:
        sizes, workers = ([3000], 2) if args.quick else (args.rows, args.workers)
        found = [measure(n, workers, args) for n in sizes]
        parts = [{"machine": machine(), "results": found}]
    if args.out:
        args.out.write_text(json.dumps(parts[0], indent=1), encoding="utf-8")
    if args.page:
        texts = [f"{describe(p['machine'])}\n\n{table(p['results'])}" for p in parts]
        fill("dask plan", "\n\n".join(texts), PAGE)


if __name__ == "__main__":
    main()
