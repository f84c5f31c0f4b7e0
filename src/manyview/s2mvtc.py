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

from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Any, ClassVar, Self, cast

import numpy as np

from manyview.arrays.ops import Matrix
from manyview.base import PassClusterer
from manyview.engine.contract import NO_CHECKPOINT, Engine, NoCheckpoint, sizes
from manyview.engine.threads import Background
from manyview.kmeans.nodes import Nodes, keep_labels
from manyview.kmeans.passes import (
    ROWS_PER_ANCHOR,
    Centres,
    Clustering,
    kmeans,
    partitions,
)
from manyview.predicting import GrowsByPieces
from manyview.running import progress
from manyview.running.callbacks import with_callbacks
from manyview.sequence_s2mvtc import SequenceS2MVTC
from manyview.stages.anchor_graph import (
    Graph,
    build_graph,
    fit_spectrum,
    frequency_weights,
    put_basis,
    sample_size,
)
from manyview.stages.anchors import (
    Features,
    anchor_count,
    choose_anchors,
    fit_features,
    plain_features,
    sum_grams,
)
from manyview.stages.cluster_sizes import Sizes, check_told
from manyview.stages.communities import Sought
from manyview.stages.costs import Cost, rounds_cost
from manyview.stages.held_out import see_all
from manyview.stages.knowledge import Knowledge
from manyview.stages.priced_clusters import hold_sizes
from manyview.stages.refining import SomeRows, refine_clusters
from manyview.stages.ridge import choose_weights
from manyview.stages.rounds import (
    GraphStart,
    History,
    Weights,
    round_step,
    run_rounds,
    start_from_graph,
)
from manyview.stages.sampling import Draw
from manyview.stages.setup import NO_CONFLICTS, Setup, enter
from manyview.stages.steering import steer_clusters, steer_communities
from manyview.stages.tracing import caller_trace, trace_rows
from manyview.views.arguments import check_anchors, check_number

# Directions of Phi whose shrinkage s/(s+lam) is below may be dropped: a thousandth
# changes no label (a cut by eigenvalue alone does).
RANK_TOL = 1e-3


