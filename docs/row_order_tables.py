"""The figures of the row-order page.

    python docs/row_order_tables.py                      # digits, nothing to download
    MANYVIEW_DATA=... python docs/row_order_tables.py    # CCV and the audits as well

writes docs/measured/row-order-digits.md and, where the data are found, row-order-ccv.md
and row-order-audits.md.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from manyview import S2MVTC, SequenceS2MVTC, Views, audit_order
from manyview.baselines import ConcatKMeans
from manyview.datasets import load, load_digits_views, summary
from manyview.experiments.estimators import PUBLISHED
from manyview.experiments.paper_tables import results
from manyview.metrics import clustering_scores
from manyview.order_audit import GIVEN, INDEX, NOISE, SHUFFLED
from manyview.present.table import Table

FOLDER = Path(__file__).parent / "measured"
SHOWN = ("ACC", "NMI", "ARI")
SEED = 0
MIN_DURATION = 20  # rows; classes of real sequences last 10 to 25 on average
SORTED = ("CCV", "Handwritten", "ProteinFold")
TRUE_ORDER = ("GesturePhase", "HAPT_windows", "IndianPines")
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


def audits_table() -> Table:
    """The audit's verdict on sorted files and on real sequences, with labels."""
    runs = (GIVEN, SHUFFLED, NOISE, INDEX)
    table = Table(
        name="row-order-audits",
        caption="NMI of an order-dependent S2MVTC and of the audit's controls, seed "
        f"{SEED}",
        columns=["data", "method", *runs, "depends on the order", "trustworthy"],
    )
    published, default = S2MVTC.as_published("CCV"), S2MVTC()
    jobs: list[tuple[str, str, Any]] = [
        ("CCV", "as published", published),
        ("CCV", "default", default),
    ]
    along = SequenceS2MVTC(min_duration=MIN_DURATION)
    title = f"sequence, min_duration={MIN_DURATION}"
    jobs += [(name, title, along) for name in (*SORTED, *TRUE_ORDER)]
    for name, how, model in jobs:
        views = load(name)
        n_clusters = summary(views)["classes"]
        audit = audit_order(views, n_clusters, estimator=model, random_state=SEED)
        shown = (f"{audit.scores[run]['NMI']:.3f}" for run in runs)
        verdict = "yes" if audit.trustworthy else "no"
        table.add(name, how, *shown, audit.dependence, verdict)
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
        write(audits_table())


if __name__ == "__main__":
    main()
