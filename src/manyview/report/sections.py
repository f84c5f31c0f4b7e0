"""The sections of a report, as HTML; everything from data is escaped."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from manyview.explain import feature_effects, typical_and_doubtful
from manyview.metrics import clustering_scores
from manyview.present.html_table import Cell, cluster_cell, number, percent, write_table
from manyview.report.order_section import order_section
from manyview.report.page_data import Maps
from manyview.report.subject import Matrix, Subject, second_choice

MOST_NAMED_ROWS = 240
NAMED_FEATURES = 5
MOST_EFFECTS = 300
MOST_OPTIONS = 200

MEANINGS = {
    "ACC": "rows in the right cluster, once each cluster is matched to one class",
    "NMI": "information that clusters and classes share; 0 % when unrelated",
    "Purity": "rows that belong to the most frequent class of their cluster",
    "F-score": "balance of precision and recall below",
    "Precision": "pairs of rows in one cluster that are of one class",
    "Recall": "pairs of rows of one class that are in one cluster",
    "ARI": "agreement of all pairs beyond chance; 0 % when unrelated",
}


def body(
    subject: Subject, maps: Maps, data: Mapping[str, Any], made: Mapping[str, float]
) -> str:
    """Everything below the heading."""
    parts = [
        _lead(subject),
        _filter(subject),
        _map(subject, maps, data),
        _views(maps, data),
        _clusters(subject),
        _influence(data),
        _agreement(subject, data),
        _rows(subject),
        _features(subject),
        _objective(subject),
        order_section(subject),
        _origin(subject, made),
    ]
    return "\n".join(p for p in parts if p)


def section(name: str, title: str, caption: str, content: str) -> str:
    """A section with its heading and, in plain words, what it shows."""
    return (
        f'<section aria-labelledby="{name}"><h2 id="{name}">{escape(title)}</h2>\n'
        f'<p class="note">{escape(caption)}</p>\n{content}</section>\n'
    )


def chart(name: str, label: str, kind: str = "") -> str:
    """A place for one of page.js's charts."""
    return (
        f'<div class="chart {kind}" id="{name}" role="img" '
        f'aria-label="{escape(label)}"></div>\n'
    )


def _lead(subject: Subject) -> str:
    n_views = None if subject.views is None else subject.views.n_views
    if n_views is None and subject.influence is not None:
        n_views = len(subject.influence.overall)
    full = subject.sizes[subject.sizes > 0]
    tiles = [("rows", f"{subject.n_samples:,}")]
    if n_views is not None:
        tiles.append(("view" if n_views == 1 else "views", str(n_views)))
    tiles += [
        ("clusters", str(full.size)),
        ("rows per cluster", f"{full.min():,} – {full.max():,}"),
    ]
    if subject.certainty is not None:
        tiles.append(
            ("median certainty", f"{100 * np.median(subject.certainty):.0f} %")
        )
    if "fitting" in subject.timings:
        tiles.append(("to fit", f"{subject.timings['fitting']:.1f} s"))
    cells = "".join(
        f'<div class="tile"><dd>{escape(value)}</dd><dt>{escape(name)}</dt></div>'
        for name, value in tiles
    )
    return (
        f'<p class="lead">Found by {escape(subject.method)}. Choose a cluster anywhere '
        "on this page to see it alone; Escape shows all again.</p>\n"
        f'<dl class="tiles">{cells}</dl>\n'
    )


def _filter(subject: Subject) -> str:
    chips = "".join(
        f'<button type="button" class="chip" data-pick="{j}" aria-pressed="false" '
        f'aria-label="Cluster {j}, {size:,} rows">'
        f'<span class="dot" data-dot="{j}"></span>{j}</button>'
        for j, size in enumerate(subject.sizes)
        if size
    )
    return (
        '<nav class="filter no-print" aria-label="Clusters"><div class="chips">'
        '<button type="button" class="chip all" data-pick="all" aria-pressed="true">'
        f"All</button>{chips}</div>"
        '<p id="filter-state" role="status"></p></nav>\n'
    )


def _map(subject: Subject, maps: Maps, data: Mapping[str, Any]) -> str:
    if maps.main is None:
        return section(
            "map", "Map", "There is no map: the run has no embedding and its data was "
            "not found.", "",
        )  # fmt: skip
    shown, n = len(maps.main.rows), subject.n_samples
    what = "the consensus embedding" if maps.of_embedding else "all views side by side"
    caption = (
        f"Every point is a row; rows that are alike in {what} lie together "
        f"(laid out by {maps.main.how}). Axes have no unit. "
    )
    if shown < n:
        caption += (
            f"{shown:,} of {n:,} rows are drawn, chosen at random; all tables and "
            "scores count every row. "
        )
    content = (
        _colour_menu(subject, data)
        + chart("chart-map", "Map of the rows", "tall")
        + '<p class="hint no-print">Drag to pan; click the map, then scroll or press '
        "+ and − to zoom, arrow keys to pan, 0 to start over. A click on a point "
        "chooses its cluster.</p>\n"
        '<ul class="legend" id="legend" aria-label="Colours"></ul>\n'
    )
    return section("map", "Map", caption, content)


