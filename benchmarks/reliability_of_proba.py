"""Are rows that are said to be 80 % certain right in 80 % of the cases?

    MANYVIEW_DATA=... python benchmarks/reliability_of_proba.py
    python benchmarks/reliability_of_proba.py --quick --out page.md --figure page.png

One fit of S2MVTC with default settings on the shuffled rows of every data set.
Clusters are matched to the classes by as many common rows as possible; a row is right
where its cluster's class is its own. `certainty_`, the probability of a row's own
cluster, is held against the share of rows that are right, in ten bins of equal width.
The expected calibration error (ECE) is their mean distance, weighed by the rows.
Classes serve this score alone.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import roc_auc_score

import figures
from honest import SPECIAL
from knowledge import shown
from manyview import S2MVTC
from manyview.errors import ManyviewWarning
from manyview.experiments.data_set import DataSet, found, row_order
from manyview.files.atomic import write_text
from manyview.present.plot import COLOURS, new_figure, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BINS = 10
LEAST_ROWS = 20  # a share of fewer rows says little: such bins are not drawn
SETS = (
    "100Leaves", "3Sources", "BBCSport-2view", "BDGP", "CCV", "CITE-InHouse", "Cora",
    "Cifar-10-deep", "HW2sources", "Handwritten", "MSRC-v5", "multiview_mnist", "ORL",
    "Prokaryotic", "ProteinFold", "PUC-Rio-HAR", "Reuters-1200", "Scene-15",
    "SNAREseq", "Wikipedia",
)  # fmt: skip
PAGE = figures.ROOT / "benchmarks" / "results" / "reliability_of_proba.md"
FIGURE = figures.ROOT / "docs" / "measured" / "reliability-of-proba.png"
GENERATED = {"n_samples": 600, "n_features": [10, 8], "n_clusters": 4}


class Bins(NamedTuple):
    """Rows, mean certainty and share of right rows of every bin; NaN in empty ones."""

    counts: Any
    stated: Any
    found: Any

    @property
    def error(self) -> float:
        """The expected calibration error."""
        full = self.counts > 0
        gaps = np.abs(self.stated - self.found)[full]
        return float(gaps @ self.counts[full] / self.counts.sum())


def matched(classes: Any, labels: Any) -> Any:
    """The class that stands for every row's cluster."""
    counts = np.zeros((labels.max() + 1, classes.max() + 1))
    np.add.at(counts, (labels, classes), 1)
    clusters, own = linear_sum_assignment(-counts)
    class_of = np.full(len(counts), -1)
    class_of[clusters] = own
    return class_of[labels]


def binned(certainty: Any, right: Any) -> Bins:
    place = np.minimum((certainty * BINS).astype(int), BINS - 1)
    counts = np.bincount(place, minlength=BINS)
    with np.errstate(invalid="ignore"):
        sums = (np.bincount(place, x, minlength=BINS) for x in (certainty, right))
        return Bins(counts, *(s / counts for s in sums))


def measure(data: DataSet) -> tuple[dict[str, Any], Bins]:
    """One line of the table, and the bins behind it."""
    views = data.load()
    views = views[row_order("shuffled", views.labels, len(views), 0)]
    scored = data.is_scored(views.labels)
    classes = np.unique(views.labels, return_inverse=True)[1]
    k = len(np.unique(classes[scored]))
    model = S2MVTC(k, random_state=0).fit(views)
    right = matched(classes[scored], model.labels_[scored]) == classes[scored]
    certainty = model.certainty_[scored]
    bins = binned(certainty, right)
    some = 0 < right.sum() < len(right)
    line = {
        "data": data.name,
        "rows": len(views),
        "clusters": k,
        "ACC": float(right.mean()),
        "mean certainty": float(certainty.mean()),
        "ECE": bins.error,
        "ranks wrong rows lower (AUC)": roc_auc_score(right, certainty) if some else "",
    }
    return line, bins


def draw(lines: list[dict[str, Any]], bins: list[Bins]) -> Figure:
    """Bins of all sets, with their mean, and the means of every set."""
    title = "Stated certainty and rows that are right: S2MVTC, shuffled rows, seed 0"
    figure = new_figure(10, 5.4, title)
    left, right = figure.subplots(1, 2)
    left.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle=":")
    left.set(xlim=(0, 1.02), ylim=(0, 1.02))
    for one in bins:
        there = one.counts >= LEAST_ROWS
        left.plot(one.stated[there], one.found[there], color="0.75", linewidth=1)
    counts = np.stack([one.counts for one in bins])
    some = np.where(counts >= LEAST_ROWS, 1.0, np.nan)
    means = [np.stack(part) * some for part in list(zip(*bins, strict=True))[1:]]
    often = (counts >= LEAST_ROWS).sum(axis=0) >= min(3, len(bins))
    x, y = (np.nanmean(part[:, often], axis=0) for part in means)
    left.plot(x, y, color=COLOURS[0], marker="o", linewidth=2)
    left.set(xlabel="stated certainty", ylabel="share of rows that are right")
    left.set_title("bins of all sets (grey) and their mean")
    ordered = sorted(lines, key=lambda line: line["ACC"] - line["mean certainty"])
    for place, line in enumerate(ordered):
        ends = (line["mean certainty"], line["ACC"])
        right.plot(ends, (place, place), color="0.75", linewidth=2, zorder=1)
    for name, marker in (("mean certainty", "o"), ("ACC", "D")):
        colour = COLOURS[0] if name == "ACC" else COLOURS[1]
        values = [line[name] for line in ordered]
        right.plot(values, range(len(values)), marker, color=colour, label=name)
    right.set_yticks(range(len(ordered)))
    right.set_yticklabels([line["data"] for line in ordered], fontsize=8)
    right.set(xlim=(0, 1.02), title="means of every data set")
    right.legend(loc="lower left", fontsize=8)
    return figure


def page(lines: list[dict[str, Any]]) -> str:
    """The table, with the mean of all sets below."""
    names = ("ACC", "mean certainty", "ECE")
    mean = {n: float(np.mean([line[n] for line in lines])) for n in names}
    total = dict.fromkeys(lines[0], "") | {"data": f"mean of {len(lines)}", **mean}
    parts = [
        "# Are certain rows right?",
        "One fit each, seed 0, shuffled rows.",
        figures.describe(figures.machine()),
        "<!-- table -->",
        figures.table([shown(line) for line in [*lines, total]]),
    ]
    return "\n\n".join(parts).rstrip() + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", nargs="*", help="only these sets")
    parser.add_argument("--quick", action="store_true", help="generated data alone")
    parser.add_argument("--out", type=Path, default=PAGE, help="Markdown file to write")
    parser.add_argument("--figure", type=Path, default=FIGURE, help="figure to write")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ManyviewWarning)
    wanted = options.data or SETS
    sets = [SPECIAL.get(d.name, d) for d in found() if d.name in wanted]
    if options.quick:
        how = {"view_quality": 0.4, "random_state": 0, **GENERATED}
        sets = [DataSet.generated("small", **how)]
    lines, bins = [], []
    for data in sets:
        line, own = measure(data)
        print(shown(line), flush=True)
        lines.append(line)
        bins.append(own)
        write_text(options.out, page(lines))
    save(draw(lines, bins), options.figure.with_suffix(""), ("png",))


if __name__ == "__main__":
    main()
