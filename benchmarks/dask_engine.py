"""The Dask engine: time against the local engine, traffic, rows on disk.

    python benchmarks/dask_engine.py ratio --rows 1000000 --page
    python benchmarks/dask_engine.py disk --rows 10000000 --width 32 --memory 1GB \\
        --folder /scratch --page
    python benchmarks/dask_engine.py ratio --quick          # seconds, anywhere

`ratio` fits the same rows in this process and, where they lie on two single-threaded
workers, there, a few times in turn. It prints the medians of the times and of what all
processes computed, their ratios, the agreement of the labels, and the bytes that every
kind of pass has moved over the workers' sockets in a fit of its own (sent and received:
what goes between two workers counts twice). `disk` writes generated rows block by
block, fits them with workers of limited memory that read them themselves, and
says whether a worker was restarted.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from sklearn.metrics import adjusted_rand_score

from figures import ROOT, describe, fill, machine, table
from manyview import S2MVTC, Views
from manyview.experiments.measuring import peak_memory
from manyview.running import progress

N_CLUSTERS = 20
BLOCK = 65_536
PARTITION_ROWS, MOST_PARTITIONS = 65_536, 4096
PAGE = ROOT / "docs" / "dask.md"


def make_rows(start: int, stop: int, n_views: int, width: int) -> list[Any]:
    """Rows of a mixture, a function of their number alone."""
    centres = np.random.default_rng(0).normal(size=(n_views, N_CLUSTERS, width))
    out: list[list[Any]] = [[] for _ in range(n_views)]
    for block in range(start // BLOCK, -(-stop // BLOCK)):
        rng = np.random.default_rng([1, block])
        groups = rng.integers(0, N_CLUSTERS, BLOCK)
        for v in range(n_views):
            noise = rng.standard_normal((BLOCK, width), dtype=np.float32)
            out[v].append((1.5 * centres[v][groups] + noise).astype(np.float32))
    first = start - start // BLOCK * BLOCK
    return [np.concatenate(x)[first : first + stop - start] for x in out]


@contextmanager
def cluster(memory: str, n_workers: int = 2) -> Iterator[Any]:
    """A client of single-threaded worker processes that count their bytes."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=memory,
            dashboard_address=":0",
        ) as workers,
        Client(workers) as client,
    ):
        client.run(count_bytes)
        yield client


def count_bytes() -> None:
    """Make a worker count what its sockets send and receive."""
    from distributed.comm import tcp
    from distributed.utils import nbytes

    tcp.counted = 0
    write, from_frames = tcp.TCP.write, tcp.from_frames

    async def counted_write(self: Any, *args: Any, **more: Any) -> Any:
        sent = await write(self, *args, **more)
        tcp.counted += sent
        return sent

    async def counted_frames(frames: Any, **more: Any) -> Any:
        tcp.counted += sum(map(nbytes, frames))
        return await from_frames(frames, **more)

    tcp.TCP.write, tcp.from_frames = counted_write, counted_frames


def counted() -> int:
    """Bytes counted so far in this worker."""
    from distributed.comm import tcp

    return int(getattr(tcp, "counted", 0))


