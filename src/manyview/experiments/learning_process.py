"""The learning process: the paper's Figure 4, by t-SNE.

Every view's embedding before (B_v) and after (Y_v) smoothing, and the consensus.
"""

from __future__ import annotations

from collections.abc import Iterable
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from manyview.errors import InputError
from manyview.experiments.compare import IN_WORDS
from manyview.experiments.data_set import DataSet
from manyview.experiments.estimators import PUBLISHED, build, full_name
from manyview.experiments.execute import trace_of
from manyview.experiments.planned_run import Record, Run
from manyview.experiments.results_file import Results
from manyview.files.atomic import atomic_file
from manyview.metrics import accuracy
from manyview.present.plot import flatten, new_figure, scatter_groups

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MOST_ROWS = 1000  # t-SNE lays out so many in seconds a panel
SHOWN_ROUNDS = (1, 2, 4, 7)  # most changes in the first; the last is always shown


def runs(
    data: Iterable[DataSet],
    *,
    order: str = "file",
    seed: int = 0,
    n_rows: int = MOST_ROWS,
    method: str = PUBLISHED,
) -> list[Run]:
    """One traced fit per data set."""
    method = full_name(method)
    if "trace" not in signature(build(method, {}, 2, 0, "").fit).parameters:
        raise InputError(
            f"{method} has no rounds to draw. Choose S2MVTC or {PUBLISHED!r}."
        )
    return [Run(d, order, method, {}, seed, {"trace": n_rows}) for d in data]


def save_trace(path: Path, model: Any, traced: Any, rows: Any) -> None:
    """Keep the traced arrays of a fit: one entry per round and matrix."""
    arrays: dict[str, Any] = {
        f"round{t + 1}_{name}": np.asarray(values, dtype=np.float32)
        for t, matrices in enumerate(model.trace_)
        for name, values in matrices.items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    arrays |= {"rows": rows[traced], "found": model.labels_[traced]}
    with atomic_file(path) as part, part.open("wb") as file:
        np.savez_compressed(file, **arrays)


def figures(
    records: Iterable[Record], results: Results, data: Iterable[DataSet]
) -> dict[str, Figure]:
    """One figure per traced run, by name."""
    sets = {d.name: d for d in data}
    out = {}
    for r in records:
        path = trace_of(r, results)
        if r["status"] != "ok" or not path.exists():
            continue
        labels = sets[r["data"]].load().labels
        with np.load(path, allow_pickle=False) as trace:
            classes = None if labels is None else labels[trace["rows"]]
            out[f"process-{r['data']}-{r['order']}"] = _draw(r, trace, classes)
    return out


def _draw(record: Record, trace: Any, classes: Any) -> Figure:
    """Rows of panels are rounds, columns B_v and Y_v of every view and B_bar."""
    n_rounds = max(int(n.split("_")[0][5:]) for n in trace.files if "_" in n)
    rounds = [t for t in SHOWN_ROUNDS if t < n_rounds] + [n_rounds]
    names = {n.removeprefix("round1_") for n in trace.files}
    pairs = (f"{k}{v}" for v in range(len(names)) for k in "BY")
    columns = [*(p for p in pairs if p in names), "B_bar"]
    title = (
        f"{record['data']}, {IN_WORDS[record['order']]}, seed {record['seed']}, "
        f"{record['method']}: {len(trace['rows'])} rows by t-SNE through the rounds"
    )
    figure = new_figure(2.1 * len(columns), 2.25 * len(rounds) + 0.9, title)
    axes = figure.subplots(len(rounds), len(columns), squeeze=False)
    for line, t in zip(axes, rounds, strict=True):
        for axis, column in zip(line, columns, strict=True):
            points = flatten(trace[f"round{t}_{column}"]).points
            groups = np.zeros(len(points)) if classes is None else classes
            scatter_groups(axis, points, groups, size=5)
            if t == rounds[0]:
                axis.set_title(_in_words(column), fontsize=9)
        line[0].set_ylabel(f"round {t}", fontsize=10)
    caption = "No classes are known; one colour for all rows."
    if classes is not None:
        caption = (
            "Colour and marker: known class. At the end the clusters reach ACC "
            f"{accuracy(classes, trace['found']):.3f} on these rows. Axes have no unit."
        )
    figure.supxlabel(caption, fontsize=9)
    return figure


def _in_words(column: str) -> str:
    if column == "B_bar":
        return "consensus"
    kind = "before smoothing" if column[0] == "B" else "after smoothing"
    return f"view {int(column[1:]) + 1}\n{kind}"
