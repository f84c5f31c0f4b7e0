"""`AnchorSpectral`: the multi-view anchor graph, embedded without rounds.

The toughest honest rival of S²MVTC's rounds, and useful by itself: the same
scaling, graph, draws and k-means, nothing else.
"""

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

from manyview.arrays.ops import Matrix, cast, unit_rows
from manyview.base import PassClusterer
from manyview.engine.contract import Engine, Result, State, touches
from manyview.engine.plan import Need
from manyview.kmeans.passes import FIELD, kmeans
from manyview.predicting import GrowsByPieces
from manyview.running.callbacks import with_callbacks
from manyview.stages.anchor_graph import (
    fit_graph,
    frequency_weights,
    sample_size,
    spread_basis,
)
from manyview.stages.cluster_sizes import check_sizes
from manyview.stages.costs import Cost, graph_cost
from manyview.stages.priced_clusters import hold_sizes
from manyview.views.views import Block


@touches(reads=["F"], writes=[FIELD])
def embed_step(block: Block, state: State, shared: Matrix) -> Result:
    """Unit rows of F, its columns weighted by their frequencies."""
    return Result(state={FIELD: unit_rows(state["F"] * cast(shared, state["F"]))})


@dataclass(eq=False, repr=False)
class AnchorSpectral(GrowsByPieces, PassClusterer):
    """Spectral clustering of the multi-view anchor graph.

    Clusters the unit rows of F exp(−Λ/λ), where F (n_samples, 2 n_clusters) are
    the smoothest vectors of the graph that ties every row to its nearest anchors
    in each view, Λ their frequencies and λ the first one beyond n_clusters.

    Parameters
    ----------
    n_clusters : int or "auto"
        How many clusters to find; "auto" asks `choose_n_clusters`.
    n_graph_anchors : int
        Anchors of all views and draws together, at most; at least two a view.
    n_neighbors : int
        Anchors a row is tied to, in each view and draw.
    scaling : {"auto", "standard", "global", "cosine", "unit", "root", None}
        Preparation of the views; "auto" chooses per view from the data's shares.
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
    labels_ : array (n_samples,)
    embedding_ : array (n_samples, 2 n_clusters)
    view_weights_ : array (n_views,)

    Examples
    --------
    >>> import numpy as np
    >>> from manyview import AnchorSpectral
    >>> x = np.repeat([[0.0, 0.0], [9.0, 1.0]], 30, axis=0)
    >>> x += np.random.default_rng(0).normal(size=x.shape)
    >>> labels = AnchorSpectral(2, random_state=0).fit_predict([x, x**2])
    >>> sorted(np.bincount(labels).tolist())
    [30, 30]
    """

    citation: ClassVar[str] = (
        "Liu, He, Chang: Large graph construction for scalable semi-supervised "
        "learning. ICML 2010 (anchor graphs); joined over views and draws here."
    )

    _: KW_ONLY
    n_graph_anchors: int = 4096
    n_neighbors: int = 5

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        cluster_sizes: str | None = None,
        min_cluster_size: int | None = None,
    ) -> Self:
        """Cluster the rows of the views; `y` is ignored, sizes as in `S2MVTC`."""
        self._check_counts("n_graph_anchors", "n_neighbors")
        views, wanted = self._views_to_fit(X, y), None
        stated = (cluster_sizes, min_cluster_size)
        if any(part is not None for part in stated):
            wanted = check_sizes(*stated, len(views), self.n_clusters)
        with self._engine_for(views) as engine:
            saved = self._open_checkpoint(sizes=wanted and wanted.told())
            self._settle_n_clusters(engine, saved)
            size = sample_size(self.n_graph_anchors, self.n_views_)
            # As many seeds as S2MVTC draws: its rounds start from this very graph
            # and partition.
            drawn, scalings, seeds = self._draw(engine, size, saved)
            spectrum = saved.load("setup")
            if spectrum is None:
                spectrum = fit_graph(
                    engine,
                    drawn,
                    scalings,
                    n_clusters=self.n_clusters_,
                    n_anchors=self.n_graph_anchors,
                    n_neighbors=self.n_neighbors,
                    seed=seeds[1],
                )
                saved.save("setup", spectrum)
            else:
                spread_basis(engine, spectrum)
            scale = frequency_weights(spectrum.values, self.n_clusters_)
            engine.run(embed_step, scale, title="Embedding", views=False)
            found = kmeans(
                engine,
                self.n_clusters_,
                drawn.rows,
                n_init=self.n_init,
                seed=seeds[2],
                saved=saved,
            )
            scores = None
            if wanted is not None:
                found, scores = hold_sizes(engine, drawn.rows, found, None, wanted)
            self._store_fit(engine, drawn, scalings, found, spectrum, nodes=scores)
        return self

    def _cost(self, n_samples: int, n_features: tuple[int, ...], itemsize: int) -> Cost:
        cost = graph_cost(n_samples, n_features, itemsize, self)
        other = Need("embedding", cost.needs[0].bytes_per_row)
        return cost._replace(needs=[*cost.needs, other])

    def _replay(self, engine: Engine) -> None:
        """The passes of the fit that make the embedding, on other rows."""
        spectrum = self._passes.spectrum
        spread_basis(engine, spectrum)
        shared = frequency_weights(spectrum.values, self.n_clusters_)
        engine.run(embed_step, shared, title="Embedding", views=False)
