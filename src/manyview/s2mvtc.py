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

from . import assign, graph, progress, smoothing
from .anchors import ROWS_PER_ANCHOR, anchor_count, choose_anchors, make_kernels
from .base import (
    ReplayClusterer,
    check_choice,
    check_count,
    check_dtype,
    check_number,
    check_rows,
    child_seed,
    generator,
)
from .draw import Draw, choose_scalings, draw
from .engine import Engine
from .errors import InputError
from .features import Features, fit_features
from .rounds import (
    PRINCIPAL_ROWS,
    GraphStart,
    Round,
    Start,
    Weights,
    graph_start_step,
    principal_start,
    round_step,
    run_rounds,
    start_from_directions,
    start_from_graph,
    start_step,
)
from .scaling import SCALINGS, Scaling

START_POWER = 2

# Classes, beta, lam and L of the paper's six data sets (its Tables 2 and 3).
PUBLISHED = {
    "CCV": (20, 0.1, 1e-5, 18),
    "Caltech102": (102, 1.0, 10.0, 16),
    "NUS-WIDE-OBJ": (31, 1.0, 1e-3, 16),
    "AwA": (50, 0.1, 0.03, 9),
    "Cifar-10": (10, 1e-4, 1e-4, 16),
    "YoutubeFace_sel": (31, 0.1, 0.005, 19),
}


class Passes(NamedTuple):
    """The small values of a fit, in order: what new rows are replayed through."""

    spectrum: graph.Spectrum | None
    start: Start | GraphStart
    rounds: tuple[Round, ...]


