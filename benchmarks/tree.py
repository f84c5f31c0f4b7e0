"""Coarse to fine: what cuts of a tree are worth beside fits of the same number.

    MANYVIEW_DATA=... python benchmarks/tree.py                # all that is found
    MANYVIEW_DATA=... python benchmarks/tree.py --data MSRC-v5 Handwritten
    python benchmarks/tree.py --quick --out tree.md            # generated rows

*Looking upwards.* A model is fitted with twice as many clusters as there are classes,
and its tree cut at the number of classes: ACC of the cut, of Ward's linkage of the same
model's embedding, and of a fit of that number itself.

*Groups of clusters.* Generated rows fall into three groups of four clusters; in every
view groups lie twice as far apart as the clusters inside. No fit is told of the groups:
agreement (ARI) of the cut at twelve with the clusters, and of the cut at three with the
groups, of Ward's linkage and of a fit of three.
Classes are used for scoring and for their number alone.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import AgglomerativeClustering

import figures
from manyview import S2MVTC, Views, hierarchy
from manyview.errors import ManyviewWarning
from manyview.experiments.data_set import DataSet, found
from manyview.files.atomic import write_text
from manyview.metrics import accuracy, ari

SETS = (
    *("MSRC-v5", "3Sources", "ORL", "BBCSport-2view", "SNAREseq", "100Leaves"),
    *("Handwritten", "HW2sources", "BDGP", "Wikipedia", "Scene-15"),
)
FINER = 2
SEEDS = 3
N_GROUPS, N_EACH, N_ROWS = 3, 4, 900
WIDTHS = (8, 12, 16)
# How far clusters lie apart inside their groups, in deviations inside them.
DISTANCES = (6.0, 4.0, 3.0)
GROUPS_APART = 2.0
PAGE = figures.ROOT / "benchmarks" / "results" / "tree.md"


def ward(model: Any, k: int) -> Any:
    return AgglomerativeClustering(k).fit_predict(np.asarray(model.embedding_))


def upwards(data: DataSet, seeds: int) -> dict[str, Any]:
    """Means over seeds of one set, as figures."""
    views = data.load()
    k, lines = len(np.unique(views.labels)), []
    for seed in range(seeds):
        fine = S2MVTC(FINER * k, random_state=seed).fit(views)
        whole = S2MVTC(k, random_state=seed).fit(views)
        parts = (hierarchy(fine, views).cut(k), ward(fine, k), whole.labels_)
        lines.append([accuracy(views.labels, labels) for labels in parts])
    cut, by_ward, direct = np.mean(lines, axis=0)
    return {
        "data": data.name,
        "rows": len(views),
        "clusters": f"{FINER * k} → {k}",
        "cut of the tree": float(cut),
        "Ward's linkage": float(by_ward),
        "a fit itself": float(direct),
    }


def nested(distance: float, seed: int) -> tuple[Views, Any]:
    """Rows in groups of clusters, labelled, and the group of every row."""
    rng = np.random.default_rng(seed)
    cluster = rng.permutation(np.arange(N_ROWS) % (N_GROUPS * N_EACH))
    group, arrays = cluster // N_EACH, []
    for width in WIDTHS:
        one = distance / np.sqrt(2 * width)  # of a coordinate, for that distance
        groups = rng.normal(size=(N_GROUPS, width)) * GROUPS_APART * one
        inside = rng.normal(size=(N_GROUPS * N_EACH, width)) * one
        arrays.append(
            groups[group] + inside[cluster] + rng.normal(size=(N_ROWS, width))
        )
    return Views(arrays, labels=cluster), group


def grouped(distance: float, seeds: int) -> dict[str, Any]:
    """Means over seeds of the generated groups at one distance."""
    lines = []
    for seed in range(seeds):
        views, group = nested(distance, seed)
        fine = S2MVTC(N_GROUPS * N_EACH, random_state=seed).fit(views)
        whole = S2MVTC(N_GROUPS, random_state=seed).fit(views)
        cut = hierarchy(fine, views).cut(N_GROUPS)
        parts = (cut, ward(fine, N_GROUPS), whole.labels_)
        lines.append([ari(views.labels, fine.labels_), *(ari(group, x) for x in parts)])
    clusters, cut, by_ward, direct = np.mean(lines, axis=0)
    return {
        "deviations apart": f"{distance:g}",
        "the clusters": float(clusters),
        "groups, cut of the tree": float(cut),
        "Ward's linkage": float(by_ward),
        "a fit itself": float(direct),
    }


def shown(line: dict[str, Any]) -> dict[str, Any]:
    return {n: f"{v:.3f}" if isinstance(v, float) else v for n, v in line.items()}


def page(groups: list[Any], lines: list[Any], seeds: int) -> str:
    """The results as far as they go, with the mean of all sets below."""
    total = []
    if lines:
        names = [n for n, v in lines[0].items() if isinstance(v, float)]
        mean = {n: float(np.mean([line[n] for line in lines])) for n in names}
        total = [{"data": f"mean of {len(lines)}", "rows": "", "clusters": "", **mean}]
    parts = [
        "# Coarse to fine",
        f"Means of {seeds} seeds.",
        figures.describe(figures.machine()),
        "<!-- groups -->",
        figures.table([shown(line) for line in groups]),
        "<!-- sets -->",
        figures.table([shown(line) for line in [*lines, *total]]) if lines else "",
    ]
    return "\n\n".join(parts).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="*", help="of the known sets only these")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--quick", action="store_true", help="generated data alone")
    parser.add_argument("--out", type=Path, default=PAGE, help="Markdown file to write")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ManyviewWarning)
    names = options.data or SETS
    wanted = [] if options.quick else [d for d in found() if d.name in names]
    groups: list[dict[str, Any]] = []
    lines: list[dict[str, Any]] = []
    for distance in DISTANCES:
        groups.append(grouped(distance, options.seeds))
        print(shown(groups[-1]), flush=True)
    write_text(options.out, page(groups, lines, options.seeds))
    for data in wanted:
        lines.append(upwards(data, options.seeds))
        print(shown(lines[-1]), flush=True)
        write_text(options.out, page(groups, lines, options.seeds))


if __name__ == "__main__":
    main()
