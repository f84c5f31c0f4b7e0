"""The figures of the row-order page.

    python docs/row_order_tables.py                      # digits, nothing to download
    MANYVIEW_DATA=... python docs/row_order_tables.py    # CCV as well

writes docs/measured/row-order-digits.md, and row-order-ccv.md where CCV is found.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from manyview import S2MVTC, Views, audit_order
from manyview.baselines import ConcatKMeans
from manyview.datasets import load, load_digits_views, summary
from manyview.experiments.audit import GIVEN, INDEX, NOISE, SHUFFLED
from manyview.experiments.estimators import PUBLISHED
from manyview.experiments.paper_tables import results
from manyview.experiments.table import Table
from manyview.metrics import clustering_scores

FOLDER = Path(__file__).parent / "measured"
SHOWN = ("ACC", "NMI", "ARI")
SEED = 0
IN_WORDS = {
    GIVEN: "{method}, rows as in the file",
    SHUFFLED: "{method}, rows shuffled",
    NOISE: "{method}, **random noise instead of features**, rows as in the file",
    INDEX: "**no features and no method**: the row index cut into equal pieces",
}


def digits_by_class() -> Views:
    """Bundled digits, sorted by class as benchmark files are."""
    views = load_digits_views()
    return views[np.argsort(views.labels, kind="stable")]


def order_table(name: str, views: Views, published: S2MVTC) -> Table:
    """The controls of a published setting, and what does not read the order."""
    facts = summary(views)
    table = Table(
        name=f"row-order-{name.lower()}",
        caption=f"{name}: {facts['rows']:,} rows, {facts['classes']} classes, "
        f"{facts['label_changes']:,} changes of class from row to row, seed {SEED}",
        columns=["run", *SHOWN],
    )
    paper = results().get((name, PUBLISHED))
    if paper:
        table.add("the paper's row", *(f"{paper.scores[s]:.3f}" for s in SHOWN))
    audit = audit_order(views, facts["classes"], estimator=published, random_state=SEED)
    for run, words in IN_WORDS.items():
        add(table, words.format(method="S²MVTC as published"), views, audit.labels[run])
    mixed = views[np.random.default_rng(SEED).permutation(len(views))]
    for title, model in plain_models(facts["classes"]):
        add(table, f"{title}, rows shuffled", mixed, model.fit(mixed).labels_)
    return table


def plain_models(n_clusters: int) -> list[tuple[str, Any]]:
    """Methods that cannot see the order."""
    return [
        ("k-means on all features", ConcatKMeans(n_clusters, random_state=SEED)),
        ("`S2MVTC()`, the default", S2MVTC(n_clusters, random_state=SEED)),
    ]


def add(table: Table, title: str, views: Views, labels: Any) -> None:
    """One run and its scores."""
    scores = clustering_scores(views.labels, labels)
    table.add(title, *(f"{scores[s]:.3f}" for s in SHOWN))


def write(table: Table) -> None:
    """As Markdown, which the page includes."""
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / f"{table.name}.md").write_text(table.to_markdown(), "utf-8")


def main() -> None:
    """Everything for which there is data; digits with the setting for ten classes."""
    write(order_table("digits", digits_by_class(), S2MVTC.as_published("Cifar-10")))
    if os.environ.get("MANYVIEW_DATA"):
        write(order_table("CCV", load("CCV"), S2MVTC.as_published("CCV")))


if __name__ == "__main__":
    main()
