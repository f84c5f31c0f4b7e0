"""``manyview demo``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from manyview.cli import terminal
from manyview.running.progress import shown

if TYPE_CHECKING:
    from manyview.cli.demo import Row


def demo(
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="DIR", help="Folder for the results.")
    ] = "demo-output",
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random choices.")] = 0,
    force: Annotated[
        bool,
        typer.Option("--force", help="Replace an earlier run in DIR, demo or not."),
    ] = False,
) -> None:
    """Cluster handwritten digits seen six ways; nothing is downloaded.

    Compares k-means on each view and on all views side by side with S2MVTC, and
    draws the consensus embedding.

    \b
    Example:
      manyview demo --out demo-output
    """
    from manyview.cli.demo import PICTURE, check_demo_target, run_all, write_demo
    from manyview.datasets import load_digits_views
    from manyview.present.plot import INSTALL

    check_demo_target(out, force=force)
    views = load_digits_views(random_state=seed)
    terminal.say(
        f"{len(views)} handwritten digits in shuffled order, seen through "
        f"{views.n_views} views: {', '.join(views.names)}"
    )
    with shown(True, "Clustering the digits"):
        rows = list(run_all(views, seed))
    _show(rows)
    with shown(True, "Drawing the embedding"):
        folder, drawn = write_demo(out, views, rows, seed, force=force)
    terminal.say_written(folder, "Labels, embedding and scores")
    if drawn:
        terminal.say_written(folder / PICTURE, "Picture")
    else:
        terminal.say(
            f"No picture was drawn: matplotlib is not installed. Get it: {INSTALL}"
        )


def _show(rows: list[Row]) -> None:
    header = ("method", *rows[0].scores, "seconds")
    lines = [
        (r.name, *(f"{s:.3f}" for s in r.scores.values()), f"{r.seconds:.1f}")
        for r in rows
    ]
    terminal.show_table(
        "Scores against the digits (1 is best)",
        header,
        lines,
        right=header[1:],
        strong=len(lines) - 1,
    )
