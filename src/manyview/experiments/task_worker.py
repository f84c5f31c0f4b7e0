"""The process a task runs in: ``python -m manyview.experiments.task_worker``.

One line of JSON in (the task), lines of JSON out: the word ``start`` before and
the result after every run. When the parent dies, standard input ends and so
does this process.
"""

import json
import os
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from manyview.datasets import find_anchors
from manyview.engine.resources import limit_address_space
from manyview.errors import InputError
from manyview.experiments import estimators
from manyview.experiments.data_set import DataSet, row_order
from manyview.experiments.learning_process import save_trace
from manyview.experiments.measuring import measured
from manyview.experiments.planned_run import Record
from manyview.experiments.preparation import on_our_scaling
from manyview.experiments.sensitivity import SharedSetUp, fit_shared
from manyview.files.atomic import atomic_file
from manyview.metrics import clustering_scores
from manyview.present.plot import choose_rows
from manyview.views.views import Views


def main() -> None:
    task = json.loads(sys.stdin.buffer.readline())
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1)
    # What a library prints must not get between the results.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for message in work(task):
        out.write(json.dumps(message) + "\n")


def _end_with_parent() -> None:
    os.read(0, 1)
    os._exit(1)


def work(task: Record) -> Iterator[Record]:
    """Messages of a task: data first, then every run."""
    if task["memory_limit"]:
        limit_address_space(task["memory_limit"])
    runs, shared = task["runs"], SharedSetUp()
    try:
        views = DataSet.from_json(runs[0]["data"]).load()
    except Exception as error:
        facts = _failure(error)
        yield from ({"event": "end", "key": run["key"], **facts} for run in runs)
        return
    for run in runs:
        yield {"event": "start", "key": run["key"]}
        yield {"event": "end", "key": run["key"], **_one(run, views, shared)}


def _one(run: Record, views: Views, shared: SharedSetUp) -> Record:
    """One run; whatever goes wrong becomes part of the result."""
    try:
        rows = row_order(run["order"], views.labels, len(views), run["seed"])
        ordered = views if run["order"] == "file" else views[rows]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            labels, facts = _fit(run, ordered, rows, shared)
        back = np.empty(len(rows), dtype=np.int32)
        back[rows] = labels
        path = Path(run["labels_to"])
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as part, part.open("wb") as file:
            np.save(file, back)
        if views.labels is not None:
            facts["scores"] = _scores(run, views.labels, back)
        return facts | {
            "status": "ok",
            "rows": len(views),
            "n_features": list(views.n_features),
            "warnings": sorted({str(w.message) for w in caught})[:5],
        }
    except Exception as error:
        return _failure(error)


def _failure(error: Exception) -> Record:
    kind = type(error).__name__
    where = traceback.format_exc(limit=-3)
    return {"status": "failed", "error": f"{kind}: {error}", "where": where}


def _fit(
    run: Record, views: Views, rows: Any, shared: SharedSetUp
) -> tuple[Any, Record]:
    """Labels of the rows as they stand, and what it took."""
    if run["method"] == estimators.ORACLE:
        return _oracle(run, views)
    model, facts = _model(run, views)
    if run["method"].endswith(estimators.ON_OUR_SCALING):
        views = on_our_scaling(views, facts["n_clusters"], run["seed"])
    if run["extras"].get("share"):
        _, took = measured(lambda: fit_shared(model, views, shared))
    elif "trace" in run["extras"]:
        traced = choose_rows(len(views), run["extras"]["trace"])
        _, took = measured(lambda: model.fit(views, trace=traced))
        save_trace(Path(run["trace_to"]), model, traced, rows)
    else:
        _, took = measured(lambda: model.fit(views))
    if hasattr(model, "n_iter_"):
        facts["n_iter_"] = model.n_iter_
    return model.labels_, facts | took


def _model(run: Record, views: Views) -> tuple[Any, Record]:
    """The estimator; in the published setting with the authors' anchors, if any."""
    method, data = run["method"], run["data"]
    setting = dict(run["setting"])
    n_clusters = setting.pop("n_clusters", None) or _count_classes(run, views)
    facts: Record = {"n_clusters": int(n_clusters)}
    model = estimators.build(method, setting, n_clusters, run["seed"], data["name"])
    wants_drawn = {"anchors", "n_anchors"} & setting.keys()
    if method == estimators.PUBLISHED and not wants_drawn:
        beside = find_anchors(data["source"])
        if beside is not None:
            model.set_params(anchors=beside[0])
            facts["anchors"] = beside[1].name
    return model, facts


def _scores(run: Record, known: Any, found: Any) -> dict[str, float]:
    """Of the rows that count."""
    rows = DataSet.from_json(run["data"]).is_scored(known)
    return clustering_scores(known[rows], found[rows])


def _count_classes(run: Record, views: Views) -> int:
    if views.labels is None:
        raise InputError(
            "The data has no known classes, which say how many clusters to find and "
            "how good they are. Of a table, name their column once: manyview convert "
            "FILE OUT --labels NAME, and give OUT."
        )
    scored = DataSet.from_json(run["data"]).is_scored(views.labels)
    return len(np.unique(views.labels[scored]))


def _oracle(run: Record, views: Views) -> tuple[Any, Record]:
    """k-means on every view alone; the known labels choose the view."""
    n_clusters = _count_classes(run, views)
    model = estimators.build(estimators.REFERENCE, {}, n_clusters, run["seed"], "")
    found, took = measured(
        lambda: [model.fit_predict(Views([a])) for a in views.arrays]
    )
    best = int(np.argmax([_scores(run, views.labels, f)["ACC"] for f in found]))
    return found[best], {"best_view": views.names[best], **took}


if __name__ == "__main__":
    main()
