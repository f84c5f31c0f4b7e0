"""``manyview audit``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from manyview.cli import terminal
from manyview.cli.reading import Files, LabelSource, ViewNames, read_views
from manyview.running.progress import shown


def audit(
    files: Files,
    clusters: Annotated[
        int | None,
        typer.Option(
            "--clusters", "-k", metavar="K", help="Default: the number of classes."
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Default: S2MVTC smoothing along the rows."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the method."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random choices.")] = 0,
    labels: LabelSource = None,
    view: ViewNames = None,
    figure: Annotated[
        str | None,
        typer.Option("--figure", metavar="PATH", help="Draw it: PATH.png, PATH.svg."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find out how much of a partition comes from the order of the rows.

    \b
    Example:
      manyview audit CCV
      manyview audit data.npz -k 8 --method S2MVTC --set n_low=16 --figure order
    """
    from manyview.cli.settings import make_estimator, parse_settings
    from manyview.order_audit import audit_order

    views = read_views(files, view, labels)
    n_clusters = clusters or _count_classes(views.labels)
    given = parse_settings(settings or [])
    wanted = method or ("S2MVTC" if given else None)
    model = wanted and make_estimator(wanted, str(n_clusters), seed, given)
    with shown(True, "Auditing the row order"):
        found = audit_order(
            views, n_clusters, estimator=model or None, random_state=seed
        )
    if as_json:
        known = {"trustworthy": found.trustworthy, "dependence": found.dependence}
        terminal.say(
            json.dumps({"sentence": found.sentence, **known, "runs": found.scores})
        )
    else:
        terminal.say(found.table.to_markdown())
        terminal.say(found.sentence)
    for path in found.plot(figure) if figure else ():
        terminal.say_written(path, "Figure")


def _count_classes(labels: object) -> int:
    import numpy as np

    from manyview.errors import InputError

    if labels is None:
        raise InputError(
            "The data has no classes to count. Say how many clusters with --clusters."
        )
    return len(np.unique(np.asarray(labels)))