class S2MVTC(ReplayClusterer):
    """Scalable multi-view tensor clustering (Long et al., CVPR 2024).

    Minimises, with every row of B_v and B_bar z-scored and Y_v in span(F),

    ½ Σ_v ‖B_v − Phi_v U_v‖² + lam ‖U_v‖² + beta ‖B_bar − B_v‖² + a ‖B_v − Y_v‖²

    by rounds of exact block updates (eq. 9–17 of the paper), then clusters the
    rows of B_bar (eq. 18).
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
        n_graph_anchors: int = 4096,
        n_neighbors: int = 5,
        n_low: int = 16,
        min_duration: float | None = None,
        lam: float | None = None,
        beta: float = 1.0,
        max_iter: int = 1,
        smoothing: str | None = "graph",
        smoothing_growth: float = 1.0,
        consensus: bool = True,
        row_norm: str = "unit",
        periodic: bool = False,
        rank_tol: float = 1e-3,
        assign: str = "kmeans",
        n_init: int = 10,
        random_state: Any = None,
        dtype: Any = None,
        block_rows: int | None = None,
        engine: Any = "local",
        device: str | None = None,
        memory_limit: Any = None,
        verbose: bool = False,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_anchors = n_anchors
        self.anchors = anchors
        self.kernel = kernel
        self.scaling = scaling
        self.n_components = n_components
        self.n_graph_anchors = n_graph_anchors
        self.n_neighbors = n_neighbors
        self.n_low = n_low
        self.min_duration = min_duration
        self.lam = lam
        self.beta = beta
        self.max_iter = max_iter
        self.smoothing = smoothing
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
        self.verbose = verbose

    @classmethod
    def as_published(cls, data_set: str) -> Self:
        """The paper's setting for one of its six data sets, as its authors run it."""
        if data_set not in PUBLISHED:
            raise InputError(
                f"The paper has no data set named {data_set!r}; it has "
                f"{', '.join(PUBLISHED)}."
            )
        n_clusters, beta, lam, n_low = PUBLISHED[data_set]
        return cls(
            n_clusters,
            anchors="random",
            scaling=None,
            n_low=n_low,
            lam=lam,
            beta=beta,
            max_iter=7,
            smoothing="sequence",
            smoothing_growth=1.1,
            row_norm="zscore",
            periodic=True,
            rank_tol=0.0,
            assign="correlation",
        )

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
        self._check_parameters()
        views = self._begin(X)
        with progress.shown(self.verbose):
            self._settle_n_clusters(views)
            self._dtype = np.dtype(self.dtype or views.dtype)
            engine = self._open(views)
            return self._fit_engine(engine, order, groups, trace)

    def _fit_engine(self, engine: Engine, order: Any, groups: Any, trace: Any) -> Self:
        """The method on an engine's blocks: set-up passes, rounds, clustering."""
        rng = generator(self.random_state)
        m = anchor_count(self.n_anchors, engine.n_samples, self.n_clusters_)
        drawn = draw(engine, self._sample_size(m, engine.n_samples), child_seed(rng))
        scalings = choose_scalings(drawn, self.scaling, self.n_clusters_)
        anchors = choose_anchors(drawn, scalings, self.anchors, m, child_seed(rng))
        keep = engine.keeps(sum(len(a) for a in anchors) * self._dtype.itemsize)
        kernels = make_kernels(engine, self.kernel, scalings, anchors, keep=keep)
        plain = Features(scalings, kernels, keep=keep)
        kept, ridges = fit_features(engine, plain, self.lam, self.rank_tol)
        if self._uses_graph():
            spectrum = self._put_graph(engine, drawn, scalings, child_seed(rng))
            start: Start | GraphStart
            scale = spectrum.values**START_POWER
            start = GraphStart(kept, scale, self.row_norm == "zscore")
            first = start_from_graph(engine, start, ridges)
        else:
            spectrum = None
            start = principal_start(
                drawn, kept, ridges, self.n_components, child_seed(rng)
            )
            first = start_from_directions(engine, start, ridges)
        history = run_rounds(
            engine,
            first,
            ridges,
            self._weights(spectrum),
            max_iter=self.max_iter,
            sequence=self._put_sequence(engine, order, groups),
            trace=None if trace is None else check_rows(trace, engine.n_samples),
        )
        self._passes = Passes(spectrum, start, tuple(history.rounds))
        self.anchors_ = list(anchors)
        self.objective_, self.n_iter_ = history.objective, len(history.objective)
        if trace is not None:
            self.trace_ = history.trace
        return self._cluster(engine, drawn, child_seed(rng))

    def _replay(self, engine: Engine) -> None:
        """The passes of the fit that make B_bar, on other rows.

        New rows have no place in a training sequence: that term is left out.
        """
        spectrum, start, rounds = self._passes
        if spectrum is not None:
            graph.spread_basis(engine, spectrum)
        elif self.smoothing is not None:
            rounds = tuple(r._replace(smooth=None, filtered=0.0) for r in rounds)
        step = start_step if spectrum is None else graph_start_step
        engine.run(step, start, title="Start")
        for t, small in enumerate(rounds):
            plain = small._replace(keep=False, trace=None)
            engine.run(round_step, plain, title=f"Round {t + 1}")

    def _sample_size(self, n_anchors: int, n_samples: int) -> int:
        """Rows drawn once by content, for anchors, the start and the k-means starts."""
        per_anchor = ROWS_PER_ANCHOR if self.anchors == "kmeans" else 1
        wanted = max(
            n_anchors * per_anchor,
            PRINCIPAL_ROWS,
            graph.sample_size(self.n_graph_anchors, self.n_views_),
        )
        return min(n_samples, max(wanted, self.n_clusters_))

    def _weights(self, spectrum: graph.Spectrum | None) -> Weights:
        """The objective's weights; views weigh as in the graph, or all the same."""
        worth = np.ones(self.n_views_)
        if spectrum is not None:
            worth = spectrum.weights * self.n_views_
        return Weights(
            beta=float(self.beta) if self.consensus else 0.0,
            growth=float(self.smoothing_growth),
            smooths=self.smoothing is not None,
            centre=self.row_norm == "zscore",
            worth=tuple(float(w) for w in worth),
        )

    def _uses_graph(self) -> bool:
        return self.smoothing in ("graph", "graph+sequence")

    def _put_graph(
        self, engine: Engine, drawn: Draw, scalings: tuple[Scaling, ...], seed: int
    ) -> graph.Spectrum:
        """The anchor graph; gives every row its F."""
        made = graph.build_graph(
            drawn,
            scalings,
            n_samples=engine.n_samples,
            n_anchors=self.n_graph_anchors,
            n_neighbors=self.n_neighbors,
            seed=seed,
        )
        spectrum = graph.fit_spectrum(engine, made, self.n_clusters_)
        spectrum = graph.put_basis(engine, spectrum)
        self.view_weights_ = spectrum.weights
        return spectrum

    def _put_sequence(
        self, engine: Engine, order: Any, groups: Any
    ) -> smoothing.Sequence | None:
        """Give every row its F; the sequence itself when F would be too wide."""
        if self.smoothing not in ("sequence", "graph+sequence"):
            return None
        sequence = smoothing.make_sequence(
            engine.n_samples,
            order=order,
            groups=groups,
            n_low=self.n_low,
            min_duration=self.min_duration,
            periodic=self.periodic,
        )
        if self.smoothing == "graph+sequence":
            smoothing.put_filtered(engine, sequence)
            return None
        if sequence.n_vectors > smoothing.MOST_BASIS_VECTORS:
            return sequence
        smoothing.put_basis(engine, sequence)
        return None

    def _cluster(self, engine: Engine, drawn: Draw, seed: int) -> Self:
        """The D, G problem of eq. (18) on the rows of B_bar."""
        self.embedding_ = engine.read("B_bar")
        if self.assign == "correlation":
            rows = drawn.rows[: self.n_clusters_]
            found = assign.correlation_kmeans(engine, rows)
        else:
            sample = assign.pick(engine, "B_bar", drawn.rows)
            found = assign.kmeans(
                engine, self.n_clusters_, sample, n_init=self.n_init, seed=seed
            )
        self._centres = found.centres
        self._finish(found.labels)
        spectrum, start, _ = self._passes
        weights = np.ones(self.n_views_) if spectrum is None else spectrum.weights
        self._weigh_views(engine, drawn, start.features.scalings, weights)
        return self

    def _check_parameters(self) -> None:
        check_choice(self.kernel, "kernel", ("rbf", "linear"))
        kinds = ("graph", "sequence", "graph+sequence", None)
        check_choice(self.smoothing, "smoothing", kinds)
        check_choice(self.row_norm, "row_norm", ("unit", "zscore"))
        check_choice(self.assign, "assign", ("kmeans", "correlation"))
        check_choice(self.scaling, "scaling", SCALINGS)
        if isinstance(self.anchors, str):
            check_choice(self.anchors, "anchors", ("kmeans", "random"))
        for name in (
            *("n_anchors", "n_graph_anchors", "n_neighbors", "n_components"),
            *("n_low", "max_iter", "n_init"),
        ):
            check_count(getattr(self, name), name)
        if self.block_rows is not None:
            check_count(self.block_rows, "block_rows")
        check_dtype(self.dtype)
        for name in ("beta", "smoothing_growth", "rank_tol"):
            check_number(getattr(self, name), name)
        for name in ("lam", "min_duration"):
            if getattr(self, name) is not None:
                check_number(getattr(self, name), name)
