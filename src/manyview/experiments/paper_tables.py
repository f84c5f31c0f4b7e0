"""The paper's own figures, for a column beside ours.

Z. Long, Q. Wang, Y. Ren, Y. Liu, C. Zhu: S²MVTC: a Simple yet Efficient Scalable
Multi-View Tensor Clustering. CVPR 2024, Tables 3 (results) and 4 (ablation). Its
rows are sorted by class.
"""

import csv
from functools import cache
from importlib.resources import files
from typing import NamedTuple

SOURCE = "Long et al., CVPR 2024"


class PaperRow(NamedTuple):
    """One row of the paper's Table 3.

    Suspicious are scores that cannot be right: a copied row, F outside precision
    and recall, a purity below the accuracy.
    """

    scores: dict[str, float]
    cpu_s: float
    suspicious: list[str]


@cache
def results() -> dict[tuple[str, str], PaperRow]:
    """The paper's rows by data set and method (class names of this package)."""
    rows = {}
    for line in _read("paper_results.csv"):
        data, method = line.pop("data"), line.pop("method")
        cpu, marked = float(line.pop("cpu_s")), line.pop("suspicious").split()
        scores = {name: float(value) for name, value in line.items()}
        rows[data, method] = PaperRow(scores, cpu, marked)
    return rows


@cache
def ablation() -> dict[str, dict[str, float]]:
    """ACC of the paper's Table 4 by data set and variant."""
    table = {}
    for line in _read("paper_ablation.csv"):
        data = line.pop("data")
        table[data] = {name: float(value) / 100 for name, value in line.items()}
    return table


def _read(name: str) -> list[dict[str, str]]:
    text = (files(__package__) / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))
