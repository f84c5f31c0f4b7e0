"""Sparse text beside an embedding: time and memory beside an SVD and k-means.

    python benchmarks/text.py --out text.json --docs   # 20,000 and 100,000 documents
    python benchmarks/text.py --quick

The other is scikit-learn's `TruncatedSVD` of the sparse view to a hundred columns and
`MiniBatchKMeans` on these beside the embedding. Both read the documents of
`benchmarks/parts.py` from a file, each in a child process of its own, and take turns;
the shortest fit counts, of the processor's seconds too. Peak memory is that of the
process, Python, libraries and data included, also as a multiple of the data.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import TruncatedSVD

import child
import figures
from manyview import S2MVTC
from parts import CLUSTERS, documents

ROWS = (20_000, 100_000)
REPEATS = 3
COLUMNS = 100
WORDS = ("data", "indices", "indptr")


def write(n_rows: int, folder: str) -> str:
    """The documents in a file: to make them takes more memory than they do."""
    views = documents(n_rows)
    words = {name: getattr(views["words"], name) for name in WORDS}
    path = Path(folder) / f"{n_rows}.npz"
    np.savez(path, shape=views["words"].shape, embedding=views["embedding"], **words)
    return str(path)


def read(path: str) -> dict[str, Any]:
    """Both views in memory."""
    with np.load(path) as stored:
        words = sp.csr_array(tuple(stored[n] for n in WORDS), tuple(stored["shape"]))
        return {"words": words, "embedding": stored["embedding"]}


def size_of(views: dict[str, Any]) -> int:
    """Bytes of the data as they are stored."""
    words = sum(getattr(views["words"], name).nbytes for name in WORDS)
    return int(words + views["embedding"].nbytes)


def svd_and_kmeans(views: dict[str, Any]) -> Any:
    """Clusters of leading directions beside the embedding, without any scaling."""
    reduced = TruncatedSVD(COLUMNS, random_state=0).fit_transform(views["words"])
    joined = np.hstack([reduced, views["embedding"]])
    return MiniBatchKMeans(CLUSTERS, random_state=0).fit(joined)


METHODS = {
    "S2MVTC": S2MVTC(CLUSTERS, random_state=0).fit,
    "SVD and k-means": svd_and_kmeans,
}


def work(job: dict[str, Any]) -> None:
    """One fit, in this process."""
    views = read(job["path"])
    start = time.process_time()
    seconds, _ = child.timed(lambda: METHODS[job["method"]](views))
    spent = time.process_time() - start
    child.answer(job, seconds=seconds, processor=spent, data_gb=size_of(views) / 1e9)


def measure(n_rows: int, repeats: int) -> list[dict[str, Any]]:
    """A line for each method: the shortest of fits that take turns."""
    found: dict[str, list[dict[str, Any]]] = {method: [] for method in METHODS}
    with tempfile.TemporaryDirectory() as folder:
        path = write(n_rows, folder)
        for _ in range(repeats):
            for method, fits in found.items():
                fits.append(child.run(__file__, {"path": path, "method": method}))
    least = {
        method: {name: min(fit[name] for fit in fits) for name in fits[0]}
        for method, fits in found.items()
    }
    other = least["SVD and k-means"]
    rows = []
    for method, own in least.items():
        row = {
            "documents": n_rows,
            "method": method,
            "seconds": own["seconds"],
            "times the other": own["seconds"] / other["seconds"],
            "seconds of the processor": own["processor"],
            "peak memory, GB": own["peak_gb"],
            "times the data": own["peak_gb"] / own["data_gb"],
        }
        rows.append(row)
        print(row, flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out")
    parser.add_argument("--job", help="one fit in this process (used by the script)")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--docs", action="store_true")
    options = parser.parse_args()
    if options.job:
        work(json.loads(options.job))
        return
    sizes, repeats = ((300,), 1) if options.quick else (ROWS, REPEATS)
    table = [row for n_rows in sizes for row in measure(n_rows, repeats)]
    found = {"machine": figures.machine(), "results": table}
    figures.save(options.out, found)
    if options.docs:
        text = [figures.describe(found["machine"]), figures.table(table)]
        figures.fill("text", "\n\n".join(text))


if __name__ == "__main__":
    main()
