"""The demo: handwritten digits seen six ways, clustered and scored.

scikit-learn's digits ship with it, so nothing is downloaded. Rows are shuffled;
the labels are used for the scores alone.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from manyview.base import MultiViewClusterer
from manyview.baselines import ConcatKMeans
from manyview.files.run_folder import META, Run, check_target, read_meta, writing
from manyview.metrics import clustering_scores
from manyview.present import plot
from manyview.s2mvtc import S2MVTC
from manyview.views.views import Views

N_CLUSTERS = 10
COMMAND = "demo"
PICTURE = "embedding.png"


@dataclass(frozen=True)
class Row:
    """One line of the demo's table."""

    name: str
    scores: dict[str, float]
    seconds: float
    model: MultiViewClusterer


def candidates(views: Views, seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Name, estimator and data of every line: each view, all side by side, ours."""
    for name, array in zip(views.names, views.arrays, strict=True):
        model = ConcatKMeans(N_CLUSTERS, random_state=seed)
        yield f"k-means, {name}", model, array
    yield "k-means, all views", ConcatKMeans(N_CLUSTERS, random_state=seed), views
    yield "S2MVTC, all views", S2MVTC(N_CLUSTERS, random_state=seed), views


def run_all(views: Views, seed: int) -> Iterator[Row]:
    """Fit and score every candidate, one after the other."""
    for name, model, data in candidates(views, seed):
        start = time.perf_counter()
        # So few rows gain nothing from threads, and on a busy machine threads that
        # wait for each other cost minutes.
        with threadpool_limits(1):
            model.fit(data)
        seconds = time.perf_counter() - start
        yield Row(name, clustering_scores(views.labels, model.labels_), seconds, model)


def check_demo_target(out: str | Path, *, force: bool = False) -> bool:
    """May the folder be written? True if an earlier run there is to be replaced."""
    folder = Path(out).expanduser()
    if not force and (folder / META).is_file():
        force = read_meta(folder).get("command") == COMMAND
    check_target(folder, force=force)
    return force


def write_demo(
    out: str | Path, views: Views, rows: list[Row], seed: int, *, force: bool = False
) -> tuple[Path, bool]:
    """Write table, run and picture; the folder, and whether a picture was drawn."""
    force = check_demo_target(out, force=force)
    target = Path(out).expanduser().absolute()
    best = rows[-1]
    run = Run(
        labels=best.model.labels_,
        method=type(best.model).__name__,
        settings=best.model.get_params(),
        data={"origin": views.origin, "rows": len(views), "order": "shuffled"},
        timings={row.name: row.seconds for row in rows},
        embedding=best.model.embedding_,
        scores=best.scores,
        extra={"command": COMMAND},
    )
    drawn = plot.is_available()
    with writing(target, run, force=force) as folder:
        _write_table(folder / "scores.csv", rows)
        if drawn:
            plot.save(_picture(views, best.model, seed), folder / PICTURE)
    return target, drawn


def _write_table(path: Path, rows: list[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(("method", *rows[0].scores, "seconds"))
        for row in rows:
            values = [f"{score:.4f}" for score in row.scores.values()]
            table.writerow((row.name, *values, f"{row.seconds:.2f}"))


def _picture(views: Views, model: Any, seed: int) -> Any:
    setting = f"smoothing={model.smoothing}, other settings default"
    flat = plot.flatten(np.asarray(model.embedding_), random_state=seed)
    return plot.draw_embedding(
        flat,
        {"Clusters found by S²MVTC": model.labels_, "Digits written": views.labels},
        title=f"Consensus embedding of {views.origin}, {views.n_views} views\n"
        f"rows shuffled, seed {seed}, {setting}",
    )