def _colour_menu(subject: Subject, data: Mapping[str, Any]) -> str:
    options = ['<option value="cluster">cluster</option>']
    if subject.known is not None:
        options.append('<option value="label">known class</option>')
    if subject.certainty is not None:
        options.append('<option value="certainty">certainty</option>')
    groups: dict[str, list[str]] = {}
    features = data["map"]["features"]
    for i, f in enumerate(features):
        option = f'<option value="{i}">{escape(f["name"])}</option>'
        groups.setdefault(f["view"], []).append(option)
    options += [
        f'<optgroup label="{escape(view)}">{"".join(own)}</optgroup>'
        for view, own in groups.items()
    ]
    total = 0 if subject.views is None else sum(subject.views.n_features)
    note = (
        f" {len(features)} of {total:,} features can be chosen: those that set the "
        "clusters apart most."
        if len(features) < total
        else ""
    )
    return (
        '<p class="controls no-print"><label for="colour">Colour by</label> '
        f'<select id="colour">{"".join(options)}</select>'
        f'<span class="note">{note}</span></p>\n'
    )


def _views(maps: Maps, data: Mapping[str, Any]) -> str:
    if len(data["views"]) < 2 or not maps.views:
        return ""
    most = max(len(flat.rows) for flat in maps.views)
    caption = (
        "The same rows, colours and choice, laid out from one view at a time: a view "
        f"that keeps a cluster together supports it. {most:,} rows per view."
    )
    content = chart("chart-views", "Maps of the single views", "views")
    return section("views", "View by view", caption, content)


def _clusters(subject: Subject) -> str:
    main, purest = _main_classes(subject)
    columns = ["cluster", "rows", "share of rows"]
    columns += ["median certainty"] if subject.certainty is not None else []
    columns += ["main class", "of that class"] if main is not None else []
    rows = []
    for j, size in enumerate(subject.sizes):
        if not size:
            continue
        row: list[Cell | str] = [cluster_cell(j), number(size)]
        row.append(percent(size / subject.n_samples))
        if subject.certainty is not None:
            own = subject.certainty[subject.labels == j]
            row.append(percent(float(np.median(own)), ".0f"))
        if main is not None:
            row += [main[j], percent(purest[j], ".0f")]
        rows.append(row)
    caption = "How many rows each cluster has. "
    if subject.certainty is not None:
        caption += (
            "Certainty says how much nearer a row is to its own cluster than to the "
            "next one: 0 % on the border, 100 % at the centre."
        )
    content = chart("chart-sizes", "Rows per cluster")
    content += write_table("Clusters", columns, rows, name="table-clusters")
    return section("clusters", "Clusters", caption, content)


def _main_classes(subject: Subject) -> tuple[list[str] | None, list[float]]:
    """The most frequent class of every cluster and its share there."""
    if subject.known is None:
        return None, []
    names, codes = subject.classes
    main, share = [], []
    for j, size in enumerate(subject.sizes):
        counts = np.bincount(codes[subject.labels == j], minlength=len(names))
        main.append(names[int(counts.argmax())])
        share.append(float(counts.max() / max(size, 1)))
    return main, share


def _influence(data: Mapping[str, Any]) -> str:
    found = data["influence"]
    if found is None or len(found["views"]) < 2:
        return ""
    caption = (
        "How far each view speaks for these clusters: the share of a row's nearest "
        "neighbours, in that view alone, that lie in its cluster, beyond chance and "
        "times the weight of the view. The shares of all views sum to 100\u00a0%."
    )
    rows = [
        [cluster_cell(j), *(percent(s, ".0f") for s in shares)]
        for j, shares in enumerate(found["clusters"])
        if data["sizes"][j]
    ]
    content = (
        '<div class="pair">'
        + chart("chart-influence", "Influence of each view over all rows")
        + chart("chart-shares", "Influence of each view in each cluster")
        + "</div>\n<details><summary>The same as a table</summary>"
        + write_table(
            "Influence of each view in each cluster",
            ["cluster", *found["views"]],
            rows,
            name="table-influence",
        )
        + "</details>\n"
    )
    return section("influence", "Influence of the views", caption, content)