class Ledger:
    """Time and bytes of every kind of pass."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self.rows: list[tuple[str, float, int]] = []

    def __call__(self, title: str, done: int, total: int) -> None:
        if done == 0:
            self.note(title)

    def note(self, title: str) -> None:
        """Remember the clock and the counters at this moment."""
        moved = sum(self.client.run(counted).values())
        self.rows.append((title, time.perf_counter(), moved))

    def passes(self) -> list[dict[str, Any]]:
        """Number, seconds and bytes by title."""
        self.note("end")
        out: dict[str, dict[str, Any]] = {}
        for (title, begun, before), (_, ended, after) in zip(
            self.rows, self.rows[1:], strict=False
        ):
            row = out.setdefault(
                title, {"pass": title, "times": 0, "seconds": 0.0, "bytes": 0}
            )
            row["times"] += 1
            row["seconds"] += ended - begun
            row["bytes"] += after - before
        return list(out.values())


def estimator(quick: bool, **place: Any) -> S2MVTC:
    """The method at its defaults, smaller for a quick run."""
    small = {"n_anchors": 100, "n_graph_anchors": 300} if quick else {}
    return S2MVTC(N_CLUSTERS, random_state=0, **small, **place)


def ratio(args: argparse.Namespace) -> dict[str, Any]:
    """Local engine and Dask on the same rows in memory, in turn."""
    import dask.array as da
    from distributed import wait

    rows = make_rows(0, args.rows, 3, args.width)
    with cluster(args.memory, args.workers) as client:
        lazy = [da.from_array(x, chunks=(BLOCK, -1)) for x in rows]
        start = time.perf_counter()
        far = client.persist(lazy)
        wait(far)
        sent = time.perf_counter() - start
        places = {"local": (Views(rows), {}), "dask": (far, {"engine": client})}
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in places}
        for _ in range(args.repeats):
            for name, (views, place) in places.items():
                model = estimator(args.quick, **place)
                times[name].append(timed(client, model, views))
                if name == "local":
                    own = model.labels_
        ledger = Ledger(client)
        with progress.listen(ledger):
            model = estimator(args.quick, engine=client).fit(far)
        labels = model.labels_.compute()
        passes = ledger.passes()
    local, dask = (np.median(of, axis=0) for of in times.values())
    return {
        "rows": args.rows,
        "width": args.width,
        "workers": args.workers,
        "repeats": args.repeats,
        "sent_s": sent,
        "local_s": local[0],
        "dask_s": dask[0],
        "ratio": dask[0] / local[0],
        "local_cpu_s": local[1],
        "dask_cpu_s": dask[1],
        "cpu_ratio": dask[1] / local[1],
        "ari": adjusted_rand_score(own, labels),
        "bound_bytes_per_round": _bound(model, args.workers),
        "passes": passes,
    }


def timed(client: Any, model: S2MVTC, views: Any) -> tuple[float, float]:
    """Seconds of a fit, and what this process and the workers computed in it."""
    computed, start = processor_seconds(client), time.perf_counter()
    model.fit(views)
    taken = time.perf_counter() - start
    return taken, processor_seconds(client) - computed


def processor_seconds(client: Any) -> float:
    """Of this process, with the scheduler in it, and of the workers."""
    return time.process_time() + sum(client.run(time.process_time).values())


def _bound(model: S2MVTC, n_workers: int) -> int:
    """3 × workers × views × (r + rank) × n_components × 8."""
    small = model._passes.rounds[-1]
    heights = sum(len(m) for m in (*small.fits, *(small.smooth or ())))
    return int(3 * n_workers * heights * small.fits[0].shape[1] * 8)


def disk(args: argparse.Namespace) -> dict[str, Any]:
    """Rows on disk, workers of limited memory."""
    folder = Path(args.folder) / f"manyview-dask-{args.rows}"
    paths = write_rows(folder, args.rows, args.width)
    try:
        with cluster(args.memory, args.workers) as client:
            before = client.run(os.getpid)
            ledger = Ledger(client)
            start = time.perf_counter()
            with progress.listen(ledger):
                place = {"engine": client, "memory_limit": args.limit}
                model = estimator(args.quick, **place).fit(paths)
            taken = time.perf_counter() - start
            sizes = np.bincount(model.labels_.compute())
            passes = ledger.passes()
            return {
                "rows": args.rows,
                "width": args.width,
                "workers": args.workers,
                "memory": args.memory,
                "limit": args.limit,
                "dask_s": taken,
                "workers_restarted": client.run(os.getpid) != before,
                "peak_rss": client.run(peak_memory),
                "features_kept": model._passes.start.features.keep,
                "clusters": [int(sizes.min()), int(sizes.max())],
                "passes": passes,
            }
    finally:
        if not args.keep:
            shutil.rmtree(folder, ignore_errors=True)


def fill_page(found: dict[str, Any], passes: list[dict[str, Any]]) -> None:
    """Write what `ratio` has measured, and what follows from it, into the docs."""
    rows = found["rows"]
    traffic = [
        {
            "pass": p["pass"],
            "times": p["times"],
            "MB each": p["bytes"] / p["times"] / 1e6,
            "seconds each": p["seconds"] / p["times"],
        }
        for p in passes
    ]
    bound = found["bound_bytes_per_round"] / 1e6
    text = (
        f"Measured on {rows:,} rows × 3 views × {found['width']} features, "
        f"{found['workers']} single-threaded workers "
        f"({describe(found['machine'])[:-1]}). The bound for a round is "
        f"{bound:.3g} MB. Local engine {found['local_s']:.3g} s, Dask "
        f"{found['dask_s']:.3g} s, {found['ratio']:.2f} times as long (fits of "
        f"each: {found['repeats']}, in turn; medians); all processes together computed "
        f"for {found['local_cpu_s']:.3g} and {found['dask_cpu_s']:.3g} s. To send the "
        f"rows to the workers, before, took {found['sent_s']:.2g} s. ARI "
        f"{found['ari']:.4f}.\n\n{table(traffic)}"
    )
    fill("dask traffic", text, PAGE)
    hours = list(model_rows(rows, passes, found["workers"]))
    fill("dask model", table(hours), PAGE)


def fill_disk(found: dict[str, Any], passes: list[dict[str, Any]]) -> None:
    """Write what `disk` has measured into the docs."""
    peak = max(found["peak_rss"].values()) / 1e9
    times = sum(p["times"] for p in passes)
    state = "workers were" if found["workers_restarted"] else "no worker was"
    text = (
        f"{found['rows']:,} rows × 3 views × {found['width']} features in Zarr, "
        f"{found['workers']} single-threaded workers of {found['memory']} each "
        f"({describe(found['machine'])[:-1]}): "
        f"{found['dask_s'] / 60:.1f} minutes, {times} passes, "
        f"at most {peak:.2f} GB in a worker, {state} restarted."
    )
    fill("dask disk", text, PAGE)


def model_rows(
    rows: int, passes: list[dict[str, Any]], workers: int
) -> Iterator[dict[str, Any]]:
    """Hours by rows and threads, from the seconds per row of every pass."""
    per_row = workers * sum(p["seconds"] for p in passes) / rows
    n_passes = sum(p["times"] for p in passes)
    for n in (10**7, 10**8, 10**9):
        partitions = min(MOST_PARTITIONS, -(-n // PARTITION_ROWS))
        tasks = 3 * partitions * n_passes
        hours = {
            f"hours, {threads} threads": (n * per_row / threads + tasks / 1000) / 3600
            for threads in (16, 64, 256)
        }
        yield {"rows": f"{n:,}", "partitions": partitions, "tasks": tasks, **hours}


def write_rows(folder: Path, n_rows: int, width: int, n_views: int = 3) -> list[str]:
    """One Zarr array per view, written block by block; found again if complete."""
    import zarr

    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"view{v}.zarr" for v in range(n_views)]
    if (folder / "complete").exists():
        return [str(p) for p in paths]
    outs = [
        zarr.open_array(
            str(p),
            mode="w",
            shape=(n_rows, width),
            chunks=(min(BLOCK, n_rows), width),
            dtype="float32",
        )
        for p in paths
    ]
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        for out, x in zip(outs, make_rows(start, stop, n_views, width), strict=True):
            out[start:stop] = x
    (folder / "complete").touch()
    return [str(p) for p in paths]


def main(arguments: list[str] | None = None) -> None:
    """Parse, run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("what", choices=("ratio", "disk"))
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=64, help="features per view")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--memory", default="auto", help="of each worker, e.g. 1GB")
    parser.add_argument("--limit", help="memory_limit of the fit on disk: 1GB")
    parser.add_argument("--folder", default=".", help="where to write rows")
    parser.add_argument("--keep", action="store_true", help="keep the written rows")
    parser.add_argument("--repeats", type=int, default=3, help="fits of each engine")
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument("--out", type=Path, help="JSON file to write")
    parser.add_argument("--page", action="store_true", help="fill in docs/dask.md")
    parser.add_argument("--read", type=Path, help="what --out wrote: measure nothing")
    args = parser.parse_args(arguments)
    if args.quick:
        args.rows, args.width, args.repeats = min(args.rows, 1500), 8, 1
    if args.read:
        found = json.loads(args.read.read_text(encoding="utf-8"))
    else:
        measured = {"ratio": ratio, "disk": disk}[args.what](args)
        found = {"machine": machine(), **measured}
    passes = found.pop("passes")
    for name, value in found.items():
        print(f"{name:24} {value}")
    print(f"{'pass':28} {'times':>5} {'seconds':>9} {'MB each':>9}")
    for row in passes:
        each = row["bytes"] / row["times"] / 1e6
        print(f"{row['pass']:28} {row['times']:5} {row['seconds']:9.2f} {each:9.3f}")
    if args.page:
        {"ratio": fill_page, "disk": fill_disk}[args.what](found, passes)
    if args.out:
        content = {**found, "passes": passes}
        args.out.write_text(json.dumps(content, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
