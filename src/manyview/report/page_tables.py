"""The tables of a report, by the names its template knows them by."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from manyview.explain import feature_effects, typical_and_doubtful
from manyview.metrics import ari, clustering_scores, has_class
from manyview.order_audit import OrderAudit
from manyview.present.table import Cell, Table, cluster_cell, number, percent
from manyview.report.subject import Subject

# Longer lists are no longer read: rows and features named in all, features of one
# cluster, splits of a tree, characters of a setting.
MOST_NAMED_ROWS = 240
MOST_EFFECTS = 300
NAMED_FEATURES = 5
NAMED_SPLITS = 60
MOST_CHARACTERS = 200

MEANINGS = {
    "ACC": "rows in the right cluster, once each cluster is matched to one class",
    "NMI": "information that clusters and classes share; 0 % when unrelated",
    "Purity": "rows that belong to the most frequent class of their cluster",
    "F-score": "balance of precision and recall below",
    "Precision": "pairs of rows in one cluster that are of one class",
    "Recall": "pairs of rows of one class that are in one cluster",
    "ARI": "agreement of all pairs beyond chance; 0 % when unrelated",
}


def all_tables(
    subject: Subject,
    data: Mapping[str, Any],
    timings: Mapping[str, float],
    alike: float,
) -> dict[str, Table | None]:
    """All tables of the page; None for what is not known."""
    audit = subject.audit
    return {
        "clusters": _clusters(subject),
        "influence": _influence(data),
        "scores": _scores(subject),
        "rows": _rows(subject),
        "features": _features(subject),
        "splits": None if subject.tree is None else subject.tree.table(NAMED_SPLITS),
        "order": _order(subject, alike) if audit is None else _audited(audit),
        "settings": _pairs("settings", ["setting", "value"], subject.settings),
        "timings": _timings(timings),
        "versions": _pairs("versions", ["what", "version"], subject.versions),
    }


def _clusters(subject: Subject) -> Table:
    certainty, known = subject.certainty, subject.known
    columns, align = ["cluster", "rows", "share of rows"], "lrr"
    if certainty is not None:
        columns, align = [*columns, "median certainty"], align + "r"
    if known is not None:
        columns, align = [*columns, "main class", "of that class"], align + "lr"
    table = Table("clusters", "Clusters", columns, align=align)
    for j in np.flatnonzero(subject.sizes):
        size = subject.sizes[j]
        row = [cluster_cell(int(j)), number(size), percent(size / subject.n_samples)]
        if certainty is not None:
            row.append(percent(float(np.median(certainty[subject.labels == j])), ".0f"))
        if known is not None:
            counts = subject.contingency[:, j]
            row.append(Cell(subject.classes[0][int(counts.argmax())]))
            row.append(percent(float(counts.max() / size), ".0f"))
        table.add(*row)
    return table


def _influence(data: Mapping[str, Any]) -> Table | None:
    found = data["influence"]
    if found is None or len(found["views"]) < 2:
        return None
    caption = "Influence of each view in each cluster"
    table = Table("influence", caption, ["cluster", *found["views"]])
    for j in np.flatnonzero(data["sizes"]):
        shares = found["clusters"][j]
        table.add(cluster_cell(int(j)), *(percent(s, ".0f") for s in shares))
    return table


def _scores(subject: Subject) -> Table | None:
    if subject.known is None or not (there := has_class(subject.known)).any():
        return None
    columns = ["score", "value", "what it is"]
    table = Table("scores", "Seven scores, 100 % is best", columns, align="lrl")
    scores = clustering_scores(subject.known[there], subject.labels[there])
    for name, score in scores.items():
        table.add(name, percent(score), MEANINGS[name])
    return table


def _rows(subject: Subject) -> Table | None:
    certainty, second, known = subject.certainty, subject.second, subject.known
    if certainty is None:
        return None
    columns = ["cluster", "kind", "row", "certainty", "next cluster"]
    columns += ["class"] if known is not None else []
    align = "lllrrl"[: len(columns)]
    table = Table("rows", "Rows to look at", columns, align=align)
    each = int(np.clip(MOST_NAMED_ROWS // (2 * (subject.sizes > 0).sum()), 1, 5))
    found = typical_and_doubtful(subject.labels, certainty, subject.n_clusters, each)
    for kind, by_cluster in zip(("typical", "doubtful"), found, strict=True):
        rows = np.concatenate(by_cluster)
        for row in rows:
            other = "–" if second is None else number(int(second[row]), "d")
            table.add(
                cluster_cell(int(subject.labels[row])),
                kind,
                subject.row_name(int(row)),
                percent(float(certainty[row])),
                other,
                *([] if known is None else [str(known[row])]),
            )
    return table


def _features(subject: Subject) -> Table | None:
    if subject.views is None:
        return None
    columns = ["cluster", "view", "feature", "difference", "mean inside", "outside"]
    table = Table("features", "Telling features", columns, align="lllrrr")
    each = int(np.clip(MOST_EFFECTS // subject.n_clusters, 1, NAMED_FEATURES))
    for e in feature_effects(subject.views, subject.labels, subject.n_clusters, each):
        means = number(e.inside, ".4g"), number(e.outside, ".4g")
        size = number(e.size, "+.2f", " sd")
        table.add(cluster_cell(e.cluster), e.view, e.feature, size, *means)
    return table


def _audited(audit: OrderAudit) -> Table:
    names = list(next(iter(audit.scores.values())))
    columns = ["run", names[0], *(f"{n} with known classes" for n in names[1:])]
    table = Table("order", "Order audit", columns)
    for run, scores in audit.scores.items():
        table.add(run, *(number(scores[n], "z.3f") for n in names))
    return table


def _order(subject: Subject, alike: float) -> Table:
    """What the labels alone tell about the order."""
    n, groupings = subject.n_samples, {"clusters": subject.labels}
    pieces = np.arange(n) * subject.n_clusters // n
    table = Table("order", "At a glance", ["what", "value"])
    beyond = percent(max(alike, 0.0))
    table.add("neighbouring rows in one cluster, beyond chance", beyond)
    for what, groups in (groupings | {"known classes": subject.known}).items():
        if groups is not None and (there := has_class(groups)).any():
            agreement = percent(ari(groups[there], pieces[there]))
            table.add(f"agreement of {what} and row number alone (ARI)", agreement)
    return table


def _pairs(name: str, columns: list[str], items: Mapping[str, Any]) -> Table:
    table = Table(name, name.capitalize(), columns, align="ll")
    for key, value in items.items():
        text = "none" if value is None else str(value)
        cut = len(text) > MOST_CHARACTERS
        table.add(key, f"{text[: MOST_CHARACTERS - 1]}…" if cut else text)
    return table


def _timings(timings: Mapping[str, float]) -> Table:
    table = Table("timings", "Timings", ["step", "seconds"])
    for step, seconds in timings.items():
        table.add(step, number(float(seconds), ",.2f", " s"))
    return table
