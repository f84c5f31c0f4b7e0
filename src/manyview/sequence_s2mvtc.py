"""S²MVTC along an order of the rows, and as published. Symbols: see `s2mvtc`.

    from manyview import SequenceS2MVTC
    model = SequenceS2MVTC(6, min_duration=20).fit(views, order=time, groups=recording)

Smoothing keeps the slow part of every embedding along the rows: Y_v = F FᵀB_v with
cosines F (eq. 15), cut off at the shortest duration worth keeping. It is right where
the order is real (time, frames, scan lines), and leaks the answer where rows are
sorted by class, as the published figures have it.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

from manyview.arrays.ops import to_host
from manyview.base import ManyviewTags, MultiviewTags, PassClusterer
from manyview.engine.contract import NO_CHECKPOINT, Engine, NoCheckpoint
from manyview.errors import InputError
from manyview.kmeans.correlation import (
    correlation_kmeans,
    first_labels_kmeans,
    keep_first_labels,
)
from manyview.kmeans.passes import ROWS_PER_ANCHOR, Clustering, kmeans
from manyview.running import progress
from manyview.running.callbacks import with_callbacks
from manyview.stages.anchor_graph import sample_size
from manyview.stages.anchors import anchor_count
from manyview.stages.costs import Cost, rounds_cost
from manyview.stages.order_report import order_report, warn_of_new_rows, warn_of_order
from manyview.stages.rounds import round_step, run_rounds
from manyview.stages.sampling import Draw
from manyview.stages.sequence import RowSequence, make_sequence
from manyview.stages.sequence_settings import (
    check_sequence_settings,
    published,
    setting,
)
from manyview.stages.sequence_setup import (
    Prepared,
    prepare_features,
    put_order,
    sequence_weights,
    set_up_sequence,
)
from manyview.stages.setup import Setup, enter
from manyview.stages.start import PRINCIPAL_ROWS
from manyview.stages.tracing import caller_trace, trace_rows
from manyview.views.joining import follow_rows


@dataclass(eq=False, repr=False)
class SequenceS2MVTC(PassClusterer):
    """S²MVTC smoothed along an order of the rows; as published by `as_published`.

    Parameters
    ----------
    n_clusters : int or "auto"
        How many clusters to find; "auto" asks `choose_n_clusters`.
    graph : bool
        Start from the smooth vectors of the multi-view anchor graph and smooth
        these along the order, instead of principal directions and the rows alone.
    n_low : int, optional
        Frequencies kept (the paper's L); default 16, fewer on few rows. Not beside
        `min_duration`.
    min_duration : float, str or timedelta, optional
        Shortest duration worth keeping, in place of `n_low`: a number of rows, or of
        units of a numeric `order`; with dates as `order`, "2s", "1h 30min" or any
        timedelta.
    periodic : bool
        Is the last row of a sequence next to the first, as in the paper's DFT?
    n_anchors : int, optional
        As in `S2MVTC`; default 1000, the paper's number.
    anchors : {"kmeans", "random"} or list of arrays (m, n_features_v)
        How anchors are found, or the anchors themselves, as in `S2MVTC`.
    scaling : {"auto", "standard", "global", "cosine", "unit", "root", None}
        Preparation of the views, as in `S2MVTC`.
    kernel : {"rbf", "linear"}
        Features of rows against anchors.
    n_components : int, optional
        Width of the embedding, default 64; with the graph it follows from
        `n_clusters`.
    start : {"signs", "directions"}, optional
        Without the graph: the signs of the views' leading principal directions side
        by side (default), or the mean of these directions, as published.
    n_graph_anchors, n_neighbors : int, optional
        With the graph: as in `S2MVTC`.
    lam : float, optional
        Ridge weight; default a hundredth of the mean eigenvalue of PhiᵀPhi.
    beta : float
        Weight of the consensus; 0 leaves it out.
    smoothing_weight : float
        The weight a of the smoothing in the first round; 0 leaves it, and with it
        the order, out.
    smoothing_growth : float
        Factor of that weight from round to round (1.1 as published).
    max_iter : int
        Number of rounds.
    row_norm : {"unit", "zscore"}
        Rows of one length, or z-scored as in the paper. The coordinates' signs
        are arbitrary, so their mean carries nothing: the default leaves it.
    rank_tol : float
        Directions of Phi whose shrinkage s/(s+lam) is below may be dropped.
    assign : {"kmeans", "correlation", "published"}
        k-means with `n_init` starts, or the paper's single-start correlation form:
        from rows of the last consensus, or from labels fixed before the rounds as
        the authors do, which leaves some clusters empty.
    n_init : int
        Spread starts of k-means; one more starts from Ward's clusters.
    random_state : int, generator or None
        Seed of the draws and starts.
    dtype : {None, "float32", "float64"}
        Precision of the blocks; default follows the input.
    engine : {"local", "dask"} or distributed.Client
        Where the passes run.
    device : str, optional
        A torch device such as "cuda" to compute on; default the processor.
    memory_limit : str or int, optional
        What the process may hold, such as "2GB"; the rest goes to scratch files.
    checkpoint : path, optional
        A folder to keep the work in: a fit that was stopped resumes there.
    verbose : bool
        Show progress.

    Attributes
    ----------
    labels_, embedding_, anchors_, objective_, n_iter_, trace_ : as in `S2MVTC`
    fitted_along_ : tuple of str
        Which of ``order`` and ``groups`` the fit was given.
    order_report_ : OrderReport
        How much of the partition the order alone explains; only where the smoothing
        has a weight.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from manyview import SequenceS2MVTC
    >>> x = np.repeat([[0.0, 0.0], [9.0, 1.0]], 30, axis=0)
    >>> x += np.random.default_rng(0).normal(size=x.shape)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     model = SequenceS2MVTC(2, n_low=4, random_state=0).fit([x, x**2])
    >>> sorted(np.bincount(model.labels_).tolist())
    [30, 30]
    """

    usual_anchors: ClassVar[int | None] = 1000  # the paper's number
    citation: ClassVar[str] = (
        "Z. Long, Q. Wang, Y. Ren, Y. Liu, C. Zhu: S²MVTC: a Simple yet Efficient "
        "Scalable Multi-View Tensor Clustering. CVPR 2024."
    )

    _: KW_ONLY
    graph: bool = False
    n_low: int | None = None
    min_duration: Any = None
    periodic: bool = False
    n_anchors: int | None = None
    anchors: Any = "kmeans"
    kernel: str = "rbf"
    n_components: int | None = None
    start: str | None = None
    n_graph_anchors: int | None = None
    n_neighbors: int | None = None
    lam: float | None = None
    beta: float = 1.0
    smoothing_weight: float = 1.0
    smoothing_growth: float = 1.0
    max_iter: int = 7
    row_norm: str = "unit"
    rank_tol: float = 1e-3
    assign: str = "kmeans"

    @classmethod
    def as_published(cls, data_set: str) -> Self:
        """The paper's setting for one of its six data sets, as its authors run it."""
        return cls(**published(data_set))

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        order: Any = None,
        groups: Any = None,
        trace: Any = None,
    ) -> Self:
        """Cluster the rows of the views.

        Parameters
        ----------
        X : list or dict of arrays, Views, or one array (n_samples, n_features)
        y : ignored
        order : array (n_samples,), optional
            Key that orders the rows, numbers or dates; default as they stand. A
            pandas Series follows the names of the rows, as `groups` does.
        groups : array (n_samples,), optional
            Recording of every row; recordings are smoothed one by one.
        trace : array of row numbers, optional
            Keep B_v, Y_v and B_bar of these rows for every round in `trace_`.
        """
        check_sequence_settings(self)
        views = self._views_to_fit(X, y)
        order = follow_rows(order, views.row_names, "order")
        groups = follow_rows(groups, views.row_names, "groups")
        sequence = self._find_order(len(views), order, groups)
        with self._engine_for(views) as engine:
            given = {"order": order, "groups": groups, "trace": trace}
            saved = self._open_checkpoint(**given)
            drawn, scalings, seeds = self._draw_rows(engine, saved)
            setup = saved.load("setup")
            if setup is None:
                ready = prepare_features(self, engine, drawn, scalings, seeds)
                setup = set_up_sequence(self, ready, reduces=True)
                saved.save("setup", setup)
            else:
                enter(engine, setup.spectrum, setup.start)
            return self._run(engine, drawn, seeds, setup, sequence, trace, saved)

    def prepare(self, X: Any) -> Prepared:
        """Everything that `lam`, `beta`, `n_low` and the like do not change.

        `fit_prepared` of models that differ only in these goes on from there. Give
        the smallest `lam` of them to this one.
        """
        check_sequence_settings(self)
        views = self._views_to_fit(X)
        with self._engine_for(views) as engine:
            drawn = self._draw_rows(engine, NO_CHECKPOINT)
            return prepare_features(self, engine, *drawn)

    def fit_prepared(
        self, X: Any, ready: Prepared, *, order: Any = None, groups: Any = None
    ) -> Self:
        """`fit` on views that `prepare` has seen, into as many clusters."""
        check_sequence_settings(self)
        names = self._views_to_fit(X).row_names
        order = follow_rows(order, names, "order")
        groups = follow_rows(groups, names, "groups")
        if self.n_clusters != ready.n_clusters:
            raise InputError(
                f"The views were prepared for n_clusters={ready.n_clusters!r}, this "
                f"model has {self.n_clusters!r}. Give both the same number."
            )
        if ready.choice is not None:
            self.choice_, self.n_clusters_ = ready.choice, ready.choice.best_guess
        engine = ready.engine
        of_views = [f"{letter}{v}" for letter in "BY" for v in range(self.n_views_)]
        for name in ("F", "F_out", "B_bar", *of_views):
            engine.drop(name)
        sequence = self._find_order(engine.n_samples, order, groups)
        setup = set_up_sequence(self, ready, reduces=False)
        drawn, seeds = ready.drawn, ready.seeds
        return self._run(engine, drawn, seeds, setup, sequence, None, NO_CHECKPOINT)

    def _draw_rows(self, engine: Engine, saved: NoCheckpoint) -> Any:
        """Rows drawn once by content, for anchors, the start and the k-means starts."""
        self._settle_n_clusters(engine, saved)
        wanted = self.n_anchors or self.usual_anchors
        m = anchor_count(wanted, engine.n_samples, self.n_clusters_)
        per_anchor = ROWS_PER_ANCHOR if self.anchors == "kmeans" else 1
        graph_rows = sample_size(setting(self, "n_graph_anchors"), self.n_views_)
        size = max(m * per_anchor, PRINCIPAL_ROWS, graph_rows, self.n_clusters_)
        return self._draw(engine, size, saved)

    def _find_order(
        self, n_samples: int, order: Any, groups: Any
    ) -> RowSequence | None:
        """The sequence to smooth along; none where the smoothing has no weight."""
        given: Any = {"order": order, "groups": groups}
        self.fitted_along_ = tuple(n for n, key in given.items() if key is not None)
        if self.smoothing_weight:
            usual = min(setting(self, "n_low"), n_samples // 2 + 1)
            given |= {"n_low": self.n_low or usual, "periodic": self.periodic}
            return make_sequence(n_samples, min_duration=self.min_duration, **given)
        if order is not None or groups is not None:
            raise InputError(
                "smoothing_weight=0 does not use order= or groups=. Leave them out, or "
                "give smoothing_weight a value above 0."
            )
        return None

    def _run(
        self,
        engine: Engine,
        drawn: Draw,
        seeds: list[int],
        setup: Setup,
        sequence: RowSequence | None,
        trace: Any,
        saved: NoCheckpoint,
    ) -> Self:
        """The rounds along the sequence, and the clusters of the last B_bar."""
        rows = None if trace is None else trace_rows(engine, trace)
        wide = None
        if sequence is not None:
            wide = put_order(engine, sequence, graph=self.graph)
        if self.assign == "published":
            keep_first_labels(engine, drawn.rows[: self.n_clusters_])
        with progress.finish_the_round():
            of = (setup.start.features, setup.ridges, sequence_weights(self, setup))
            how: Any = {"sequence": wide, "trace": rows, "max_iter": self.max_iter}
            history = run_rounds(engine, *of, setup.first, saved=saved, **how)
            # Centres of a fit that was stopped early are no step of the whole one.
            whole = len(history.objective) == self.max_iter
            kept = saved if whole else NO_CHECKPOINT
            found = self._cluster(engine, drawn, seeds[2], kept)
            self._store_rounds(engine, drawn, setup, history, found)
            if rows is not None:
                self.trace_ = caller_trace(history.trace, engine, trace)
            self.__dict__.pop("order_report_", None)
            if sequence is not None:
                labels = to_host(self.labels_)
                self.order_report_ = order_report(labels, sequence, self.n_clusters_)
                warn_of_order(self.order_report_)
        return self

    def _cluster(
        self, engine: Engine, drawn: Draw, seed: int, saved: NoCheckpoint
    ) -> Clustering:
        """The D, G problem of eq. (18) on the rows of B_bar."""
        n_clusters, rows = self.n_clusters_, drawn.rows
        if self.assign == "correlation":
            return correlation_kmeans(engine, rows[:n_clusters])
        if self.assign == "published":
            return first_labels_kmeans(engine, n_clusters)
        how: Any = {"n_init": self.n_init, "seed": seed, "saved": saved}
        return kmeans(engine, n_clusters, rows, **how)

    def _cost(self, n_samples: int, n_features: tuple[int, ...], itemsize: int) -> Cost:
        how: Any = {"graph": self.graph, "n_rounds": self.max_iter}
        return rounds_cost(n_samples, n_features, itemsize, self, **how)

    def _replay(self, engine: Engine) -> None:
        """The passes of the fit that make B_bar, on other rows.

        New rows have no place in a training sequence: that term is left out.
        """
        _, _, spectrum, start, rounds, *_ = self._passes
        enter(engine, spectrum, start)
        for t, shared in enumerate(rounds):
            plain = shared._replace(keep=False, trace=None, sums="nobody")
            if spectrum is None:
                plain = plain._replace(smooth=None, filtered=0.0)
            engine.run(round_step, plain, title=f"Round {t + 1}")

    def _warn_of_new_rows(self) -> None:
        if self.smoothing_weight:
            warn_of_new_rows(self)

    def __sklearn_tags__(self) -> ManyviewTags:
        tags = super().__sklearn_tags__()
        own: MultiviewTags = tags.multiview
        own.order_dependent = bool(self.smoothing_weight)
        if own.order_dependent:
            own.skipped_checks["check_predict"] = (
                "new rows have no place in the order: it is left out for them"
            )
        if not self.graph:
            own.skipped_checks["check_sparse_agrees"] = (
                "sparse views are not centred, so other directions lead the start"
            )
        return tags
