"""``manyview demo``: handwritten digits seen six ways, clustered and scored.

scikit-learn's digits ship with it, so nothing is downloaded. Rows are shuffled;
the labels are used for the scores alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from threadpoolctl import threadpool_limits
from typer import Option

import manyview
from manyview.cli import options, terminal
from manyview.errors import install_command
from manyview.present.table import BEST, Table
from manyview.running.progress import shown

N_CLUSTERS = 10  # the digits 0 to 9
COMMAND = "demo"
PICTURE = "embedding.png"


def demo(
    out: options.OutFolder = "demo-output",
    seed: options.Seed = 0,
    force: Annotated[
        bool, Option("--force", help="Replace an earlier run in DIR, demo or not.")
    ] = False,
) -> None:
    """Cluster handwritten digits seen six ways; nothing is downloaded.

    Compares k-means on each view and on all views side by side with S2MVTC, and
    draws the consensus embedding.

    \b
    Example:
      manyview demo --out demo-output
    """
    replace = may_replace(out, force=force)
    views = manyview.datasets.load_digits_views(random_state=seed)
    terminal.say(
        f"{len(views)} handwritten digits in shuffled order, seen through "
        f"{views.n_views} views: {', '.join(views.names)}"
    )
    with shown(True, "Clustering the digits"):
        rows = list(run_all(views, seed))
    show_rows(rows)
    with shown(True, "Drawing the embedding"):
        folder, drawn = write_demo(out, views, rows, seed, force=replace)
    terminal.say_written(folder, "Labels, embedding and scores")
    if drawn:
        terminal.say_written(folder / PICTURE, "Picture")
    else:
        how = f"Get it: {install_command('plot')}"
        terminal.say(f"No picture was drawn: matplotlib is not installed. {how}")


class Row(NamedTuple):
    """One line of the demo's table."""

    name: str
    scores: dict[str, float]
    seconds: float
    model: Any


def candidates(views: manyview.Views, seed: int) -> Iterator[tuple[str, Any, Any]]:
    """Name, estimator and data of every line: each view, all side by side, ours."""
    data = {f"k-means, {n}": a for n, a in zip(views.names, views.arrays, strict=True)}
    for name, array in {**data, "k-means, all views": views}.items():
        model = manyview.baselines.ConcatKMeans(N_CLUSTERS, random_state=seed)
        yield name, model, array
    yield "S2MVTC, all views", manyview.S2MVTC(N_CLUSTERS, random_state=seed), views


def run_all(views: manyview.Views, seed: int) -> Iterator[Row]:
    """Fit and score every candidate, one after the other."""
    for name, model, data in candidates(views, seed):
        start = time.perf_counter()
        # So few rows gain nothing from threads, and on a busy machine threads that
        # wait for each other cost minutes.
        with threadpool_limits(1):
            model.fit(data)
        seconds = time.perf_counter() - start
        scores = manyview.metrics.clustering_scores(views.labels, model.labels_)
        yield Row(name, scores, seconds, model)


def show_rows(rows: list[Row]) -> None:
    """The table on the terminal, our line in bold."""
    table = _table(rows, 3)
    table.rows[-1] = [cell._replace(mark=BEST) for cell in table.rows[-1]]
    terminal.show_table(table)


def _table(rows: list[Row], digits: int) -> Table:
    columns = ["method", *rows[0].scores, "seconds"]
    table = Table("scores", "Scores against the digits (1 is best)", columns)
    for row in rows:
        scores = (f"{score:.{digits}f}" for score in row.scores.values())
        table.add(row.name, *scores, f"{row.seconds:.{digits - 2}f}")
    return table


def may_replace(out: str | Path, *, force: bool = False) -> bool:
    """May the folder be written? True if an earlier run there is to be replaced."""
    from manyview.files.run_folder import META, check_target, read_meta

    folder = Path(out).expanduser()
    if not force and (folder / META).is_file():
        force = read_meta(folder).get("command") == COMMAND
    check_target(folder, force=force)
    return force


def write_demo(
    out: str | Path, views: manyview.Views, rows: list[Row], seed: int, force: bool
) -> tuple[Path, bool]:
    """Write table, run and picture; the folder, and whether a picture was drawn."""
    from manyview.files.run_folder import Run, writing

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
    drawn = manyview.plot.is_available()
    with writing(out, run, force=may_replace(out, force=force)) as folder:
        (folder / "scores.csv").write_text(_table(rows, 4).to_csv(), encoding="utf-8")
        if drawn:
            flat = manyview.plot.flatten(best.model.embedding_, random_state=seed)
            found = {"Clusters found by S²MVTC": run.labels}
            picture = manyview.plot.draw_embedding(
                flat,
                found | {"Digits written": views.labels},
                title=f"Consensus embedding of {views.origin}, {views.n_views} views\n"
                f"rows shuffled, seed {seed}, default settings",
            )
            manyview.plot.save(picture, (folder / PICTURE).with_suffix(""), ["png"])
    return Path(out).expanduser().absolute(), drawn
