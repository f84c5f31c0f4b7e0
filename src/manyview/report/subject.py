"""What a page is about: a fitted model, or the folder of a run."""

import csv
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from manyview.arrays.ops import Matrix, to_host
from manyview.base import MultiViewClusterer
from manyview.engine.local import open_engine
from manyview.errors import InputError, InputTypeError
from manyview.explain import require_here
from manyview.files.failures import FilesTold
from manyview.files.json_value import json_value
from manyview.files.run_folder import MODEL, read_meta, versions
from manyview.growing import Hierarchy
from manyview.kmeans.passes import Centres, euclidean
from manyview.methods import load_model
from manyview.order_audit import OrderAudit
from manyview.stages.probabilities import likeliest, soft_scores
from manyview.stages.sampling import (
    INFLUENCE_ROWS,
    Asked,
    Influence,
    choose_scalings,
    draw,
    measure_influence,
    neighbours,
    vote,
)
from manyview.views.joining import follow_rows, places_of
from manyview.views.parsing import check_per_row
from manyview.views.views import Views


@dataclass(frozen=True)
class Subject:
    """Everything known about one partition; None or empty what is not known."""

    source: str  # where the data came from
    method: str
    labels: Matrix  # cluster of every row
    embedding: Matrix | None
    views: Views | None
    known: Matrix | None  # classes, for scores only
    row_names: Matrix | None
    certainty: Matrix | None
    influence: Influence | None
    objective: Sequence[float]  # by round
    reads_order: bool | None  # does the method look at the order of the rows?
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    timings: Mapping[str, float]
    order_evidence: str | None = None  # what the fit says of the order it used
    audit: OrderAudit | None = None
    tree: Hierarchy | None = None
    second: Matrix | None = None  # the likeliest cluster that a row is not in

    @property
    def n_samples(self) -> int:
        return len(self.labels)

    @cached_property
    def n_clusters(self) -> int:
        """Number of clusters, empty ones below the largest number included."""
        return int(self.labels.max()) + 1

    @cached_property
    def sizes(self) -> Matrix:
        return np.bincount(self.labels, minlength=self.n_clusters)

    @cached_property
    def classes(self) -> tuple[list[str], Matrix]:
        """Names of the known classes, in their order, and the class of every row."""
        known = np.empty(0, dtype=str) if self.known is None else self.known
        if known.dtype == object:  # may hold what cannot be compared
            known = known.astype(str)
        names, codes = np.unique(known, return_inverse=True)
        return [str(n) for n in names], codes

    @cached_property
    def contingency(self) -> Matrix:
        """Rows (n_classes, n_clusters) of every known class in every cluster."""
        names, codes = self.classes
        counts = np.zeros((len(names), self.n_clusters), dtype=np.int64)
        np.add.at(counts, (codes, self.labels), 1)
        return counts

    def row_name(self, row: int) -> str:
        """What a reader calls the row."""
        return f"row\u00a0{row}" if self.row_names is None else str(self.row_names[row])


def of_model(
    model: MultiViewClusterer,
    views: Any,
    known: Any = None,
    *,
    audit: OrderAudit | None = None,
    tree: Hierarchy | None = None,
    timings: Mapping[str, float] | None = None,
) -> Subject:
    """The subject of a fitted model and the views it was fitted on."""
    given = model._views_to_predict(views)
    require_here(given, "A report")
    known = given.labels if known is None else known
    embedding = getattr(model, "embedding_", None)
    return _subject(
        model,
        to_host(model.labels_).astype(np.intp),
        None if embedding is None else to_host(embedding),
        given,
        follow_rows(known, given.row_names, "labels"),
        source=given.origin or "the data",
        method=type(model).__name__,
        row_names=given.row_names,
        settings=json_value(model.get_params()),
        versions=versions(),
        timings=dict(timings or {}),
        audit=audit,
        tree=tree,
    )


def of_run(
    folder: str | os.PathLike[str],
    views: Views | None = None,
    *,
    audit: OrderAudit | None = None,
    tree: Hierarchy | None = None,
) -> Subject:
    """The subject of a run's folder, with the views it clustered where at hand."""
    meta, place = read_meta(folder), Path(folder)
    labels = _read(place / "labels.npy").astype(np.intp)
    embedding = place / "embedding.npy"
    model: Any = load_model(place / MODEL) if (place / MODEL).is_file() else None
    names, sure = _rows_in_table(place, len(labels))
    if views is not None:
        views = views if model is None else model._views_to_predict(views)
        views = _rows_of_run(views, names)
    return _subject(
        model,
        labels,
        _read(embedding) if embedding.is_file() else None,
        views,
        None if views is None else views.labels,
        source=str((meta.get("data") or {}).get("origin") or place.name),
        method=str(meta.get("method")),
        row_names=names,
        settings=meta.get("settings") or {},
        versions=meta.get("versions") or {},
        timings=meta.get("timings") or {},
        audit=audit,
        tree=tree,
        certainty=sure,
    )


