"""The methods on a CUDA device: agreement with the CPU, time, share of the ceilings.

    python benchmarks/gpu.py --out gpu.json            # about four minutes
    python benchmarks/gpu.py --quick --device cpu      # small, anywhere torch runs
    python benchmarks/gpu.py --only youtube narrow     # parts of it
    python benchmarks/gpu.py --read gpu.json --docs    # the page from what was measured

Ceilings (copy bandwidth, matrix products, host-to-device copies) are measured in
the same run. Times are device times of warm runs, from data on the device.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from sklearn.metrics import adjusted_rand_score

import figures
from manyview import S2MVTC, AnchorSpectral
from manyview.running import progress
from manyview.sequence_s2mvtc import SequenceS2MVTC

YOUTUBE = (64, 512, 64, 647, 838)
NARROW = (64, 64, 64)
N_YOUTUBE = 101_499
N_CLUSTERS = 31
SMALL = 1000
PARTS = ("agreement", "youtube", "million", "narrow", "host")


def sync(device: torch.device) -> None:
    """Wait for the device."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(work: Callable[[], Any], device: torch.device, repeats: int = 3) -> float:
    """Best of a few warm runs, by device events where there are any."""
    work()
    best = float("inf")
    for _ in range(repeats):
        sync(device)
        if device.type == "cuda":
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            work()
            end.record()
            sync(device)
            best = min(best, begin.elapsed_time(end) / 1e3)
        else:
            start = time.perf_counter()
            work()
            best = min(best, time.perf_counter() - start)
    return best


