"""Cells seen through several assays, beside the pipelines that are usual for them.

    MANYVIEW_DATA=... python benchmarks/cells.py             # CITE-InHouse, SNAREseq
    python benchmarks/cells.py --quick --out cells.md        # generated counts

`sc.cluster` takes the cells as they are and is told the number of kinds; so are k-means
and Leiden of the usual preparation (library size, logarithm, components; centred log
ratio for proteins) and weighted nearest neighbours. ACC, NMI and ARI over seeds; cells
whose kind is not known are clustered and not scored. Kinds serve for scoring and for
their number alone.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import Any

import anndata
import mudata
import numpy as np
import scipy.sparse as sp

import figures
from manyview import Views, sc
from manyview.baselines import WNN, SingleCellKMeans, SingleCellLeiden
from manyview.errors import ManyviewWarning
from manyview.experiments.data_set import DataSet, found
from manyview.files.atomic import write_text
from manyview.metrics import accuracy, ari, nmi

SETS = ("CITE-InHouse", "SNAREseq")
UNKNOWN = {"CITE-InHouse": 6}
SEEDS = 5
METHODS = {
    "sc.cluster": sc.cluster,
    **{m.__name__: m for m in (SingleCellKMeans, SingleCellLeiden, WNN)},
}
SCORES = {"ACC": accuracy, "NMI": nmi, "ARI": ari}
N_CELLS, N_GENES, N_PROTEINS, N_KINDS = 400, 600, 20, 5
PAGE = figures.ROOT / "benchmarks" / "results" / "cells.md"


def by_sc(views: Views, k: int, seed: int) -> Any:
    """The clusters that `sc.cluster` writes into a MuData object of these views."""
    parts = {}
    for name, x in zip(views.names, views.arrays, strict=True):
        counts = sp.csr_matrix(x) if sp.issparse(x) else np.asarray(x)
        parts[name] = anndata.AnnData(counts)
        parts[name].var_names = [f"{name} {j}" for j in range(x.shape[1])]
    cells = mudata.MuData(parts)
    sc.cluster(cells, k, key_added="mv", random_state=seed)
    return np.asarray(cells.obs["mv"].cat.codes)


def labels_by(method: Any, views: Views, k: int, seed: int) -> Any:
    if method is sc.cluster:
        return by_sc(views, k, seed)
    return method(k, random_state=seed).fit_predict(views)


def measure(name: str, views: Views, seeds: int) -> list[dict[str, Any]]:
    """One line for every method."""
    kinds = np.asarray(views.labels)
    scored = kinds != UNKNOWN.get(name, -1)
    k, lines = len(np.unique(kinds[scored])), []
    for called, method in METHODS.items():
        parts: dict[str, list[float]] = {score: [] for score in SCORES}
        for seed in range(seeds):
            labels = labels_by(method, views, k, seed)
            for score, measured in SCORES.items():
                parts[score].append(measured(kinds[scored], labels[scored]))
        told = {s: f"{np.mean(x):.3f} ± {np.std(x):.3f}" for s, x in parts.items()}
        lines.append({"cells": name, "kinds": k, "method": called, **told})
        print(lines[-1], flush=True)
    return lines


def generated() -> Views:
    """Counts of genes and proteins of five kinds of cells, labelled."""
    rng = np.random.default_rng(0)
    kinds = rng.integers(N_KINDS, size=N_CELLS)

    def own(width: int) -> Any:
        return kinds[:, None] == np.arange(width) % (2 * N_KINDS)

    depth = rng.lognormal(0.0, 0.4, size=(N_CELLS, 1))
    genes = rng.poisson(depth * (0.3 + 0.5 * own(N_GENES)))
    proteins = rng.poisson(10 + 15 * own(N_PROTEINS))
    arrays = [np.asarray(x, dtype=np.float32) for x in (genes, proteins)]
    return Views(arrays, names=["rna", "prot"], labels=kinds)


def page(lines: list[dict[str, Any]], seeds: int) -> str:
    parts = [
        "# Single cells",
        f"Means and deviations of {seeds} seeds.",
        figures.describe(figures.machine()),
        "<!-- table -->",
        figures.table(lines),
    ]
    return "\n\n".join(parts).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="*", help="of the two sets only these")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--quick", action="store_true", help="generated counts alone")
    parser.add_argument("--out", type=Path, default=PAGE, help="Markdown file to write")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ManyviewWarning)
    warnings.filterwarnings("ignore", category=FutureWarning, module="mudata")
    sets: list[DataSet] = [d for d in found() if d.name in (options.data or SETS)]
    named = [(d.name, d.load) for d in sets]
    if options.quick:
        named = [("generated", generated)]
    lines: list[dict[str, Any]] = []
    for name, load in named:
        lines += measure(name, load(), options.seeds)
        write_text(options.out, page(lines, options.seeds))


if __name__ == "__main__":
    main()
