"""Dask workers on GPUs beside the local engine on one: labels, time, memory.

    python benchmarks/dask_gpu.py --out dask_gpu.json            # two workers, one GPU
    python benchmarks/dask_gpu.py --rows 4000000 --memory-limit 4GB   # streamed rows
    python benchmarks/dask_gpu.py --quick --device cpu           # seconds, anywhere

Both fit the same generated rows, which start in host memory: the local engine in
this process, the workers as chunks of a Dask array that they hold. Every fit is run
once to warm up and then timed. Peaks are those of torch's allocator, by process.
With one process per GPU (dask-cuda) the workers would not share it; here they do, so
the ratio is what the engine itself costs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from sklearn.metrics import adjusted_rand_score

import figures
from dask_engine import N_CLUSTERS, Ledger, cluster, make_rows
from manyview import S2MVTC, AnchorSpectral, Views
from manyview.running import progress

PAGE = figures.ROOT / "docs" / "dask.md"
METHODS = {"S2MVTC": S2MVTC, "AnchorSpectral": AnchorSpectral}


def peak(device: str) -> float:
    """GB that torch has held on the device in this process since the last reset."""
    if not device.startswith("cuda"):
        return 0.0
    import torch

    return torch.cuda.max_memory_allocated(device) / 1e9


def reset_peak(device: str) -> None:
    """Count from here."""
    if device.startswith("cuda"):
        import torch

        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats(device)


def timed(fit: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The best time of a few warm fits, and the last of them."""
    fit()
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        model = fit()
        best = min(best, time.perf_counter() - start)
    return best, model


def compare(name: str, rows: list[Any], args: argparse.Namespace) -> dict[str, Any]:
    """One method here and on the workers."""
    import dask.array as da
    from distributed import wait

    place = {"device": args.device, "memory_limit": args.memory_limit}
    small = {"n_graph_anchors": 300} if args.quick else {}

    def make(**more: Any) -> Any:
        return METHODS[name](N_CLUSTERS, random_state=0, **small, **place, **more)

    reset_peak(args.device)
    local_s, model = timed(lambda: make().fit(Views(rows)), args.repeats)
    own, here = model.labels_, peak(args.device)
    reset_peak(args.device)
    with cluster(args.memory, args.workers) as client:
        chunk = -(-len(rows[0]) // (2 * args.workers))
        far = client.persist([da.from_array(x, chunks=(chunk, -1)) for x in rows])
        wait(far)
        dask_s, model = timed(lambda: make(engine=client).fit(far), args.repeats)
        labels = model.labels_.compute()
        peaks = sorted(client.run(peak, args.device).values())
        ledger = Ledger(client)
        with progress.listen(ledger):
            make(engine=client).fit(far)
        passes = ledger.passes()
    return {
        "method": name,
        "rows": len(rows[0]),
        "workers": args.workers,
        "memory limit": args.memory_limit or "none",
        "local, s": local_s,
        "Dask, s": dask_s,
        "ratio": dask_s / local_s,
        "ARI": float(adjusted_rand_score(own, labels)),
        "local peak, GB": here,
        "worker peaks, GB": ", ".join(f"{p:.2f}" for p in peaks),
        "driver peak, GB": peak(args.device),
        "passes": passes,
    }


def device_name(device: str) -> str:
    """What computes."""
    if not device.startswith("cuda"):
        return "the processor"
    import torch

    return str(torch.cuda.get_device_name(device))


def main(arguments: list[str] | None = None) -> None:
    """Parse, run, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--width", type=int, default=64, help="features per view")
    parser.add_argument("--workers", type=int, default=2, help="on the one device")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--memory-limit", help="of the device, per process: 4GB")
    parser.add_argument("--memory", default="auto", help="of a worker's host: 8GB")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--methods", nargs="*", default=list(METHODS))
    parser.add_argument("--quick", action="store_true", help="a smoke run")
    parser.add_argument("--out", help="JSON file to write")
    parser.add_argument("--page", action="store_true", help="fill in docs/dask.md")
    parser.add_argument("--read", type=Path, help="what --out wrote: measure nothing")
    args = parser.parse_args(arguments)
    if args.quick:
        args.rows, args.width, args.repeats = min(args.rows, 1500), 8, 1
    if args.read:
        content = json.loads(args.read.read_text(encoding="utf-8"))
    else:
        content = measure(args)
    figures.save(args.out, content)
    if args.page:
        plain = [{k: v for k, v in r.items() if k != "passes"} for r in content["runs"]]
        head = f"{content['device']}; {figures.describe(content['machine'])}"
        figures.fill("dask gpu", f"{head}\n\n{figures.table(plain)}", PAGE)


def measure(args: argparse.Namespace) -> dict[str, Any]:
    """Every method, printed as it comes and returned."""
    content: dict[str, Any] = {
        "machine": figures.machine(),
        "device": device_name(args.device),
        "runs": [],
    }
    rows = make_rows(0, args.rows, 3, args.width)
    for name in args.methods:
        found = compare(name, rows, args)
        content["runs"].append(found)
        for key, value in found.items():
            if key != "passes":
                print(f"{key:20} {value}", flush=True)
        for row in found["passes"]:
            each = row["bytes"] / row["times"] / 1e6
            line = f"{row['times']:5} {row['seconds']:9.3f} s {each:9.3f} MB each"
            print(f"    {row['pass']:28} {line}", flush=True)
    return content


if __name__ == "__main__":
    main()
