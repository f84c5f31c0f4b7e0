"""The process a task runs in: ``python -m manyview.experiments.task_worker``.

One line of JSON in (the task), lines of JSON out: the word ``start`` before and
the result after every run. When the parent dies, standard input ends and so
does this process.
"""

from __future__ import annotations

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

from manyview.errors import InputError
from manyview.experiments import estimators
from manyview.experiments.data_set import DataSet, row_order
from manyview.experiments.measuring import measured
from manyview.experiments.planned_run import Record
from manyview.files.atomic import atomic_file
from manyview.metrics import clustering_scores
from manyview.views.views import Views


def main() -> None:
    """Read the task, do it, write results."""
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
        from manyview.engine.resources import limit_address_space

        limit_address_space(task["memory_limit"])
    try:
        data = DataSet.from_json(task["data"])
        views = data.load()
    except Exception as error:
        facts = _failure(error)
        for run in task["runs"]:
            yield {"event": "end", "key": run["key"], **facts}
        return
    shared: dict[Any, Any] = {}
    for run in task["runs"]:
        yield {"event": "start", "key": run["key"]}
        yield {"event": "end", "key": run["key"]} | _one(task, run, views, shared)


def _one(task: Record, run: Record, views: Views, shared: dict[Any, Any]) -> Record:
    """One run; whatever goes wrong becomes part of the result."""
    try:
        rows = row_order(task["order"], views.labels, len(views), run["seed"])
        ordered = views if task["order"] == "file" else views[rows]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            labels, facts = _fit(task, run, ordered, rows, shared)
        back = np.empty(len(rows), dtype=np.int32)
        back[rows] = labels
        if run.get("labels_to"):
            _save(Path(run["labels_to"]), back)
        facts |= {
            "rows": len(views),
            "n_features": list(views.n_features),
            "warnings": sorted({str(w.message) for w in caught})[:5],
        }
        if views.labels is not None:
            facts["scores"] = clustering_scores(views.labels, back)
        return {"status": "ok", **facts}
    except Exception as error:
        return _failure(error)


def _failure(error: Exception) -> Record:
    kind = type(error).__name__
    where = traceback.format_exc(limit=-3)
    return {"status": "failed", "error": f"{kind}: {error}", "where": where}


def _fit(
    task: Record, run: Record, views: Views, rows: Any, shared: dict[Any, Any]
) -> tuple[Any, Record]:
    """Labels of the rows as they stand, and what it took."""
    if task["method"] == estimators.ORACLE:
        return _oracle(views, run["seed"])
    model, facts = _model(task, run, views)
    if run["extras"].get("share"):
        from manyview.experiments.sensitivity import fit_shared

        labels, took = measured(lambda: fit_shared(model, views, shared))
        return labels, facts | took
    params = _fit_params(run["extras"], len(views))
    _, took = measured(lambda: model.fit(views, **params))
    if "trace" in params and run.get("trace_to"):
        from manyview.experiments.learning_process import save_trace

        save_trace(Path(run["trace_to"]), model, params["trace"], rows)
    facts |= {n: getattr(model, n) for n in ("n_iter_",) if hasattr(model, n)}
    return model.labels_, facts | took


def _model(task: Record, run: Record, views: Views) -> tuple[Any, Record]:
    """The estimator; in the published setting with the authors' anchors, if any."""
    method, name = task["method"], task["data"]["name"]
    n_clusters = run["setting"].get("n_clusters") or len(np.unique(views.labels))
    setting = {k: v for k, v in run["setting"].items() if k != "n_clusters"}
    facts: Record = {"n_clusters": int(n_clusters)}
    model = estimators.build(method, setting, n_clusters, run["seed"], name)
    wants_drawn = {"anchors", "n_anchors"} & setting.keys()
    if method == estimators.PUBLISHED and not wants_drawn:
        from manyview.datasets import find_anchors

        beside = find_anchors(task["data"]["source"])
        if beside is not None:
            model.set_params(anchors=beside[0])
            facts["anchors"] = beside[1].name
    return model, facts


def _fit_params(extras: Record, n_samples: int) -> Record:
    if "trace" not in extras:
        return {}
    n_traced = min(int(extras["trace"]), n_samples)
    rows = np.random.default_rng(0).choice(n_samples, n_traced, replace=False)
    return {"trace": np.sort(rows)}


def _oracle(views: Views, seed: int) -> tuple[Any, Record]:
    """k-means on every view alone; the known labels choose the view."""
    if views.labels is None:
        raise InputError(
            "The oracle picks its view by the labels, and the data has none. Give "
            "labels, or leave the oracle out."
        )
    n_clusters = len(np.unique(views.labels))

    def all_views() -> list[Any]:
        single = (Views([a]) for a in views.arrays)
        make = estimators.build
        return [
            make(estimators.REFERENCE, {}, n_clusters, seed, "").fit_predict(x)
            for x in single
        ]

    found, took = measured(all_views)
    scores = [clustering_scores(views.labels, f)["ACC"] for f in found]
    best = int(np.argmax(scores))
    return found[best], {"best_view": views.names[best], **took}


def _save(path: Path, labels: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(path) as part, part.open("wb") as file:
        np.save(file, labels)


if __name__ == "__main__":
    main()
