"""Many fits in one process: memory, threads, open files and temporary folders."""

from __future__ import annotations

import gc
import json
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .numbers import FEW_STEPS
from .record import Part, timed

GROWTH = 0.01  # most that memory may grow after the first tenth
WARM_UP = 0.1
N_READINGS = 20
SETTINGS = {
    # Two threads of the engine, and no waiting threads that spin: with them a fit
    # of a few milliseconds takes a second where the cores are shared.
    "OMP_NUM_THREADS": "2",
    "OMP_WAIT_POLICY": "passive",
    "OPENBLAS_NUM_THREADS": "1",
    # glibc keeps arenas per thread; two make the size a matter of our doing.
    "MALLOC_ARENA_MAX": "2",
}
SCRIPT = "import sys; from reliability import load; load.work(int(sys.argv[1]))"


def measure(n_fits: int) -> Part:
    """Fit `n_fits` models in a fresh process and look at what it holds on to."""
    part = Part("load")
    with timed(part), tempfile.TemporaryDirectory() as private:
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(n_fits)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[1],
            env=os.environ | SETTINGS | {"TMPDIR": private},
        )
        if run.returncode != 0:
            part.losses.append(f"the process ended with {run.returncode}")
            return part
        found = json.loads(run.stdout.splitlines()[-1])
        found["temporary files left"] = len(list(Path(private).iterdir()))
    part.rows.append(found)
    part.losses += _judge(found)
    return part


def _judge(found: dict[str, Any]) -> list[str]:
    losses = []
    if found["growth"] > GROWTH:
        losses.append(f"memory grew by {found['growth']:.1%} after the warm-up")
    for name in ("more threads", "more open files", "temporary files left"):
        if found[name] > 0:
            losses.append(f"{found[name]} {name} at the end")
    return losses


def work(n_fits: int) -> None:
    """The process: fit, and print the readings as the last line."""
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        found = _fit_all(_jobs(Path(folder)), n_fits)
    print(json.dumps(found))


def _fit_all(jobs: list[Callable[[int], None]], n_fits: int) -> dict[str, Any]:
    # Every kind of fit once: some load libraries that keep a thread.
    first = min(max(len(jobs), round(WARM_UP * n_fits)), n_fits - 1)
    every = max(1, (n_fits - first) // N_READINGS)
    readings, start = [], _held()
    for number in range(n_fits):
        if number == first:
            start = _held()
        jobs[number % len(jobs)](number)
        if number >= first and (number - first) % every == 0:
            readings.append(_held()[0])
    end = _held()
    fifth = max(1, len(readings) // 5)
    before, after = np.median(readings[:fifth]), np.median(readings[-fifth:])
    return {
        "fits": n_fits,
        "kinds of fit": len(jobs),
        "MB after the first tenth": round(before / 1e6, 1),
        "MB at the end": round(after / 1e6, 1),
        "growth": round(float(after / before - 1), 5),
        "more threads": end[1] - start[1],
        "more open files": end[2] - start[2],
    }


def _held() -> tuple[int, int, int]:
    """Resident bytes, threads and open files of this process."""
    gc.collect()
    own = Path("/proc/self")
    pages = int((own / "statm").read_text().split()[1])
    counts = [len(list((own / name).iterdir())) for name in ("task", "fd")]
    return pages * os.sysconf("SC_PAGE_SIZE"), counts[0], counts[1]


def _jobs(folder: Path) -> list[Callable[[int], None]]:
    """One fit each: every method, and the ways around a fit that hold things open."""
    from manyview import S2MVTC, AnchorSpectral, Views, load_model
    from manyview.datasets import convert
    from manyview.datasets import load as load_data
    from manyview.engine.contract import lowered
    from manyview.methods import all_methods

    rng = np.random.default_rng(0)
    labels = np.arange(150) % 3
    views = [
        rng.normal(size=(3, d))[labels] + rng.normal(size=(150, d)) for d in (4, 6)
    ]
    data = convert(Views(views), folder / "d")
    jobs: list[Callable[[int], None]] = []

    def add(make: Callable[[], Any], given: Any, **options: Any) -> None:
        def job(seed: int) -> None:
            make().set_params(random_state=seed, **options).fit(given())

        jobs.append(job)

    for method in (m for m in all_methods() if m.is_installed):
        few = FEW_STEPS.get(method.name, {})
        add(lambda method=method: method.estimator(3), lambda: views, **few)
    add(lambda: S2MVTC(3), lambda: load_data(data))
    add(lambda: AnchorSpectral(3), lambda: load_data(data), memory_limit="1GB")
    add(lambda: AnchorSpectral(3), lambda: [np.asarray(v, "f4") for v in views])

    def in_many_blocks(seed: int) -> None:
        with lowered(block_rows=40):
            S2MVTC(3, random_state=seed).fit(views)

    def save_and_load(seed: int) -> None:
        model = AnchorSpectral(3, random_state=seed).fit(views)
        model.save(folder / "m.manyview", overwrite=True)
        load_model(folder / "m.manyview").predict(views)

    def broken(seed: int) -> None:
        bad = [views[0], np.where(views[1] > 2, np.nan, views[1])]
        try:
            S2MVTC(3, random_state=seed).fit(bad)
        except ValueError:
            return
        raise AssertionError("NaN was accepted")

    def with_checkpoint(seed: int) -> None:
        with tempfile.TemporaryDirectory() as saved:
            S2MVTC(3, random_state=seed, checkpoint=Path(saved) / "c").fit(views)

    return [*jobs, in_many_blocks, save_and_load, broken, with_checkpoint]