def _agreement(subject: Subject, data: Mapping[str, Any]) -> str:
    if subject.known is None:
        return ""
    scores = clustering_scores(subject.known, subject.labels)
    rows: list[list[Cell | str]] = [
        [name, percent(s), MEANINGS[name]] for name, s in scores.items()
    ]
    shown = data["contingency"]["classes"]
    total = len(subject.classes[0])
    part = f" Shown are the {len(shown)} largest of {total} classes."
    caption = (
        "The known classes were not used to find the clusters. Each line of the map "
        "below is a class; the stronger the colour of a field, the more of the class "
        "is in that cluster." + (part if len(shown) < total else "")
    )
    content = (
        chart("chart-classes", "Share of every class in every cluster", "classes")
        + write_table(
            "Seven scores, 100 % is best",
            ["score", "value", "what it is"],
            rows,
            name="table-scores",
        )
    )  # fmt: skip
    return section("agreement", "Agreement with known classes", caption, content)


def _rows(subject: Subject) -> str:
    if subject.certainty is None:
        return ""
    n_clusters = int((subject.sizes > 0).sum())
    each = int(np.clip(MOST_NAMED_ROWS // (2 * n_clusters), 1, 5))
    typical, doubtful = typical_and_doubtful(
        subject.labels, subject.certainty, subject.n_clusters, each
    )
    rows = _named_rows(subject, "typical", typical)
    rows += _named_rows(subject, "doubtful", doubtful)
    columns = ["cluster", "kind", "row", "certainty", "next cluster"]
    columns += ["class"] if subject.known is not None else []
    caption = (
        "Typical rows lie nearest to the heart of their cluster; doubtful ones could "
        "as well belong to the next cluster. Look at both before believing a cluster."
    )
    content = write_table("Rows to look at", columns, rows, name="table-rows")
    return section("rows", "Typical and doubtful rows", caption, content)


def _named_rows(
    subject: Subject, kind: str, by_cluster: list[Matrix]
) -> list[list[Cell | str]]:
    assert subject.certainty is not None
    rows = np.concatenate(by_cluster)
    found = []
    for row, other in zip(rows, second_choice(subject, rows), strict=True):
        line: list[Cell | str] = [
            cluster_cell(int(subject.labels[row])),
            kind,
            subject.row_name(int(row)),
            percent(float(subject.certainty[row])),
            "–" if other is None else Cell(str(other), float(other)),
        ]
        line += [] if subject.known is None else [str(subject.known[row])]
        found.append(line)
    return found


def _features(subject: Subject) -> str:
    if subject.views is None:
        return ""
    each = int(np.clip(MOST_EFFECTS // subject.n_clusters, 1, NAMED_FEATURES))
    effects = feature_effects(subject.views, subject.labels, subject.n_clusters, each)
    rows: list[list[Cell | str]] = [
        [
            cluster_cell(e.cluster),
            e.view,
            e.feature,
            number(e.size, "+.2f", " sd"),
            number(e.inside, ".4g"),
            number(e.outside, ".4g"),
        ]
        for e in effects
    ]
    caption = (
        "The features whose mean differs most between a cluster and the rest. The "
        "difference is in standard deviations (sd); the means are in the feature's "
        "own unit."
    )
    columns = ["cluster", "view", "feature", "difference", "mean inside", "outside"]
    content = write_table("Telling features", columns, rows, name="table-features")
    return section("features", "What sets the clusters apart", caption, content)


def _objective(subject: Subject) -> str:
    values = subject.objective
    if not values:
        return ""
    if len(values) == 1:
        caption = (
            f"The method ran a single round, with the objective {values[0]:.6g} (no "
            "unit); there is no course to draw."
        )
        return section("objective", "Objective", caption, "")
    change = (values[0] - values[-1]) / max(abs(values[0]), 1e-300)
    caption = (
        f"What the method makes small, round by round (no unit): {values[0]:.6g} at "
        f"first, {values[-1]:.6g} after {len(values)} rounds, "
        f"{100 * change:.1f} % less."
    )
    content = chart("chart-objective", "Objective by round")
    return section("objective", "Objective by round", caption, content)


def _origin(subject: Subject, made: Mapping[str, float]) -> str:
    def table(title: str, columns: list[str], rows: list[list[Cell | str]]) -> str:
        return write_table(title, columns, rows) if rows else ""

    settings: list[list[Cell | str]] = [
        [str(k), _in_words(v)] for k, v in subject.settings.items()
    ]
    versions: list[list[Cell | str]] = [
        [str(k), str(v)] for k, v in subject.versions.items()
    ]
    times = {**subject.timings, **made}
    seconds: list[list[Cell | str]] = [
        [str(k), number(float(v), ",.2f", " s")] for k, v in times.items()
    ]
    content = (
        '<div class="columns">'
        + table("Settings", ["setting", "value"], settings)
        + "<div>"
        + table("Timings", ["step", "seconds"], seconds)
        + table("Versions", ["what", "version"], versions)
        + "</div></div>\n"
    )
    caption = (
        f"How the clusters came about, enough to find them again: {subject.method}."
    )
    return section("origin", "Settings, timings, versions", caption, content)


def _in_words(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= MOST_OPTIONS else text[: MOST_OPTIONS - 1] + "…"
