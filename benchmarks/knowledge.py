"""What some known rows are worth: labels, wrong labels and links, beside none.

    MANYVIEW_DATA=... python benchmarks/knowledge.py               # the eleven
    MANYVIEW_DATA=... python benchmarks/knowledge.py --data MSRC-v5 Handwritten
    python benchmarks/knowledge.py --quick --out knowledge.md      # generated rows

Of a random 5 % of the rows the classes are given as `partial_labels`, as they are and
with one in ten replaced by another class; or as many pairs of random rows are given as
there are such rows, as `must_link` or `cannot_link` by their classes. ACC is that of
the other 95 % (for links, of all rows that are in no pair), beside that of a plain
fit on the same rows. `conflicts_` is to name the wrong labels: how many of these it
names, and how many of the rows it names have one.

What was there to win? Two columns are of classifiers, on the views as the fit prepares
them, each of one spread, side by side: logistic regression with three weights of its
penalty and label spreading along 5 and 20 neighbours, given the same 5 %, and logistic
regression given four fifths of all rows, scored on the fifth left out. Both show the
best of their kind by these very scores, so they are a little too good.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, cross_val_predict
from sklearn.semi_supervised import LabelSpreading

import figures
from honest import ELEVEN
from manyview import S2MVTC
from manyview.errors import ManyviewWarning
from manyview.experiments.data_set import DataSet, found
from manyview.experiments.preparation import on_our_scaling
from manyview.files.atomic import write_text
from manyview.metrics import accuracy

SHARE = 0.05
WRONG = 0.1
SEEDS = 3
PENALTIES = (1.0, 10.0, 100.0)
NEIGHBOURS = (5, 20)
FOLDS = 5
PAGE = figures.ROOT / "benchmarks" / "results" / "knowledge.md"
GENERATED = {"n_samples": 600, "n_features": [10, 8], "n_clusters": 4}


def partial(
    classes: Any, wrong: float, rng: np.random.Generator
) -> tuple[Any, Any, Any]:
    """Labels with −1 where unknown, the rows that are known, and those told wrong."""
    n, k = len(classes), int(classes.max()) + 1
    rows = rng.permutation(n)[: max(1, round(SHARE * n))]
    labels = np.full(n, -1)
    labels[rows] = classes[rows]
    false = rows[rng.random(len(rows)) < wrong]
    labels[false] = (labels[false] + rng.integers(1, k, len(false))) % k
    return labels, rows, false


def links(classes: Any, rng: np.random.Generator) -> tuple[dict[str, Any], Any]:
    """As many pairs of random rows as rows would be labelled, and their rows."""
    n = len(classes)
    pairs = rng.choice(n, (max(1, round(SHARE * n)), 2), replace=True)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    same = classes[pairs[:, 0]] == classes[pairs[:, 1]]
    return {"must_link": pairs[same], "cannot_link": pairs[~same]}, np.unique(pairs)


def side_by_side(views: Any, k: int) -> Any:
    """The views as a fit prepares them, in all of one spread, as one table."""
    parts = []
    for x in on_our_scaling(views, k, seed=0).arrays:
        x = np.asarray(x.toarray() if sp.issparse(x) else x, float)
        x = x - x.mean(axis=0)
        parts.append(x / np.sqrt((x * x).sum(axis=1).mean()))
    X = np.concatenate(parts, axis=1)
    if X.shape[1] <= len(X):
        return X
    left, lengths, _ = np.linalg.svd(X, full_matrices=False)
    return left * lengths  # the same products in fewer columns


def by_classifiers(X: Any, classes: Any, told: Any, rest: Any) -> float:
    """The best share of the rest that classifiers get right from what is told."""
    known = told >= 0
    found = []
    for c in PENALTIES:
        model = LogisticRegression(C=c, max_iter=1000).fit(X[known], told[known])
        found.append(model.predict(X))
    for n in NEIGHBOURS:
        spread = LabelSpreading(kernel="knn", n_neighbors=n, alpha=0.8)
        found.append(spread.fit(X, told).transduction_)
    return max(float((labels == classes)[rest].mean()) for labels in found)


def with_most_labels(X: Any, classes: Any) -> float:
    """The best share that logistic regression gets right from the other folds."""
    folds = KFold(FOLDS, shuffle=True, random_state=0)
    found = [
        cross_val_predict(LogisticRegression(C=c, max_iter=1000), X, classes, cv=folds)
        for c in PENALTIES
    ]
    return max(float((labels == classes).mean()) for labels in found)


def measure(data: DataSet, seeds: int) -> dict[str, Any]:
    """Means over seeds: one line of the table, as figures."""
    views = data.load()
    classes = np.unique(views.labels, return_inverse=True)[1]
    k, n = int(classes.max()) + 1, len(classes)
    lines = []
    X = side_by_side(views, k)
    most = with_most_labels(X, classes)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        plain = S2MVTC(k, random_state=seed).fit(views).labels_

        def score(labels: Any, rows: Any) -> float:
            rest = np.setdiff1d(np.arange(n), rows)
            return accuracy(classes[rest], labels[rest])

        told, rows, _ = partial(classes, 0.0, rng)
        right = S2MVTC(k, random_state=seed).fit(views, partial_labels=told)
        rest = np.setdiff1d(np.arange(n), rows)
        classified = by_classifiers(X, classes, told, rest)
        told, same_rows, false = partial(classes, WRONG, np.random.default_rng(seed))
        assert set(rows) == set(same_rows)
        model = S2MVTC(k, random_state=seed).fit(views, partial_labels=told)
        named = len(np.intersect1d(model.conflicts_, false))
        pairs, linked = links(classes, rng)
        tied = S2MVTC(k, random_state=seed).fit(views, **pairs)
        lines.append(
            {
                "none": score(plain, rows),
                "5 % of labels": score(right.labels_, rows),
                "classifier, the same 5 %": classified,
                "classifier, 80 %": most,
                "10 % of them wrong": score(model.labels_, rows),
                "none, beside links": score(plain, linked),
                "links": score(tied.labels_, linked),
                "wrong ones named": named / max(len(false), 1),
                "named ones wrong": named / max(len(model.conflicts_), 1),
            }
        )
    means = {name: float(np.mean([line[name] for line in lines])) for name in lines[0]}
    return {"data": data.name, "rows": n, "clusters": k, **means}


def shown(line: dict[str, Any]) -> dict[str, Any]:
    return {n: f"{v:.3f}" if isinstance(v, float) else v for n, v in line.items()}


def page(lines: list[dict[str, Any]], seeds: int) -> str:
    """The table, with the mean of all sets below."""
    names = [n for n, v in lines[0].items() if isinstance(v, float)]
    mean = {n: float(np.mean([line[n] for line in lines])) for n in names}
    total = {"data": f"mean of {len(lines)}", "rows": "", "clusters": "", **mean}
    parts = [
        "# What some known rows are worth",
        f"{seeds} seeds, of fits and of the rows that are known; ACC of the others.",
        figures.describe(figures.machine()),
        "<!-- table -->",
        figures.table([shown(line) for line in [*lines, total]]),
    ]
    return "\n\n".join(parts).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="*", help="of the eleven sets only these")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--quick", action="store_true", help="generated data alone")
    parser.add_argument("--out", type=Path, default=PAGE, help="Markdown file to write")
    options = parser.parse_args()
    for kind in (ManyviewWarning, ConvergenceWarning):
        warnings.simplefilter("ignore", kind)
    wanted = [d for d in found() if d.name in (options.data or ELEVEN)]
    if options.quick:
        wanted = [
            DataSet.generated("small", view_quality=0.4, random_state=0, **GENERATED)
        ]
    lines = []
    for data in wanted:
        lines.append(measure(data, options.seeds))
        print(shown(lines[-1]), flush=True)
        write_text(options.out, page(lines, options.seeds))


if __name__ == "__main__":
    main()