def clusters(
    n: int, widths: tuple[int, ...], k: int, device: torch.device, seed: int = 0
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Gaussian clusters made on the device, rows in random order."""
    torch.manual_seed(seed)
    labels = torch.randint(k, (n,), device=device)
    views = []
    for d in widths:
        centres = torch.randn(k, d, device=device) * (6.0 / (2 * d) ** 0.5)
        x = torch.randn(n, d, device=device)
        views.append(x.add_(centres[labels]))
    return views, labels


def ceilings(device: torch.device, size: int) -> dict[str, float]:
    """Rates of the machine: bytes and floating-point operations per second."""
    found: dict[str, float] = {}
    big = torch.empty(size * size, device=device)
    target = torch.empty_like(big)
    took = seconds(lambda: target.copy_(big), device)
    found["copy_bytes"] = 2 * big.numel() * 4 / took
    for name, kind in (("fp32", torch.float32), ("fp64", torch.float64)):
        a = torch.randn(size, size, device=device, dtype=kind)
        took = seconds(lambda a=a: a @ a, device)
        found[f"{name}_flops"] = 2 * size**3 / took
    rows = 16 * size
    phi = torch.rand(rows, 1000, device=device)
    U = torch.randn(1000, 64, device=device)
    B = phi @ U
    flops = 2 * rows * 1000 * 64
    found["fit_flops"] = flops / seconds(lambda: phi @ U, device)
    found["products_flops"] = flops / seconds(lambda: phi.T @ B, device)
    if device.type == "cuda":
        found |= copies(device)
        found |= halves(phi, U, B, device)
    return found


def halves(
    phi: torch.Tensor, U: torch.Tensor, B: torch.Tensor, device: torch.device
) -> dict[str, float]:
    """The same two products from pairs of half-precision numbers."""
    high = phi.half()
    pair = torch.cat([high, ((phi - high.float()) * 2048).half()], dim=1)
    small = torch.randn(2000, 128, device=device).half()
    thin = torch.randn(phi.shape[0], 128, device=device).half()
    flops = 2 * phi.numel() * 64
    try:
        fit = seconds(lambda: torch.mm(pair, small, out_dtype=torch.float32), device)
        back = seconds(lambda: torch.mm(pair.T, thin, out_dtype=torch.float32), device)
    except (TypeError, RuntimeError):
        return {}
    return {"fit_halves_flops": flops / fit, "products_halves_flops": flops / back}


def copies(device: torch.device) -> dict[str, float]:
    """Host-to-device rates, from pinned and from ordinary memory."""
    host = torch.empty(2**28)
    pinned = host.pin_memory()
    near = torch.empty(2**28, device=device)
    there = seconds(lambda: near.copy_(pinned, non_blocking=True), device)
    plain = seconds(lambda: near.copy_(host), device)
    return {"pinned_bytes": 2**30 / there, "pageable_bytes": 2**30 / plain}


def stages(work: Callable[[], Any], device: torch.device) -> dict[str, float]:
    """Seconds per title of pass, and on the driver between the passes."""
    spent: dict[str, float] = {}
    mark = [time.perf_counter()]

    def hear(title: str, done: int, total: int) -> None:
        if done not in (0, total):
            return
        sync(device)
        now = time.perf_counter()
        name = "between passes" if done == 0 else title.rstrip(" 0123456789")
        spent[name] = spent.get(name, 0.0) + now - mark[0]
        mark[0] = now

    sync(device)
    mark[0] = time.perf_counter()
    with progress.listen(hear):
        work()
    sync(device)
    spent["between passes"] += time.perf_counter() - mark[0]
    return spent


def counted(
    n: int, widths: tuple[int, ...], m: int, k: int, rounds: int, r: int
) -> dict[str, float]:
    """Floating-point operations of the parts, at two per multiply-add."""
    v = len(widths)
    return {
        "features": 2.0 * n * sum(widths) * m,
        "gram": 1.0 * n * m * m * v,
        "rounds": 4.0 * n * m * k * v * rounds,
        "smoothing": 4.0 * n * r * k * v * rounds,
    }


def models() -> dict[str, Callable[[], Any]]:
    """The two ways to run it."""
    return {
        "as published": lambda: S2MVTC.as_published("YoutubeFace_sel").set_params(
            random_state=0
        ),
        "graph": lambda: S2MVTC(N_CLUSTERS, random_state=0),
    }


def measure(
    name: str, n: int, rates: dict[str, float], device: torch.device, repeats: int
) -> list[dict[str, Any]]:
    """Both methods on n rows on the device, of YoutubeFace_sel's widths or narrow."""
    widths = NARROW if name == "narrow" else YOUTUBE
    widths = widths if n > SMALL else tuple(d // 16 for d in widths)
    X, truth = clusters(n, widths, N_CLUSTERS, device)
    found = []
    for kind, make in models().items():
        took = seconds(lambda make=make: make().fit(X), device, repeats)
        parts = stages(lambda make=make: make().fit(X), device)
        model = make().fit(X)
        published = kind == "as published"
        shape = (7, 37, 64) if published else (2, 2 * N_CLUSTERS, 2 * N_CLUSTERS)
        rounds, r, k = shape
        work = counted(n, widths, 1000, k, rounds, r)
        least = sum(work.values()) - work["gram"]
        least = least / rates["fp32_flops"] + work["gram"] / rates["fp64_flops"]
        found.append(
            {
                "data": name,
                "method": kind,
                "rows": n,
                "columns": sum(widths),
                "seconds": took,
                "share of the matrix ceiling": least / took,
                "counted": work,
                "stages": parts,
                "ari": score(truth, model.labels_),
            }
        )
        show(found[-1])
    return found


def score(truth: Any, labels: Any) -> float:
    """Adjusted Rand index of labels that may lie on a device."""
    pair = [np.asarray(torch.as_tensor(x).cpu()) for x in (truth, labels)]
    return float(adjusted_rand_score(*pair))


def show(record: dict[str, Any]) -> None:
    """One record on the terminal, stages by size."""
    plain = {k: v for k, v in record.items() if k not in ("stages", "counted")}
    print(plain, flush=True)
    for name, took in sorted(record["stages"].items(), key=lambda x: -x[1]):
        print(f"    {took * 1e3:9.2f} ms  {name}", flush=True)


def agreement(n: int, device: torch.device) -> list[dict[str, Any]]:
    """CPU and device from the same rows, seed and anchors."""
    X, truth = clusters(n, (20, 70, 40), 6, torch.device("cpu"))
    host = [x.numpy() for x in X]
    anchors = [x[:200] for x in host]
    makes = {
        "graph": lambda: S2MVTC(6, anchors=anchors, random_state=0),
        "sequence": lambda: SequenceS2MVTC(6, anchors=anchors, random_state=0),
        "spectral": lambda: AnchorSpectral(6, random_state=0),
    }
    found = []
    for name, make in makes.items():
        cpu = make().fit(host)
        gpu = make().set_params(device=str(device)).fit(host)
        tensors = make().fit([x.to(device) for x in X])
        record = {
            "method": name,
            "CPU and device": score(cpu.labels_, gpu.labels_),
            "CPU and tensors": score(cpu.labels_, tensors.labels_),
            "CPU and truth": score(truth, cpu.labels_),
            "NumPy out": isinstance(gpu.labels_, np.ndarray),
        }
        found.append(record)
        print(record, flush=True)
    return found


def from_host(n: int, rates: dict[str, float], device: torch.device) -> dict[str, Any]:
    """Many narrow rows that start in host memory."""
    widths = NARROW
    X, truth = clusters(n, widths, 20, device)
    host = [x.cpu().numpy() for x in X]
    del X
    if device.type == "cuda":
        torch.cuda.empty_cache()
    model = S2MVTC(20, random_state=0, device=str(device))
    start = time.perf_counter()
    parts = stages(lambda: model.fit(host), device)
    took = time.perf_counter() - start
    n_bytes = 4.0 * n * sum(widths)
    record = {
        "data": "host",
        "method": "graph",
        "rows": n,
        "columns": sum(widths),
        "seconds": took,
        "bytes": n_bytes,
        "seconds of one copy at the measured rate": n_bytes
        / rates.get("pinned_bytes", float("inf")),
        "ari": score(truth, model.labels_),
        "stages": parts,
    }
    show(record)
    return record


def attempt(parts: dict[str, Any], name: str, work: Callable[[], Any]) -> None:
    """A part that fails says why and leaves the others alone."""
    print(f"== {name}", flush=True)
    start = time.perf_counter()
    try:
        parts[name] = work()
    except Exception as error:
        traceback.print_exc()
        parts[name] = {"error": f"{type(error).__name__}: {error}"}
    print(f"== {name}: {time.perf_counter() - start:.1f} s in all", flush=True)


def publish(content: dict[str, Any]) -> None:
    """The table of the documentation page."""
    rows = []
    for part in ("youtube", "million", "narrow", "host"):
        measured = content.get(part, [])
        found = measured if isinstance(measured, list) else [measured]
        for r in found:
            if "error" not in r:
                rows.append(
                    {
                        "data": r["data"],
                        "method": r["method"],
                        "rows": r["rows"],
                        "columns": r["columns"],
                        "seconds": r["seconds"],
                        "between the passes, s": r["stages"]["between passes"],
                        "share of the matrix ceiling": r.get(
                            "share of the matrix ceiling"
                        ),
                        "ARI with the truth": r["ari"],
                    }
                )
    rates = content["ceilings"]
    ceilings = (
        f"{content['device']}; measured in the same run: copies "
        f"{rates['copy_bytes'] / 1e12:.2f} TB/s, float32 products "
        f"{rates['fp32_flops'] / 1e12:.0f} TF/s (of the rounds' shapes "
        f"{rates['fit_flops'] / 1e12:.0f}), float64 products "
        f"{rates['fp64_flops'] / 1e12:.0f} TF/s"
    )
    if "pinned_bytes" in rates:
        ceilings += f", from pinned memory {rates['pinned_bytes'] / 1e9:.0f} GB/s"
    text = [figures.describe(content["machine"]), ceilings + "."]
    figures.fill("gpu", "\n\n".join([*text, figures.table(rows)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", help="write the results to this JSON file")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--quick", action="store_true", help="small sizes")
    parser.add_argument("--docs", action="store_true", help="fill docs/performance.md")
    parser.add_argument("--profile", action="store_true", help="print torch's profile")
    parser.add_argument("--only", nargs="*", choices=PARTS, help="parts of it")
    parser.add_argument("--read", help="what --out wrote: measure nothing")
    options = parser.parse_args()
    if options.read:
        parts = json.loads(Path(options.read).read_text(encoding="utf-8"))
    else:
        parts = run(options)
    if options.docs:
        publish(parts)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """All parts asked for, each kept as soon as it is done."""
    device = torch.device(options.device)
    quick = options.quick
    is_cuda = device.type == "cuda"
    name = torch.cuda.get_device_name(device) if is_cuda else "torch on the CPU"
    parts: dict[str, Any] = {"machine": figures.machine(), "device": name}
    print(figures.describe(parts["machine"]), name, flush=True)
    rows = (200, 200, 200, 200) if quick else (N_YOUTUBE, 10**6, 10**7, 20_000)
    repeats = 1 if quick else 3
    attempt(parts, "ceilings", lambda: ceilings(device, 256 if quick else 8192))
    rates = parts["ceilings"]
    print({k: f"{v:.3g}" for k, v in rates.items()}, flush=True)
    works: dict[str, Callable[[], Any]] = {
        "agreement": lambda: agreement(rows[3], device),
        "youtube": lambda: measure("youtube", rows[0], rates, device, repeats),
        "million": lambda: measure("million", rows[1], rates, device, 2),
        "narrow": lambda: measure("narrow", rows[1], rates, device, 2),
        "host": lambda: from_host(rows[2], rates, device),
    }
    for part in options.only or (PARTS[:2] if quick else PARTS):
        with profiled(options.profile and part == "youtube"):
            attempt(parts, part, works[part])
        figures.save(options.out, parts)
    return parts


class profiled:
    """torch's own profile of what runs inside, on request."""

    def __init__(self, wanted: bool) -> None:
        activity = torch.profiler.ProfilerActivity
        kinds = [activity.CPU, activity.CUDA]
        self._inner = torch.profiler.profile(activities=kinds) if wanted else None

    def __enter__(self) -> None:
        (self._inner or nullcontext()).__enter__()

    def __exit__(self, *fault: Any) -> None:
        if self._inner is not None:
            self._inner.__exit__(*fault)
            stats = self._inner.key_averages()
            print(stats.table(sort_by="self_cuda_time_total", row_limit=40))


if __name__ == "__main__":
    main()
