"""The section on the order of the rows."""

from __future__ import annotations

from html import escape

import numpy as np

from manyview.metrics import ari
from manyview.order_audit import OrderAudit, alike_beyond_chance
from manyview.present.html_table import Cell, number, percent, write_table
from manyview.report.subject import Subject

MANY_ALIKE = 0.25


def order_section(subject: Subject) -> str:
    """What the audit found, or what the labels alone tell about the order."""
    body = _glance(subject) if subject.audit is None else _audited(subject.audit)
    return (
        '<section aria-labelledby="order"><h2 id="order">Order of the rows</h2>\n'
        f"{body}</section>\n"
    )


def _audited(audit: OrderAudit) -> str:
    mark = {True: "good", False: "bad", None: "open"}[audit.trustworthy]
    names = list(next(iter(audit.scores.values())))
    rows: list[list[Cell | str]] = [
        [run, *(number(scores[n], "z.3f") for n in names)]
        for run, scores in audit.scores.items()
    ]
    columns = ["run", names[0], *(f"{n} with known classes" for n in names[1:])]
    return (
        f'<p class="verdict {mark}">{escape(audit.sentence)}</p>\n'
        '<p class="note">The same method on the rows as given and shuffled, on noise '
        "in place of the data, and on the row number alone: what reaches a high score "
        "without features owes it to the order. Scores have no unit; 1 is best, 0 is "
        "chance.</p>\n" + write_table("Order audit", columns, rows, name="table-order")
    )


def _glance(subject: Subject) -> str:
    n, k = subject.n_samples, subject.n_clusters
    alike = alike_beyond_chance(subject.labels) if n > 1 else 0.0
    pieces = np.arange(n) * k // n
    rows: list[list[Cell | str]] = [
        ["neighbouring rows in one cluster, beyond chance", percent(max(alike, 0.0))],
        ["agreement of clusters and row number alone (ARI)", percent(
            ari(subject.labels, pieces))],
    ]  # fmt: skip
    if subject.known is not None:
        rows.append(
            ["agreement of known classes and row number alone (ARI)", percent(
                ari(subject.known, pieces))]
        )  # fmt: skip
    return (
        f'<p class="note">{escape(_words(subject, alike))}</p>\n'
        + write_table("At a glance", ["what", "value"], rows, name="table-order")
        + '<p class="note">No audit was given. One that shuffles the rows and puts '
        "noise in their place: <code>manyview report RUN --audit</code>, or "
        "<code>model.report(path, views, audit=audit_order(views, "
        "n_clusters))</code>.</p>\n"
    )


def _words(subject: Subject, alike: float) -> str:
    if subject.order_evidence is not None:
        return subject.order_evidence
    reads = {
        True: f"{subject.method} reads the order of the rows, with these settings.",
        False: f"{subject.method} does not read the order of the rows, with these "
        "settings.",
        None: f"Whether {subject.method} reads the order of the rows is not known.",
    }[subject.reads_order]
    if alike <= MANY_ALIKE:
        return f"{reads} Nor do the clusters follow the order of the data."
    if subject.reads_order is False:
        return f"{reads} The data itself is sorted: neighbours share clusters."
    return (
        f"{reads} Neighbours in the data share clusters: the data is sorted, or the "
        "order has made the clusters. An audit tells which."
    )