@dataclass(eq=False, repr=False)
class S2MVTC(GrowsByPieces, PassClusterer):
    """Scalable multi-view tensor clustering (Long et al., CVPR 2024), in any row order.

    Minimises, with the rows of B_v and B_bar of one length and Y_v in span(F),

    ½ Σ_v w_v ( ‖B_v − Phi_v U_v‖² + lam ‖U_v‖² + beta ‖B_bar − B_v‖² + a ‖B_v − Y_v‖² )

    by rounds of exact block updates (eq. 9–17 of the paper), then clusters the rows
    of B_bar (eq. 18) and refines that by exact neighbours of some and fits to these.
    Up to 8,192 rows clusters follow all rows' neighbours and fits instead, from
    communities of their graph or k-means on F. F are the smoothest vectors of the
    multi-view anchor graph, so the order of rows and views plays no part.
    `SequenceS2MVTC` smooths along an order; `as_published` gives the paper's setting.

    Parameters
    ----------
    n_clusters : int or "auto"
        How many clusters to find; "auto" asks `choose_n_clusters`.
    n_anchors : int, optional
        Anchors per view of the features Phi, at most; default 500, fewer on small
        data.
    anchors : {"kmeans", "random"} or list of arrays (m, n_features_v)
        How anchors are found, or the anchors themselves in input units, in the
        order of the views.
    scaling : {"auto", "standard", "global", "cosine", "unit", "root", None}
        Preparation of the views; "auto" tells counts, histograms, principal
        components and other features apart by shares that no rescaling changes.
        Where rows are brought to unit length, a row of zeros lacks the view.
    n_graph_anchors : int
        Anchors of the graph over all views and draws together, at most; two a view.
    n_neighbors : int
        Anchors a row is tied to in the graph, in each view and draw.
    lam : float, optional
        Ridge weight of the fits; default the one of a few that predicts the graph's
        vectors best, view by view (generalised cross-validation), and the views
        then weigh by how much of these they explain.
    beta : float
        Weight of the consensus; 0 leaves it out.
    smoothing_weight : float
        The weight a of the smoothing over the graph; 0 leaves it out.
    max_iter : int
        Number of rounds.
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
        What the process may hold, such as "2GB" (on a GPU: of its memory); rows'
        state beyond it goes to scratch files.
    checkpoint : path, optional
        A folder to keep the work in: a fit that was stopped resumes there.
    verbose : bool
        Show progress.

    Attributes
    ----------
    labels_ : array (n_samples,)
    embedding_ : array (n_samples, k)
        The consensus embedding B_bar; of many rows that the views' discriminants
        tell apart better, their scores of every cluster.
    anchors_ : list of arrays (m, n_features_v)
        Anchors of the features, prepared like their view.
    objective_ : list of float
        The objective at the end of every round.
    n_iter_ : int
    view_weights_ : array (n_views,)
        The views' weights w_v in the graph, from its own spectral gap.
    view_influence_, cluster_influence_ : arrays (n_views,), (n_clusters, n_views)
        How much each view shaped the clusters, overall and one by one.
    trace_ : list of dict
        B_v, Y_v and B_bar of the rows asked for, per round.
    conflicts_ : array of row numbers
        Rows that something was known of and that the data would place elsewhere.

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
    kernel: ClassVar[str] = "rbf"
    usual_anchors: ClassVar[int | None] = None  # as many as the rows need

    _: KW_ONLY
    n_anchors: int | None = None
    anchors: Any = "kmeans"
    n_graph_anchors: int = 4096
    n_neighbors: int = 5
    lam: float | None = None
    beta: float = 0.1
    smoothing_weight: float = 0.1
    max_iter: int = 1

    @classmethod
    def as_published(cls, data_set: str) -> SequenceS2MVTC:
        """The paper's setting for one of its six data sets, as its authors run it."""
        return SequenceS2MVTC.as_published(data_set)

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        must_link: Any = None,
        cannot_link: Any = None,
        partial_labels: Any = None,
        cluster_sizes: str | None = None,
        min_cluster_size: int | None = None,
        trace: Any = None,
    ) -> Self:
        """Cluster the rows of the views, and keep to what is known of them.

        Parameters
        ----------
        X : list or dict of arrays, Views, or one array (n_samples, n_features)
        y : ignored
        must_link, cannot_link : arrays (m, 2) of row numbers, optional
            Pairs of rows that share a cluster; pairs that do not.
        partial_labels : array (n_samples,) of int, optional
            The cluster of every row, 0 … n_clusters − 1, where it is known; else −1.
        cluster_sizes, min_cluster_size : "equal"; int, optional
            Clusters of n_samples / n_clusters rows, up to one; none of fewer rows.
        trace : array of row numbers, optional
            Keep B_v, Y_v and B_bar of these rows for every round in `trace_`.
        """
        self._check_settings()
        views = self._views_to_fit(X, y)
        given, known = (must_link, cannot_link, partial_labels), None
        stated = (cluster_sizes, min_cluster_size)
        if any(part is not None for part in (*given, *stated)):
            known = check_told(given, stated, views, self.n_clusters)
        with self._engine_for(views) as engine, self._meanwhile(views) as background:
            told = known and known.told()
            saved = self._open_checkpoint(trace=trace, links_and_labels_or_sizes=told)
            self._settle_n_clusters(engine, saved)
            m = anchor_count(self.n_anchors, engine.n_samples, self.n_clusters_)
            drawn, scalings, seeds = self._draw(engine, self._sample_size(m), saved)
            setup, some = saved.load("setup"), None
            if setup is None:
                how = (scalings, m, background, seeds, known)
                setup, some = self._prepare(engine, drawn, *how)
                drawn = drawn.without_most_rows()
                saved.save("setup", setup)
            else:
                enter(engine, setup.spectrum, setup.start)
            rows = None if trace is None else trace_rows(engine, trace)
            with progress.finish_the_round():
                history = self._run_rounds(engine, setup, trace=rows, saved=saved)
                if len(history.objective) < self.max_iter:
                    saved = NO_CHECKPOINT  # centres of a part are no step of the whole
                of = (setup, seeds[2], saved, known, some)
                found, nodes = self._partition(engine, drawn, *of, history)
                self._store_rounds(engine, drawn, setup, history, found, nodes)
                if rows is not None:
                    self.trace_ = caller_trace(history.trace, engine, trace)
        return self

    def _check_settings(self) -> None:
        self._check_counts("n_graph_anchors", "n_neighbors", "max_iter")
        check_anchors(self.n_anchors, self.anchors)
        for name in ("beta", "smoothing_weight"):
            check_number(getattr(self, name), name)
        if self.lam is not None:
            check_number(self.lam, "lam")

    def _sample_size(self, n_anchors: int) -> int:
        """Rows drawn once by content, for anchors and the k-means starts."""
        per_anchor = ROWS_PER_ANCHOR if self.anchors == "kmeans" else 1
        graph_rows = sample_size(self.n_graph_anchors, self.n_views_)
        return max(n_anchors * per_anchor, graph_rows, self.n_clusters_)

    def _prepare(
        self, engine: Engine, drawn: Draw, scalings: Any, m: int, *how: Any
    ) -> tuple[Setup, SomeRows | None]:
        """Anchors of features and graph, and all that follows; few rows' neighbours."""
        (background, seeds, _), products = how, dict[int, Matrix]()
        few, of_rows = engine.n_samples <= sizes.exact_rows, (drawn, scalings)
        sought = Sought(background, *of_rows, self.n_clusters_) if few else None
        search = (m, seeds[0], engine.view_order, products)
        anchors = choose_anchors(drawn, scalings, self.anchors, *search)
        rows = (engine, drawn, scalings, anchors)
        rich: dict[str, Any] = {"lam": self.lam, "n_rounds": self.max_iter}
        features = plain_features(*rows, kernel=self.kernel, **rich)
        more: Any = {"n_samples": engine.n_samples, "n_clusters": self.n_clusters_}
        more |= {"n_anchors": self.n_graph_anchors, "n_neighbors": self.n_neighbors}
        graph = build_graph(*of_rows, **more, seed=seeds[1], products=products)
        drawn = drawn if few else drawn.without_most_rows()
        return self._set_up(engine, drawn, features, graph, sought, *how)

    def _set_up(
        self,
        engine: Engine,
        drawn: Draw,
        plain: Features,
        graph: Graph,
        sought: Sought | None,
        background: Background,
        seeds: list[int],
        known: Knowledge | Sizes | None,
    ) -> tuple[Setup, SomeRows | None]:
        """Ridges, the graph's vectors, and the start of the rounds from these."""
        grams = sum_grams(engine, plain)
        features, ridges = fit_features(plain, grams, self.lam, RANK_TOL)
        weigh = some = None
        if sought is not None:
            seed = None if isinstance(known, Knowledge) else seeds[2]
            sought.hear(see_all(engine, drawn, features, ridges), seed)
            weigh = sought.weigh
        else:
            of_these = (drawn, features, self.n_clusters_, known)
            some = SomeRows(background, engine, *of_these)
        spectrum = fit_spectrum(engine, graph, self.n_clusters_, weigh)
        spectrum = put_basis(engine, spectrum)
        scale = frequency_weights(spectrum.values, self.n_clusters_)
        start = GraphStart(features, scale, centre=False)
        first, targets = start_from_graph(engine, start, ridges)
        explained = np.ones(self.n_views_)
        if self.lam is None:
            ridges, explained = choose_weights(ridges, targets)
        strange, how = NO_CONFLICTS, {"n_init": self.n_init, "seed": seeds[2]}
        # The graph's own partitions of the drawn rows: of many, the rounds refine one.
        others = partitions(engine, self.n_clusters_, drawn.rows, **how)
        found = others[0]
        if sought is not None and isinstance(known, Knowledge):
            rows = (drawn, (sought.graph(), sought.columns()), self.n_clusters_)
            found, strange = steer_communities(*rows, seeds[2], others, known)
        elif sought is not None:
            found = sought.communities(others, cast(Sizes | None, known))
        anchors = tuple(kernel.anchors for kernel in features.kernels)
        of = (anchors, ridges, spectrum, start, first, found, explained, strange)
        return Setup(*of), some

    def _run_rounds(self, engine: Engine, setup: Setup, **how: Any) -> History:
        of = (setup.start.features, setup.ridges, self._weights(setup), setup.first)
        return run_rounds(engine, *of, max_iter=self.max_iter, **how)

    def _partition(
        self,
        engine: Engine,
        drawn: Draw,
        setup: Setup,
        seed: int,
        saved: NoCheckpoint,
        known: Knowledge | Sizes | None,
        some: SomeRows | None,
        history: History,
    ) -> tuple[Clustering, Nodes | Centres | None]:
        """The clusters: communities of few rows; of many, k-means' refined ones.

        Those may take one more round, which the history then knows.
        """
        first = setup.partition
        assert first is not None
        if engine.n_samples <= sizes.exact_rows:
            self.conflicts_ = setup.conflicts
            return keep_labels(engine, drawn.rows, first, self.n_clusters_)
        rows = (engine, self.n_clusters_, drawn.rows)
        found = kmeans(*rows, n_init=self.n_init, seed=seed, first=first, saved=saved)
        self.conflicts_ = NO_CONFLICTS
        how = (engine, drawn, setup.start.features, self.n_clusters_, known)
        some = some or SomeRows(cache, *how)
        weights = setup.spectrum.weights
        found, scores, last = refine_clusters(engine, some, weights, found)
        if isinstance(known, Sizes):
            return hold_sizes(engine, drawn.rows, found, scores, known)
        history.rounds.extend([] if last is None else [last])
        if known is None:
            return found, scores
        steered = steer_clusters(engine, drawn.rows, found, self.n_clusters_, known)
        found, nodes, self.conflicts_ = steered
        return found, scores if nodes is None else nodes

    def _weights(self, setup: Setup) -> Weights:
        """Views weigh as in the graph, times what they explain of its vectors."""
        of_views = setup.spectrum.weights * setup.explained
        of_views = of_views * (self.n_views_ / of_views.sum())
        how: Any = {"beta": float(self.beta), "smooth": float(self.smoothing_weight)}
        how |= {"growth": 1.0, "centre": False, "by_length": self.lam is None}
        return Weights(of_views=tuple(float(w) for w in of_views), **how)

    def _cost(self, n_samples: int, n_features: tuple[int, ...], itemsize: int) -> Cost:
        few = n_samples <= sizes.exact_rows
        how: Any = {"n_rounds": self.max_iter, "communities": few, "refined": not few}
        return rounds_cost(n_samples, n_features, itemsize, self, graph=True, **how)

    def _replay(self, engine: Engine) -> None:
        """The passes of the fit that make B_bar, on other rows."""
        enter(engine, self._passes.spectrum, self._passes.start)
        for t, shared in enumerate(self._passes.rounds):
            plain = shared._replace(keep=False, trace=None, sums="nobody")
            engine.run(round_step, plain, title=f"Round {t + 1}")