def _subject(
    model: Any,
    labels: Matrix,
    embedding: Matrix | None,
    views: Views | None,
    known: Any,
    certainty: Matrix | None = None,
    **facts: Any,
) -> Subject:
    """The given facts with what model, labels and views tell together."""
    if views is not None and len(views) != len(labels):
        raise InputError(
            f"The clusters are of {len(labels)} rows; {len(views)} were given. Give "
            "the views that were clustered."
        )
    if not isinstance(facts["audit"], OrderAudit | None):
        raise InputTypeError(
            f"audit must be what audit_order found; got {facts['audit']!r}. Run "
            "manyview.audit_order on the views first."
        )
    tree = facts["tree"]
    if not isinstance(tree, Hierarchy | None) or (
        tree is not None and len(tree.leaves) != len(labels)
    ):
        raise InputTypeError(
            f"tree must be what hierarchy made of these {len(labels)} rows; got "
            f"{type(tree).__name__}. Call manyview.hierarchy(model, views) first."
        )
    order = getattr(model, "order_report_", None)
    judged = _judge(model, views, labels, embedding)
    return Subject(
        labels=labels,
        embedding=embedding,
        views=views,
        known=check_per_row(known, len(labels), "labels"),
        certainty=certainty if judged.certainty is None else judged.certainty,
        second=judged.second,
        influence=judged.influence,
        objective=_rounds(getattr(model, "objective_", ())),
        reads_order=_reads_order(model, facts["method"], facts["settings"]),
        order_evidence=None if order is None else str(order.sentence),
        **facts,
    )


def cluster_means(embedding: Matrix, labels: Matrix) -> Matrix:
    """The mean row (n_clusters, n_components) of every cluster; NaN for empty ones."""
    counts = np.bincount(labels)
    sums = np.zeros((counts.size, embedding.shape[1]))
    np.add.at(sums, labels, np.asarray(embedding, dtype=np.float64))
    with np.errstate(invalid="ignore"):
        return np.asarray(sums / counts[:, None])


class Judged(NamedTuple):
    """How clear the rows are, and which views speak for the clusters."""

    certainty: Matrix | None = None
    second: Matrix | None = None
    influence: Influence | None = None


def _judge(
    model: Any, views: Views | None, labels: Matrix, embedding: Matrix | None
) -> Judged:
    """As the fit says, or from the labels alone, all views of equal weight."""
    if hasattr(model, "certainty_"):
        likely = model._likeliest(2)
        influence = Influence(model.view_influence_, model.cluster_influence_)
        return Judged(*_two(likely), influence)
    if views is None:
        return Judged()
    n_clusters = int(labels.max()) + 1
    engine = open_engine(views, views.dtype, view_order=range(views.n_views))
    drawn = draw(engine, min(INFLUENCE_ROWS, len(views)), 0)
    near = neighbours(drawn.block, choose_scalings(drawn, "auto", n_clusters))
    own, weights = labels[drawn.caller_rows], np.ones(views.n_views)
    influence = measure_influence(near, own, weights, n_clusters)
    if embedding is None:
        return Judged(influence=influence)
    some = np.asarray(embedding[drawn.caller_rows], dtype=np.float64)
    votes = np.stack([vote(nearest, own, n_clusters) for nearest in near], axis=1)
    means = cluster_means(embedding, labels)
    points, offsets = euclidean(means)  # no row is put into an empty cluster
    centres = Centres(np.nan_to_num(points), np.where(offsets >= 0, offsets, np.inf))
    soft = soft_scores(Asked(some, own, votes, weights), centres)
    return Judged(
        *_two(likeliest(embedding, labels, soft, min(2, n_clusters))), influence
    )


def _two(likely: Matrix) -> tuple[Matrix, Matrix | None]:
    """How likely the first cluster of every row is, and which is the second."""
    if likely.shape[1] < 4:
        return likely[:, 1], None
    return likely[:, 2], likely[:, 1].astype(np.intp)


def _rounds(objective: Any) -> list[float]:
    """The objective by round; empty where it is no list of numbers."""
    try:
        values = np.asarray(objective, dtype=np.float64)
    except (TypeError, ValueError):
        return []
    return values.tolist() if values.ndim == 1 and np.isfinite(values).all() else []


def _reads_order(model: Any, method: str, settings: Mapping[str, Any]) -> bool | None:
    """As the model declares; without one, as far as names of the run tell."""
    if model is not None:
        return bool(model.__sklearn_tags__().multiview.order_dependent)
    named = "sequence" in f"{method} {settings.get('smoothing')}".lower()
    return True if named else None


def _read(path: Path) -> Matrix:
    with FilesTold(f"{path} could not be read", "Run manyview fit again.", ValueError):
        return np.asarray(np.load(path, allow_pickle=False))


def _rows_of_run(views: Views, names: Matrix | None) -> Views:
    """The views in the order of the run, where both name their rows."""
    own = None if views.row_names is None else [str(n) for n in views.row_names]
    if names is None or own is None or own == list(names):
        return views
    places = places_of(names.tolist(), own)
    if (places < 0).any() or len(set(own)) < len(own):
        raise InputError(
            f"The data names other rows than the run: {int((places >= 0).sum())} of "
            f"{len(names)} are found in it. Give the data that was clustered."
        )
    return views[places]


def _rows_in_table(folder: Path, n_samples: int) -> tuple[Matrix | None, Matrix | None]:
    """Names and certainty from ``labels.csv``; None for names that count the rows."""
    try:
        with (folder / "labels.csv").open(encoding="utf-8", newline="") as file:
            head, *rows = csv.reader(file)
            names, sure = [row[0] for row in rows], [row[2:3] for row in rows]
    except (OSError, IndexError, ValueError):
        return None, None
    if len(names) != n_samples:
        return None, None
    counted = names == [str(i) for i in range(len(names))]
    told = np.array(sure, dtype=np.float64).ravel() if "certainty" in head else None
    return None if counted else np.array(names, dtype=object), told
