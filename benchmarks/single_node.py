"""One machine, the shapes of the paper's six data sets, generated values.

    python benchmarks/single_node.py --out single_node.json        # hours: all sets
    python benchmarks/single_node.py --only YoutubeFace_sel        # the largest
    python benchmarks/single_node.py --quick

Per data set: the library as published and with its defaults, the direct
transcription of the paper, k-means on the concatenation, and methods of other
packages where these are installed and can bear the size. Of the library as
published the median of three runs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import tempfile
from typing import Any
from unittest import mock

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

import child
import figures
from direct import counted, direct_s2mvtc
from manyview import S2MVTC, SequenceS2MVTC, sequence_s2mvtc
from manyview.datasets import known, like
from manyview.stages.sequence_settings import PUBLISHED

LIMIT = "2.2GB"
METHODS = (
    "as published",
    f"as published in {LIMIT}",
    "direct",
    "default",
    "KMeans",
    "mvlearn",
    "imml",
)
QUICK = METHODS[:5]
# The yardstick runs for minutes and averages over the machine's moods; ours do not.
REPEATS = 3
MOST_OTHERS = 10_000


def fit_published(job: dict[str, Any]) -> None:
    """The library; leaves anchors and starts for the yardstick."""
    views = data(job)
    model = published(job, views)
    caught: list[Any] = []
    label = sequence_s2mvtc.keep_first_labels

    def spy(engine: Any, rows: Any) -> None:
        caught.append(engine.caller_rows(rows))
        label(engine, rows)

    with mock.patch.object(sequence_s2mvtc, "keep_first_labels", spy):
        seconds, _ = child.timed(lambda: model.fit(views))
    passes = model._passes
    parts = {f"a{v}": a for v, a in enumerate(model.anchors_)}
    weights = zip(passes.view_order, passes.start.weights, strict=True)
    parts |= {f"w{v}": w for v, w in weights}
    np.savez(job["shared"], labels=model.labels_, rows=caught[0], **parts)
    child.answer(job, seconds=seconds, work=work_of(model, views))


def fit_limited(job: dict[str, Any]) -> None:
    """The library with a memory limit, features in a scratch file."""
    views = data(job)
    model = published(job, views).set_params(memory_limit=LIMIT)
    seconds, _ = child.timed(lambda: model.fit(views))
    ari = adjusted_rand_score(model.labels_, np.load(job["shared"])["labels"])
    child.answer(job, seconds=seconds, work=work_of(model, views), ari=ari)


def published(job: dict[str, Any], views: Any) -> SequenceS2MVTC:
    """The published setting of a data set; fewer anchors where rows are few."""
    model = SequenceS2MVTC.as_published(job["name"]).set_params(random_state=0)
    return model.set_params(n_anchors=min(1000, len(views) // 2))


def work_of(model: SequenceS2MVTC, views: Any) -> float:
    """Counted floating-point operations of a fit."""
    m, k = model._passes.start.weights[0].shape
    return counted(len(views), list(views.n_features), m, k, 7, 2 * model.n_low - 1)


def fit_direct(job: dict[str, Any]) -> None:
    """The yardstick on the same anchors and start."""
    views = data(job)
    shared = np.load(job["shared"])
    n_views = views.n_views
    _, beta, lam, n_low = PUBLISHED[job["name"]]

    def work() -> Any:
        return direct_s2mvtc(
            [np.asarray(a) for a in views.arrays],
            [shared[f"a{v}"] for v in range(n_views)],
            [shared[f"w{v}"] for v in range(n_views)],
            shared["rows"],
            n_low=n_low,
            lam=lam,
            beta=beta,
            growth=1.1,
            max_iter=7,
        )

    seconds, labels = child.timed(work)
    ari = adjusted_rand_score(labels, shared["labels"])
    child.answer(job, seconds=seconds, ari=ari)


def fit_default(job: dict[str, Any]) -> None:
    """The library with its own settings."""
    views = data(job)
    model = S2MVTC(PUBLISHED[job["name"]][0], random_state=0)
    seconds, _ = child.timed(lambda: model.fit(views))
    child.answer(
        job, seconds=seconds, truth=adjusted_rand_score(views.labels, model.labels_)
    )


def fit_kmeans(job: dict[str, Any]) -> None:
    """scikit-learn on all features side by side."""
    views = data(job)
    table = np.concatenate([np.asarray(a) for a in views.arrays], axis=1)
    model = KMeans(PUBLISHED[job["name"]][0], n_init=10, random_state=0)
    seconds, _ = child.timed(lambda: model.fit(table))
    child.answer(
        job, seconds=seconds, truth=adjusted_rand_score(views.labels, model.labels_)
    )


def fit_other(job: dict[str, Any]) -> None:
    """Multi-view k-means of mvlearn, or imml's cheapest relative of ours."""
    views = data(job)[:MOST_OTHERS]
    Xs = [np.asarray(a, dtype=np.float64) for a in views.arrays]
    n_clusters = PUBLISHED[job["name"]][0]
    if job["method"] == "mvlearn":
        from mvlearn.cluster import MultiviewKMeans

        model, Xs = MultiviewKMeans(n_clusters, random_state=0), Xs[:2]
    else:
        from imml.cluster import OPIMC

        model = OPIMC(n_clusters=n_clusters, random_state=0)
    seconds, _ = child.timed(lambda: model.fit_predict(Xs))
    child.answer(job, seconds=seconds, rows=len(views))


