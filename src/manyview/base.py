"""`MultiViewClusterer`: what every method of the package promises.

A method declares its parameters, asks `_views_to_fit` for checked `Views` in
``fit``, does its mathematics with pure functions and hands its labels to
`_store_labels`. One array goes through scikit-learn's own validation, so that
``check_estimator`` sees what it expects; lists, dicts and `Views` go through ours.
`PassClusterer` adds what fits of passes share, `predicting` what they do with new rows.
"""

import copy
import os
import warnings
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import KW_ONLY, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from array_api_compat import is_torch_array
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.utils import Tags, TransformerTags

from manyview.arrays.ops import to_host
from manyview.datasets.given import views_of
from manyview.engine.contract import NO_CHECKPOINT, Engine, NoCheckpoint, sizes
from manyview.engine.dask_workers import worker_count
from manyview.engine.local import open_engine
from manyview.engine.plan import Plan
from manyview.engine.threads import Background, in_the_background, single_threaded_blas
from manyview.errors import DegenerateWarning, InputTypeError
from manyview.files.checkpoint import Checkpoint
from manyview.files.model_file import write_model
from manyview.kmeans.nodes import Nodes
from manyview.kmeans.passes import FIELD, LABELS, Centres, Clustering, pick
from manyview.outliers import FindsOutliers
from manyview.predicting import Passes, PredictsByReplay
from manyview.present.model_page import ShowsItself
from manyview.running.callbacks import HEARD, CallbackSupportMixin, passes_as_tasks
from manyview.running.progress import shown
from manyview.selection import CHOICE, recall_or_choose
from manyview.stages.costs import Cost, plan_of, shape_of
from manyview.stages.overlaps import check_views_overlap
from manyview.stages.reach import measure_reach
from manyview.stages.rounds import History
from manyview.stages.sampling import (
    INFLUENCE_ROWS,
    Asked,
    Draw,
    check_views_speak,
    choose_scalings,
    draw,
    first_rows,
    measure_influence,
    neighbours,
    vote,
)
from manyview.stages.scaling import SCALINGS, Scaling
from manyview.stages.setup import Setup
from manyview.validating import TakesViews
from manyview.views.arguments import (
    check_choice,
    check_count,
    check_dtype,
    child_seed,
    generator,
)
from manyview.views.parsing import is_dask
from manyview.views.views import Views

FloatArray = np.ndarray[Any, Any]
IntArray = np.ndarray[Any, Any]

# Of all rows in one cluster: then hardly anything was found.
GIANT_SHARE = 0.99


@dataclass(slots=True)
class MultiviewTags:
    """What a multi-view method can do and depends on."""

    order_dependent: bool = False
    deterministic: bool = False
    missing_views: bool = False
    predicts: bool = False
    skipped_checks: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class ManyviewTags(Tags):  # type: ignore[misc]
    """scikit-learn's tags and ours."""

    multiview: MultiviewTags = field(default_factory=MultiviewTags)


