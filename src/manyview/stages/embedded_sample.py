"""A sample of rows in the embedding of the anchor graph, to try partitions on."""

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from manyview.arrays.ops import Matrix, to_host, unit_rows
from manyview.engine.contract import Engine
from manyview.engine.local import open_engine
from manyview.kmeans.passes import quiet_fit
from manyview.stages.anchor_graph import Spectrum, fit_graph, sample_size, spread_basis
from manyview.stages.sampling import choose_scalings, draw
from manyview.views.arguments import child_seed, generator
from manyview.views.views import Views

# Rows that are looked at: three graphs and two dozen partitions in seconds.
SAMPLE_ROWS = 3000
# Of the graph, and starts of k-means: half and less of a fit's, for speed.
N_ANCHORS = 2048
N_NEIGHBORS = 5
N_INIT = 3


def sample_rows(engine: Engine, seed: int) -> Views:
    """Rows drawn by content, in memory."""
    block = draw(engine, min(SAMPLE_ROWS, engine.n_samples), seed).block
    return Views(
        [x if hasattr(x, "indptr") else to_host(x) for x in block.views],
        present=to_host(block.present),
    )


def _spectrum(
    engine: Engine, n_clusters: int, scaling: Any, seed: int, n_anchors: int
) -> Spectrum:
    """The graph's vectors, as `AnchorSpectral` finds them."""
    rng = generator(seed)
    size = min(sample_size(n_anchors, len(engine.view_order)), engine.n_samples)
    drawn = draw(engine, size, child_seed(rng))
    scalings = choose_scalings(drawn, scaling, n_clusters)
    seeds = [child_seed(rng) for _ in range(3)]
    return fit_graph(
        engine,
        drawn.without_empty_rows(scalings),
        scalings,
        n_clusters=n_clusters,
        n_anchors=n_anchors,
        n_neighbors=N_NEIGHBORS,
        seed=seeds[1],
    )


class EmbeddedSample:
    """The sample in the vectors of the graph of a part of it."""

    def __init__(
        self,
        part: Views,
        most: int,
        scaling: Any,
        seed: int,
        sample: Views,
        n_anchors: int,
    ) -> None:
        engine = open_engine(part, part.dtype)
        most = min(most, len(part))
        spectrum = _spectrum(engine, most, scaling, seed, n_anchors)
        other = open_engine(sample, part.dtype, view_order=engine.view_order)
        spread_basis(other, spectrum)
        self.values, self._F = spectrum.values, to_host(other.read("F"))

    def rows(self, k: int) -> Matrix:
        """Unit rows of the k smoothest vectors."""
        r = min(k, self._F.shape[1])
        return np.asarray(unit_rows(self._F[:, :r] * self.values[:r] ** 2))

    def cluster(self, k: int, seed: int) -> Matrix:
        """Clusters of the sample's rows."""
        search = KMeans(k, n_init=N_INIT, random_state=seed)
        return np.asarray(quiet_fit(search, self.rows(k)).labels_)
