"""The order rule on real data: the same labels for shuffled rows and permuted views.

    MANYVIEW_DATA=... python benchmarks/order_rule.py              # all that is found
    MANYVIEW_DATA=... python benchmarks/order_rule.py --data CCV ORL
    MANYVIEW_DATA=... python benchmarks/order_rule.py --data CCV --dask --out ccv.md
    python benchmarks/order_rule.py --quick --out order_rule.md    # generated rows

Every known set of at most 20,000 rows whose order means nothing. Equal means
bit-identical labels, the shuffle undone. With a memory limit dense views lie shuffled
in .npy files: as users have it, where few rows are read once, and with all of them read
again in every pass, as many are. With --dask two workers fit chunks of Dask arrays
(sparse views as they are), in file order and shuffled, and both are compared with the
fit in memory.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

import figures
from dask_engine import cluster
from manyview import S2MVTC
from manyview.datasets import find_anchors, known
from manyview.engine.contract import lowered
from manyview.experiments.data_set import DataSet, found
from manyview.files.atomic import write_text

MOST_ROWS = 20_000
TRUE_ORDERS = ("time", "scan")  # of the registry: here the order is part of the data
GIVEN_ANCHORS = 300  # rows as filed, where the authors of a set have left no anchors
LIMIT = "1GB"
PAGE = figures.ROOT / "benchmarks" / "results" / "order_rule.md"


def unordered(names: list[str] | None) -> list[DataSet]:
    """The sets under MANYVIEW_DATA that the rule is tried on, all or those named."""
    small = (k for k in known() if k.rows <= MOST_ROWS)
    wanted = {k.name for k in small if k.order not in TRUE_ORDERS}
    return [d for d in found() if d.name in wanted and (not names or d.name in names)]


def given_anchors(data: DataSet, arrays: list[Any]) -> list[Any]:
    """The authors' anchors, or rows of the file."""
    beside = find_anchors(data.source) if data.kind == "stored" else None
    if beside is not None:
        return beside[0]
    some = np.unique(np.linspace(0, arrays[0].shape[0] - 1, GIVEN_ANCHORS, dtype=int))
    rows = [x[some] for x in arrays]
    return [x.toarray() if sp.issparse(x) else np.asarray(x) for x in rows]


def fit(arrays: list[Any], anchors: Any, **setting: Any) -> Any:
    """Labels of a fit with the one seed."""
    return S2MVTC(anchors=anchors, random_state=0, **setting).fit(arrays).labels_


def on_disk(arrays: list[Any], folder: str) -> list[Any]:
    """The dense views as mapped .npy files."""
    out = list(arrays)
    for v, x in enumerate(arrays):
        if not sp.issparse(x):
            np.save(f"{folder}/view{v}.npy", np.asarray(x))
            out[v] = np.load(f"{folder}/view{v}.npy", mmap_mode="r")
    return out


def chunked(arrays: list[Any]) -> list[Any]:
    """Dense views as Dask arrays of four chunks; sparse ones have no such thing."""
    import dask.array as da

    if any(sp.issparse(x) for x in arrays):
        return arrays
    rows = -(-arrays[0].shape[0] // 4)
    return [da.from_array(np.asarray(x), chunks=(rows, -1)) for x in arrays]


def on_dask(
    client: Any, arrays: list[Any], shuffle: Any, base: Any, anchors: Any, how: Any
) -> dict[str, str]:
    """Agreement of fits on the workers with the fit in memory."""
    mixed = [x[shuffle] for x in arrays]
    cases = {"": (arrays, base), ", rows shuffled": (mixed, base[shuffle])}
    found = {}
    for case, (given, wanted) in cases.items():
        labels = np.asarray(fit(chunked(given), anchors, engine=client, **how))
        found[f"on Dask{case}"] = equal(wanted, labels)
    return found


def compare(data: DataSet, client: Any) -> Iterator[dict[str, Any]]:
    """One line per type and kind of anchors."""
    views = data.load()
    n_clusters = len(np.unique(views.labels))
    shuffle = np.random.default_rng(0).permutation(len(views))
    given = given_anchors(data, list(views.arrays))
    ways = {"drawn": ("kmeans", "kmeans"), "given": (given, given[::-1])}
    for dtype, (kind, (own, turned)) in product(("float32", "float64"), ways.items()):
        how = {"n_clusters": n_clusters, "dtype": dtype}
        arrays = [x.astype(dtype) for x in views.arrays]
        base = fit(arrays, own, **how)
        mixed = fit([x[shuffle] for x in arrays], own, **how)
        moved = fit(arrays[::-1], turned, **how)
        with tempfile.TemporaryDirectory() as folder:
            files = on_disk([x[shuffle] for x in arrays], folder)
            limited = fit(files, own, memory_limit=LIMIT, **how)
            with lowered(read_share=0.0):
                anew = fit(files, own, memory_limit=LIMIT, **how)
        yield {
            "data": data.name,
            "rows": len(views),
            "type": dtype,
            "anchors": kind,
            "rows shuffled": equal(base[shuffle], mixed),
            "views reversed": equal(base, moved),
            f"files shuffled, {LIMIT}": equal(base[shuffle], limited),
            "read in every pass": equal(base[shuffle], anew),
            **(on_dask(client, arrays, shuffle, base, own, how) if client else {}),
        }


def equal(one: Any, other: Any) -> str:
    """In a word, or how near two partitions are."""
    if np.array_equal(one, other):
        return "equal"
    return f"ARI {adjusted_rand_score(one, other):.4f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="*", help="only these data sets")
    parser.add_argument("--quick", action="store_true", help="small generated data")
    parser.add_argument("--out", type=Path, default=PAGE, help="Markdown file to write")
    parser.add_argument("--dask", action="store_true", help="on two Dask workers too")
    options = parser.parse_args()
    with cluster("auto") if options.dask else nullcontext() as client:
        measure(options, client)


def measure(options: argparse.Namespace, client: Any) -> None:
    """All sets asked for, one after the other."""
    sizes = {"n_samples": 200, "n_features": [5, 8], "n_clusters": 3}
    small, rows = DataSet.generated("small", random_state=0, **sizes), []
    for data in [small] if options.quick else unordered(options.data):
        for row in compare(data, client):
            print(row, flush=True)
            rows.append(row)
        text = [figures.describe(figures.machine()), figures.table(rows)]
        write_text(options.out, "# The order rule\n\n" + "\n\n".join(text) + "\n")


if __name__ == "__main__":
    main()