def data(job: dict[str, Any]) -> Any:
    """Generated views of the asked shape, sorted by class as the paper sorts them.

    In random order the published method finds nothing, and two runs would be
    compared on noise.
    """
    views = like(job["name"], n_samples=job["rows"], random_state=0)
    return views[np.argsort(views.labels, kind="stable")]


JOBS = {
    "as published": fit_published,
    f"as published in {LIMIT}": fit_limited,
    "direct": fit_direct,
    "default": fit_default,
    "KMeans": fit_kmeans,
    "mvlearn": fit_other,
    "imml": fit_other,
}


def one_set(
    name: str, rows: int, methods: tuple[str, ...], repeats: int
) -> list[dict[str, Any]]:
    """All methods on one shape, ratios against the yardstick in the same run."""
    rate = child.matrix_rate()
    found: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for method in methods:
            if method in ("mvlearn", "imml") and not importlib.util.find_spec(method):
                continue
            shared = os.path.join(folder, "shared.npz")  # noqa: PTH118
            job = {"name": name, "rows": rows, "method": method, "shared": shared}
            times = repeats if method.startswith("as published") else 1
            runs = [child.run(__file__, job) for _ in range(times)]
            for run in runs:
                print(name, rows, method, run, flush=True)
            found[method] = sorted(runs, key=lambda r: r.get("seconds", 0.0))[
                times // 2
            ]
    yard = found.get("direct", {})
    table = []
    for method, got in found.items():
        seconds, work = got.get("seconds"), got.get("work")
        table.append(
            {
                "data": name,
                "rows": got.get("rows", rows),
                "method": method,
                "seconds": seconds,
                "peak GB": got.get("peak_gb"),
                "direct / this, time": ratio(yard.get("seconds"), seconds),
                "this / direct, memory": ratio(got.get("peak_gb"), yard.get("peak_gb")),
                "counted GF": None if work is None else work / 1e9,
                "share of matrix rate": ratio(work, (seconds or 0) * rate),
                "ARI with the library": got.get("ari"),
                "error": got.get("error"),
            }
        )
    return table


def ratio(a: float | None, b: float | None) -> float | None:
    """a / b where both are known."""
    return a / b if a and b else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out")
    parser.add_argument("--only", choices=PUBLISHED)
    parser.add_argument("--methods", help="comma-separated, default all")
    parser.add_argument("--rows", type=int, help="instead of the real number")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        job = json.loads(options.job)
        JOBS[job["method"]](job)
        return
    names = [options.only] if options.only else list(PUBLISHED)
    methods = tuple(options.methods.split(",")) if options.methods else METHODS
    if options.quick:
        names, methods, options.rows = ["CCV"], QUICK, 400
    table, rows = [], {k.name: k.rows for k in known()}
    for name in names:
        size = options.rows or rows[name]
        table += one_set(name, size, methods, 1 if options.quick else REPEATS)
    found = {"machine": figures.machine(), "matrix_rate": child.matrix_rate()}
    figures.save(options.out, found | {"results": table})
    text = figures.table(table)
    print(text)
    if options.docs:
        rate = f"Float32 matrix products here: {found['matrix_rate'] / 1e9:.0f} GF/s."
        parts = [figures.describe(found["machine"]), rate, text]
        figures.fill("single_node", "\n\n".join(parts))


if __name__ == "__main__":
    main()