class MultiViewClusterer(
    TakesViews,
    FindsOutliers,
    ShowsItself,
    ClusterMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Base of all estimators: validation, tags, labels.

    Class attributes of a method: `citation` (paper), `order_dependent` (does
    the order of the rows matter), `deterministic` (the same labels whatever
    `random_state`), `missing_views` (may rows lack views),
    `chooses_n_clusters` (does it take ``n_clusters="auto"``), `needs` (libraries it
    cannot do without, each with the extra that brings it), `skipped_checks` (names
    of checks in `manyview.checks` that cannot hold, each with the reason).
    """

    citation: ClassVar[str] = ""
    order_dependent: ClassVar[bool] = False
    deterministic: ClassVar[bool] = False
    missing_views: ClassVar[bool] = False
    chooses_n_clusters: ClassVar[bool] = False
    needs: ClassVar[dict[str, str]] = {}
    skipped_checks: ClassVar[dict[str, str]] = {}

    n_clusters: Any
    n_clusters_: int
    labels_: IntArray

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of `X` (views of n_samples rows each); `y` is ignored."""
        raise NotImplementedError

    def save(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> Path:
        """Write a file that `load_model` reads; `overwrite` replaces one. Its path."""
        return write_model(self, path, overwrite=overwrite)

    def _store_labels(self, labels: Any) -> Self:
        """Store the labels; warn of too few clusters, or one with nearly all rows."""
        host = labels if is_dask(labels) else to_host(labels)
        self.labels_ = labels if is_torch_array(labels) else host.astype(np.intp)
        for name in ("outlier_score_", "changes_", "_growth"):  # of an earlier fit
            self.__dict__.pop(name, None)
        problem = None if is_dask(labels) else degenerate(host, self.n_clusters_)
        if problem:
            about = f"{type(self).__name__} {problem}"
            warnings.warn(about, DegenerateWarning, stacklevel=3)
        return self

    def _without_rows(self) -> Self:
        """What new rows need of the fitted model: it may travel to many workers."""
        model = copy.copy(self)
        for name in ("labels_", "embedding_", "outlier_score_", "_growth"):
            model.__dict__.pop(name, None)
        return model

    def _fresh(self, **changed: Any) -> Self:
        """An unfitted copy for other rows: the work of this fit is not theirs."""
        if hasattr(self, "checkpoint"):
            changed = {"checkpoint": None, **changed}
        copied: Self = clone(self).set_params(**changed)
        return copied

    def __sklearn_clone__(self) -> Self:
        """A clone with the same client, which is a connection and has no copy."""
        engine = getattr(self, "engine", "local")
        if isinstance(engine, str):
            return super().__sklearn_clone__()  # type: ignore[no-any-return]
        plain = copy.copy(self)
        fresh: Self = super(MultiViewClusterer, plain).__sklearn_clone__()
        fresh.engine = engine
        return fresh

    def __getstate__(self) -> dict[str, Any]:
        """Copies and pickles look for the current client instead of holding one."""
        state: dict[str, Any] = dict(super().__getstate__())
        if not isinstance(state.get("engine", "local"), str):
            state["engine"] = "dask"
        return state

    def __sklearn_tags__(self) -> ManyviewTags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = False
        if hasattr(self, "transform"):
            tags.transformer_tags = TransformerTags(["float64", "float32"])
        known = {f.name: getattr(tags, f.name) for f in fields(Tags)}
        return ManyviewTags(
            **known,
            multiview=MultiviewTags(
                order_dependent=self.order_dependent,
                deterministic=self.deterministic,
                missing_views=self.missing_views,
                predicts=hasattr(self, "predict"),
                skipped_checks=dict(self.skipped_checks),
            ),
        )


@dataclass(eq=False, repr=False)
class PassClusterer(
    CallbackSupportMixin,  # type: ignore[misc]
    PredictsByReplay,
    MultiViewClusterer,
):
    """A method whose fit is a list of passes: new rows go through the same ones.

    Its fields are the parameters that all such methods have.
    """

    chooses_n_clusters: ClassVar[bool] = True
    missing_views: ClassVar[bool] = True

    n_clusters: int | str = 8
    _: KW_ONLY
    scaling: Any = "auto"
    n_init: int = 20
    random_state: Any = None
    dtype: Any = None
    engine: Any = "local"
    device: str | None = None
    memory_limit: Any = None
    checkpoint: Any = None
    verbose: bool = False

    def plan(self, X: Any, *, workers: int | None = None) -> Plan:
        """What a fit would keep, spill and read, how long and how large; print it.

        Parameters
        ----------
        X : views, as in `fit`, or ``(n_samples, [n_features_v, ...])`` for data to come
        workers : int, optional
            Workers of a Dask cluster, of one core each; by default those that `engine`
            finds.
        """
        if workers is not None:
            check_count(workers, "workers")
        found = worker_count(self.engine) if workers is None else workers
        return plan_of(self, shape_of(X) or views_of(X), found)

    def _check_counts(self, *names: str) -> None:
        """The parameters that all have are what they may be, and these are counts."""
        check_choice(self.scaling, "scaling", SCALINGS)
        check_dtype(self.dtype)
        for name in ("n_init", *names):
            check_count(getattr(self, name), name)

    @contextmanager
    def _engine_for(self, views: Views) -> Iterator[Engine]:
        """The engine that the parameters ask for, its passes shown and listened to."""
        title = f"Fitting {type(self).__name__}"
        listened = HEARD & vars(self).keys()
        tasks = passes_as_tasks(self, views) if listened else nullcontext()
        with shown(self.verbose, title), tasks:
            # Before all else: a place that cannot be had is told before any work.
            engine = open_engine(
                views,
                np.dtype(self.dtype or views.dtype),
                engine=self.engine,
                device=self.device,
                memory_limit=self.memory_limit,
            )
            # Jobs of ours fill the cores. Threads of the linear algebra beside them are
            # slow to wake, and wait for each other where other programs keep a core.
            with single_threaded_blas:
                yield engine

    def _meanwhile(self, views: Views) -> AbstractContextManager[Background]:
        """Jobs beside the fit, where rows are in memory that has no limit."""
        here = self.memory_limit is None and self.device is None
        here = here and isinstance(self.engine, str) and self.engine == "local"
        return in_the_background(here and not any(map(is_torch_array, views.arrays)))

    def _open_checkpoint(self, **given: Any) -> NoCheckpoint:
        if self.checkpoint is None:
            return NO_CHECKPOINT
        return Checkpoint(self.checkpoint, self, **given)

    def _settle_n_clusters(self, engine: Engine, saved: NoCheckpoint) -> None:
        """Where ``n_clusters="auto"``: what the rows, or the checkpoint, say."""
        if isinstance(self.n_clusters, str):
            self.choice_ = recall_or_choose(
                engine, saved, scaling=self.scaling, random_state=self.random_state
            )
            self.n_clusters_ = self.choice_.settle()

    def _draw(
        self, engine: Engine, size: int, saved: NoCheckpoint
    ) -> tuple[Draw, tuple[Scaling, ...], list[int]]:
        """Rows drawn by content, how to prepare the views, and seeds for the rest."""
        rng = saved.keep("rng", generator(self.random_state))
        drawn = draw(engine, min(size, engine.n_samples), child_seed(rng))
        saved.check_data(drawn, engine)
        if isinstance(self.n_clusters, str):
            saved.keep(CHOICE, self.choice_)  # now that its data are known
        names = [self.view_names_[v] for v in engine.view_order]
        check_views_speak(drawn, names)
        if any(m.n_rows < engine.n_samples for m in drawn.moments):
            check_views_overlap(engine, drawn, names, self.n_clusters_)
        how = self.scaling, self.n_clusters_
        many = engine.n_samples > sizes.exact_rows
        scalings = choose_scalings(drawn, *how, many=many)
        seeds = [child_seed(rng) for _ in range(3)]
        return drawn.without_empty_rows(scalings), scalings, seeds

    def _store_rounds(
        self,
        engine: Engine,
        drawn: Draw,
        setup: Setup,
        history: History,
        found: Clustering,
        nodes: Nodes | Centres | None = None,
    ) -> None:
        """All that a fit of rounds has found, views in the caller's order."""
        self.objective_, self.n_iter_ = history.objective, len(history.objective)
        self.anchors_ = by_caller([to_host(a) for a in setup.anchors], engine)
        scalings, rounds = setup.start.features.scalings, tuple(history.rounds)
        made = (setup.spectrum, setup.start, rounds)
        self._store_fit(engine, drawn, scalings, found, *made, nodes)

    def _store_fit(
        self,
        engine: Engine,
        drawn: Draw,
        scalings: tuple[Scaling, ...],
        found: Clustering,
        spectrum: Any,
        start: Any = None,
        rounds: tuple[Any, ...] = (),
        nodes: Nodes | Centres | None = None,
    ) -> None:
        """Embedding, labels, and how much each view shaped them."""
        self.embedding_ = engine.read(FIELD)
        weights = np.ones(self.n_views_)
        if spectrum is not None:
            weights = spectrum.weights
            self.view_weights_ = np.asarray(by_caller(weights, engine))
        self._store_labels(found.labels)
        some = drawn.rows[:INFLUENCE_ROWS]
        own, rows = (to_host(pick(engine, name, some)) for name in (LABELS, FIELD))
        near = neighbours(first_rows(drawn.block), scalings)
        votes = [vote(nearest, own, self.n_clusters_) for nearest in near]
        asked = Asked(rows, own, np.stack(votes, axis=1), weights)
        place = (engine.dtype.name, engine.view_order, spectrum, start, rounds)
        self._passes = Passes(*place, found.centres, nodes, asked)
        self._reach = measure_reach(drawn, scalings, own)
        shares = measure_influence(near, own, weights, self.n_clusters_)
        back = np.argsort(engine.view_order)
        self.view_influence_ = shares.overall[back]
        self.cluster_influence_ = shares.by_cluster[:, back]

    def _cost(self, n_samples: int, n_features: tuple[int, ...], itemsize: int) -> Cost:
        """What a fit on as many rows keeps per row, and its work."""
        raise NotImplementedError


def degenerate(labels: np.ndarray[Any, Any], n_clusters: int) -> str | None:
    """What is wrong with the clusters as such, if anything is."""
    counts = np.bincount(labels)
    n_samples, found = len(labels), int(np.count_nonzero(counts))
    if n_clusters > 1 < n_samples and counts.max() > GIANT_SHARE * n_samples:
        return (
            f"put {counts.max()} of {n_samples} rows into one cluster. Are the rows "
            "nearly all alike? Else one feature or view may outweigh the others: try "
            "another scaling, or another method."
        )
    if found < n_clusters:
        return (
            f"found {found} of the {n_clusters} clusters it was asked for; the others "
            "are empty. Ask for fewer clusters or try another method; rows that are "
            "the same are never parted."
        )
    return None


def require_method(estimator: Any) -> None:
    """An estimator of this package, rather than its class or one of another."""
    if not isinstance(estimator, MultiViewClusterer):
        raise InputTypeError(
            "estimator must be a method of this package, such as SequenceS2MVTC(); got "
            f"{estimator!r}. See manyview.all_methods()."
        )


def by_caller(values: Sequence[Any], engine: Engine) -> list[Any]:
    """Per-view values in the caller's order of the views."""
    return [values[v] for v in np.argsort(engine.view_order)]
