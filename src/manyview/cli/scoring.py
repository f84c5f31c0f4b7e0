"""``manyview score``."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from manyview.cli import terminal


def score(
    true: Annotated[
        str,
        typer.Argument(
            metavar="TRUE", help="Known classes: a label file or data with labels."
        ),
    ],
    found: Annotated[
        str,
        typer.Argument(
            metavar="PRED", help="Clusters: a label file or the folder of a run."
        ),
    ],
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score clusters against known classes with seven measures.

    Label files are text with one label per row, CSV with a column of labels, .npy,
    or any data file that holds labels. Rows are matched by name where both have names.

    \b
    Example:
      manyview score classes.csv runs/first
      manyview score classes.npy runs/first/labels.npy --json
    """
    from manyview.cli.label_files import match_rows, read_labels
    from manyview.errors import InputError
    from manyview.metrics import clustering_scores

    known, clusters = read_labels(true), read_labels(found)
    if len(known.labels) != len(clusters.labels):
        raise InputError(
            f"{true} has {len(known.labels)} labels and {found} has "
            f"{len(clusters.labels)}. Give one label per row in both."
        )
    scores = clustering_scores(known.labels, match_rows(known, clusters))
    if as_json:
        terminal.say(json.dumps(scores))
    else:
        terminal.show_scores(scores)
