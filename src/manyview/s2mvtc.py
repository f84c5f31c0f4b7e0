"""S²MVTC: scalable multi-view tensor clustering, start to end.

    from manyview import S2MVTC
    labels = S2MVTC(n_clusters=20).fit_predict([sift, stip, mfcc])

The method of Long et al., "S²MVTC: a Simple yet Efficient Scalable Multi-View
Tensor Clustering" (CVPR 2024), with samples on rows:

    here       paper   shape    what
    X_v        X_v     n × d_v  view v
    A_v        z_v     m × d_v  anchors of view v
    Phi_v      φ(X_v)  n × m    features of every row against the anchors, eq. (7)
    U_v        U_v     m × k    ridge projection, eq. (12)
    B_v        B_v     n × k    embedding of view v, rows z-scored, eq. (14)
    B_bar      B̃       n × k    consensus embedding, rows z-scored, eq. (17)
    F          –       n × r    orthonormal low-frequency basis
    Y_v        Y_v     n × k    low-pass part of B_v: F FᵀB_v, eq. (15)
    n_low      L                number of kept frequencies
    lam, beta  λ, β             ridge weight, consensus weight

One round does, for every view, U_v = (PhiᵀPhi + lam I)⁻¹ PhiᵀB_v and
B_v = zscore(beta B_bar + a Y_v + Phi U_v); then Y_v = F FᵀB_v and
B_bar = zscore(mean_v B_v). The next B_v of a row needs only that row's Phi, F
and B_bar and two small matrices per view, P_v = PhiᵀB_v and C_v = FᵀB_v. So a
round is one pass over the rows (`round_step`), and neither B_v nor Y_v is kept.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from manyview.arrays.ops import to_host
from manyview.base import ManyviewTags, check_rows, child_seed, generator
from manyview.engine.contract import NO_CHECKPOINT, Engine, NoCheckpoint
from manyview.errors import InputError
from manyview.files.checkpoint import Checkpoint
from manyview.kmeans import passes as assign
from manyview.replay import ReplayClusterer
from manyview.running import progress
from manyview.running.callbacks import passes_as_tasks, with_callbacks
from manyview.running.interrupt import finish_the_round
from manyview.stages import anchor_graph as graph
from manyview.stages import sequence as smoothing
from manyview.stages.anchors import ROWS_PER_ANCHOR, anchor_count
from manyview.stages.costs import Cost, rounds_cost
from manyview.stages.order_report import order_report, warn_of_new_rows, warn_of_order
from manyview.stages.rounds import (
    GraphStart,
    History,
    Round,
    Start,
    Weights,
    round_step,
    run_rounds,
)
from manyview.stages.sampling import Draw, choose_scalings, draw
from manyview.stages.set_up import Setup, enter, set_up
from manyview.stages.settings import (
    PAPER_ROUNDS,
    check_settings,
    published,
    uses_graph,
    uses_order,
    weighs_fits,
)
from manyview.stages.start import PRINCIPAL_ROWS

Matrix = np.ndarray[Any, Any]

PAPER_WEIGHT = 1.0
# The graph's own vectors are smooth and agreed upon: one round, mostly the fit.
GRAPH_ROUNDS = 1
GRAPH_WEIGHT = 0.1


class Passes(NamedTuple):
    """The small values of a fit, in order: what new rows are replayed through."""

    spectrum: graph.Spectrum | None
    start: Start | GraphStart
    rounds: tuple[Round, ...]


class S2MVTC(ReplayClusterer):
    """Scalable multi-view tensor clustering (Long et al., CVPR 2024).

    Minimises, with the rows of B_v and B_bar of one length and Y_v in span(F),

    ½ Σ_v w_v ( ‖B_v − Phi_v U_v‖² + lam ‖U_v‖² + beta ‖B_bar − B_v‖² + a ‖B_v − Y_v‖² )

    by rounds of exact block updates (eq. 9–17 of the paper), then clusters the
    rows of B_bar (eq. 18). The default smooths over the multi-view anchor graph
    and does not know the order of the rows; `as_published` gives the paper's
    setting, which smooths along the rows as they stand.

    Parameters
    ----------
    n_clusters : int or "auto"
    n_anchors : int
        Anchors per view of the features Phi, at most; fewer on small data.
    anchors : {"kmeans", "random"} or list of arrays (m, n_features_v)
        How anchors are found, or the anchors themselves in input units.
    kernel : {"rbf", "linear"}
    scaling : {"auto", "standard", "global", "cosine", "unit", "root", None}
        Preparation of the views; "auto" tells counts, histograms, principal
        components and other features apart by shares that no rescaling changes.
        Where rows are brought to unit length, a row of zeros lacks the view.
    n_components : int
        Width of the embedding where it does not start from the graph.
    start : {"signs", "directions"}
        Without the graph: the signs of the views' leading principal directions side
        by side, or the mean of these directions themselves, as published.
    n_graph_anchors : int
        Anchors of the graph over all views and draws together, at most.
    n_neighbors : int
        Anchors a row is tied to, in each view and draw.
    n_low : int
        Frequencies kept by sequence smoothing (the paper's L).
    min_duration : float, optional
        Shortest duration worth keeping, in rows or in units of `order`; sets the
        cut-off of sequence smoothing in place of `n_low`.
    lam : float, optional
        Ridge weight; default with the graph alone the one of a few that predicts
        the start best, view by view (generalised cross-validation), and the views
        then weigh by how much of it they explain; otherwise a hundredth of the
        mean eigenvalue of PhiᵀPhi.
    beta : float, optional
        Weight of the consensus; default 0.1 with the graph alone, 1 otherwise.
    max_iter : int, optional
        Number of rounds; default 1 with the graph alone, 7 as in the paper otherwise.
    smoothing : {"graph", "sequence", "graph+sequence", None}
    smoothing_weight : float, optional
        The weight a of the smoothing in the first round; default as for beta.
    smoothing_growth : float
        Factor of the smoothing weight a from round to round (1.1 as published).
    consensus : bool
        Without it the beta term is dropped; the mean is clustered all the same.
    row_norm : {"unit", "zscore"}
        Rows of one length, or z-scored as in the paper. The coordinates' signs
        are arbitrary, so their mean carries nothing: the default leaves it.
    periodic : bool
        Is the last row of a sequence next to the first, as in the paper's DFT?
    rank_tol : float
        Directions of Phi whose shrinkage s/(s+lam) is below may be dropped.
    assign : {"kmeans", "correlation"}
        k-means with `n_init` starts, or the paper's single-start correlation form.
    n_init : int
        Spread starts of k-means; one more starts from Ward's clusters.
    random_state : int, generator or None
    dtype : {None, "float32", "float64"}
        Default: follows the input.
    block_rows : int, optional
        Rows per block; results agree for any value up to rounding.
    engine, device, memory_limit : where the passes run; see the user guide
    verbose : bool
        Show progress.

    Attributes
    ----------
    labels_ : array (n_samples,)
    embedding_ : array (n_samples, k)
        The consensus embedding B_bar.
    anchors_ : list of arrays (m, n_features_v)
        Anchors of the features, prepared like their view.
    objective_ : list of float
        The objective at the end of every round.
    n_iter_ : int
    view_weights_ : array (n_views,)
        The views' weights w_v in the graph, from its own spectral gap.
    order_report_ : OrderReport
        After sequence smoothing: how much the order alone explains.
    trace_ : list of dict
        B_v, Y_v and B_bar of the rows asked for, per round.

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import S2MVTC
    >>> x = np.repeat([[0.0, 0.0], [9.0, 1.0]], 30, axis=0)
    >>> x += np.random.default_rng(0).normal(size=x.shape)
    >>> model = S2MVTC(n_clusters=2, random_state=0).fit([x, x[:, :1] ** 2])
    >>> sorted(np.bincount(model.labels_).tolist())
    [30, 30]
    """

    citation: ClassVar[str] = (
        "Z. Long, Q. Wang, Y. Ren, Y. Liu, C. Zhu: S²MVTC: a Simple yet Efficient "
        "Scalable Multi-View Tensor Clustering. CVPR 2024."
    )
    missing_views: ClassVar[bool] = True

    def __init__(
        self,
        n_clusters: int | str = 8,
        *,
        n_anchors: int = 1000,
        anchors: Any = "kmeans",
        kernel: str = "rbf",
        scaling: Any = "auto",
        n_components: int = 64,
        start: str = "signs",
        n_graph_anchors: int = 4096,
        n_neighbors: int = 5,
        n_low: int = 16,
        min_duration: float | None = None,
        lam: float | None = None,
        beta: float | None = None,
        max_iter: int | None = None,
        smoothing: str | None = "graph",
        smoothing_weight: float | None = None,
        smoothing_growth: float = 1.0,
        consensus: bool = True,
        row_norm: str = "unit",
        periodic: bool = False,
        rank_tol: float = 1e-3,
        assign: str = "kmeans",
        n_init: int = 20,
        random_state: Any = None,
        dtype: Any = None,
        block_rows: int | None = None,
        engine: Any = "local",
        device: str | None = None,
        memory_limit: Any = None,
        checkpoint: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.anchors = anchors
        self.kernel = kernel
        self.scaling = scaling
        self.n_components = n_components
        self.start = start
        self.n_graph_anchors = n_graph_anchors
        self.n_neighbors = n_neighbors
        self.n_low = n_low
        self.min_duration = min_duration
        self.lam = lam
        self.beta = beta
        self.max_iter = max_iter
        self.smoothing = smoothing
        self.smoothing_weight = smoothing_weight
        self.smoothing_growth = smoothing_growth
        self.consensus = consensus
        self.row_norm = row_norm
        self.periodic = periodic
        self.rank_tol = rank_tol
        self.assign = assign
        self.n_init = n_init
        self.random_state = random_state
        self.dtype = dtype
        self.block_rows = block_rows
        self.engine = engine
        self.device = device
        self.memory_limit = memory_limit
        self.checkpoint = checkpoint
        self.verbose = verbose

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
            Key that orders the rows for sequence smoothing; default as they stand.
        groups : array (n_samples,), optional
            Recording of every row; recordings are smoothed one by one.
        trace : array of row numbers, optional
            Keep B_v, Y_v and B_bar of these rows for every round in `trace_`.
        """
        check_settings(self)
        if not uses_order(self) and (order is not None or groups is not None):
            raise InputError(
                f"smoothing={self.smoothing!r} does not use order= or groups=. Leave "
                "them out, or choose smoothing='sequence' or 'graph+sequence'."
            )
        views = self._begin(X)
        with progress.shown(self.verbose), passes_as_tasks(self, views):
            self._settle_n_clusters(views)
            self._dtype = np.dtype(self.dtype or views.dtype)
            engine = self._open(views)
            return self._fit_engine(engine, order, groups, trace)

    def _fit_engine(self, engine: Engine, order: Any, groups: Any, trace: Any) -> Self:
        """The method on an engine's blocks: set-up passes, rounds, clustering."""
        given = {"order": order, "groups": groups, "trace": trace}
        saved: NoCheckpoint = NO_CHECKPOINT
        if self.checkpoint is not None:
            saved = Checkpoint(self.checkpoint, self, **given)
        rng = saved.keep("rng", generator(self.random_state))
        m = anchor_count(self.n_anchors, engine.n_samples, self.n_clusters_)
        drawn = draw(engine, self._sample_size(m, engine.n_samples), child_seed(rng))
        saved.check_data(drawn, engine)
        self._check_drawn(drawn)
        scalings = choose_scalings(drawn, self.scaling, self.n_clusters_)
        drawn = drawn.seen(scalings)
        seeds = [child_seed(rng) for _ in range(3)]
        setup = saved.load("setup")
        if setup is None:
            setup = self._set_up(engine, drawn, scalings, m, seeds)
            saved.save("setup", setup)
        else:
            enter(engine, setup.spectrum, setup.start)
        sequence = self._make_sequence(engine.n_samples, order, groups)
        with finish_the_round():
            history = run_rounds(
                engine,
                setup.first,
                setup.ridges,
                self._weights(setup.spectrum, setup.explained),
                max_iter=self.n_rounds,
                sequence=self._put_sequence(engine, sequence),
                trace=None if trace is None else check_rows(trace, engine.n_samples),
                saved=saved,
            )
            self._keep(setup, history)
            # Centres of a fit that was stopped early are no step of the whole one.
            whole = self.n_iter_ == self.n_rounds
            kept = saved if whole else NO_CHECKPOINT
            self._cluster(engine, drawn, seeds[2], setup.partition, kept)
            if sequence is not None:
                self.order_report_ = order_report(
                    to_host(self.labels_), sequence, self.n_clusters_
                )
                warn_of_order(self.order_report_)
        return self

    def _keep(self, setup: Setup, history: History) -> None:
        """What the set-up and the rounds have found."""
        self._passes = Passes(setup.spectrum, setup.start, tuple(history.rounds))
        if setup.spectrum is not None:
            self.view_weights_ = setup.spectrum.weights
        self.anchors_ = [to_host(a) for a in setup.anchors]
        self.objective_, self.n_iter_ = history.objective, len(history.objective)
        if history.trace:
            self.trace_ = history.trace

    def _set_up(self, engine: Engine, *given: Any) -> Setup:
        """Anchors, features and the start of the rounds."""
        return set_up(self, engine, *given)

    def _cost(self, n_samples: int, n_features: tuple[int, ...], itemsize: int) -> Cost:
        return rounds_cost(n_samples, n_features, itemsize, self)

    def _replay(self, engine: Engine) -> None:
        """The passes of the fit that make B_bar, on other rows.

        New rows have no place in a training sequence: that term is left out.
        """
        spectrum, start, rounds = self._passes
        if spectrum is None and self.smoothing is not None:
            rounds = tuple(r._replace(smooth=None, filtered=0.0) for r in rounds)
        enter(engine, spectrum, start)
        for t, small in enumerate(rounds):
            plain = small._replace(keep=False, trace=None, sums="nobody")
            engine.run(round_step, plain, title=f"Round {t + 1}")

    def _warn_of_new_rows(self) -> None:
        if uses_order(self):
            warn_of_new_rows(self)

    def _sample_size(self, n_anchors: int, n_samples: int) -> int:
        """Rows drawn once by content, for anchors, the start and the k-means starts."""
        per_anchor = ROWS_PER_ANCHOR if self.anchors == "kmeans" else 1
        wanted = max(
            n_anchors * per_anchor,
            PRINCIPAL_ROWS,
            graph.sample_size(self.n_graph_anchors, self.n_views_),
        )
        return min(n_samples, max(wanted, self.n_clusters_))

    def _weights(self, spectrum: graph.Spectrum | None, explained: Matrix) -> Weights:
        """The objective's weights; views weigh as in the graph, or all the same.

        Where fits are weighed, times the share of the start that a view explains.
        """
        worth = explained
        if spectrum is not None:
            worth = spectrum.weights * explained
            worth = worth * (self.n_views_ / worth.sum())
        usual = GRAPH_WEIGHT if self.smoothing == "graph" else PAPER_WEIGHT
        beta = usual if self.beta is None else float(self.beta)
        a = usual if self.smoothing_weight is None else float(self.smoothing_weight)
        return Weights(
            beta=beta if self.consensus else 0.0,
            growth=float(self.smoothing_growth),
            smooth=a if self.smoothing is not None else 0.0,
            centre=self.row_norm == "zscore",
            worth=tuple(float(w) for w in worth),
            by_length=weighs_fits(self),
        )

    @property
    def n_rounds(self) -> int:
        """The rounds a fit runs: `max_iter`, or the default of the smoothing."""
        if self.max_iter is not None:
            return self.max_iter
        return GRAPH_ROUNDS if self.smoothing == "graph" else PAPER_ROUNDS

    def __sklearn_tags__(self) -> ManyviewTags:
        tags = super().__sklearn_tags__()
        tags.multiview.order_dependent = uses_order(self)
        return tags

    def _make_sequence(
        self, n_samples: int, order: Any, groups: Any
    ) -> smoothing.Sequence | None:
        """The order to smooth along, if any."""
        if not uses_order(self):
            return None
        return smoothing.make_sequence(
            n_samples,
            order=order,
            groups=groups,
            n_low=self.n_low,
            min_duration=self.min_duration,
            periodic=self.periodic,
        )

    def _put_sequence(
        self, engine: Engine, sequence: smoothing.Sequence | None
    ) -> smoothing.Sequence | None:
        """Give every row its F; the sequence itself when F would be too wide."""
        if sequence is None:
            return None
        if uses_graph(self):
            smoothing.put_filtered(engine, sequence)
            return None
        if sequence.n_vectors > smoothing.MOST_BASIS_VECTORS:
            return sequence
        smoothing.put_basis(engine, sequence)
        return None

    def _cluster(
        self,
        engine: Engine,
        drawn: Draw,
        seed: int,
        first: Matrix | None,
        saved: NoCheckpoint,
    ) -> None:
        """The D, G problem of eq. (18) on the rows of B_bar."""
        self.embedding_ = engine.read("B_bar")
        if self.assign == "correlation":
            rows = drawn.rows[: self.n_clusters_]
            found = assign.correlation_kmeans(engine, rows)
        else:
            found = assign.kmeans(
                engine,
                self.n_clusters_,
                drawn.rows,
                n_init=self.n_init,
                seed=seed,
                first=first,
                saved=saved,
            )
        self._centres = found.centres
        self._finish(found.labels)
        spectrum, start, _ = self._passes
        weights = np.ones(self.n_views_) if spectrum is None else spectrum.weights
        self._weigh_views(engine, drawn, start.features.scalings, weights)
