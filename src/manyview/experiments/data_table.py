"""The data sets of an experiment: the paper's Table 2, with the order of the rows."""

from __future__ import annotations

from collections.abc import Iterable

from manyview.datasets import summary
from manyview.experiments.data_set import DataSet
from manyview.present.table import Table


def tables(data: Iterable[DataSet]) -> list[Table]:
    """One table with a row per data set."""
    table = Table(
        name="datasets",
        caption="The data sets as they are filed",
        columns=["data", "rows", "features of the views", "classes", "smallest class",
                 "largest class", "row order", "changes of class"],
        notes=["Changes of class: rows whose class is another than that of the row "
               "before; classes - 1 of them where a file is sorted."],
    )  # fmt: skip
    for d in data:
        facts = summary(d.load())
        features = ", ".join(f"{v['features']:,}" for v in facts["views"])
        low, high = facts["class_sizes"] or ("–", "–")
        shown = (facts["classes"], low, high, facts["order"], facts["label_changes"])
        known = ("–" if x is None else f"{x}" for x in shown)
        table.add(d.name, f"{facts['rows']:,}", features, *known)
    return [table]
