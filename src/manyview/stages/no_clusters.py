"""The criteria of a number of clusters against rows without any.

Halves of a sample agree on pieces of a cloud as well, the more so the longer it is
stretched. So the same criteria are taken on clouds with the covariance of all views
together: they have the stretch of the sample and the relations between its views, and
no clusters. One shape of cloud is normal, the other evenly filled along the principal
directions, as in the gap statistic (Tibshirani, Walther and Hastie, 2001).
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from manyview.arrays.ops import Matrix, to_host, unit_rows
from manyview.engine.local import open_engine
from manyview.stages.cluster_criteria import measure_criteria
from manyview.stages.sampling import choose_scalings, draw
from manyview.stages.scaling import apply_scaling
from manyview.views.views import Views

SHAPES = ("normal", "uniform")
# Clouds of either shape that stand for chance, and rows of each: seconds. Three of two
# shapes give the spread of their scores well enough for three standard deviations.
N_CLOUDS = 3
CLOUD_ROWS = 1000
ROWS_PER_CLUSTER = 4
# Anchors of their graphs: a quarter of what the numbers are compared by, for time.
CLOUD_ANCHORS = 512
# Scores of six clouds may lie closer together by chance than they do.
LEAST_SPREAD = 0.02


class Cloud:
    """A distribution as wide as the sample, in the sample's preparation."""

    def __init__(self, sample: Views, scaling: Any, n_clusters: int) -> None:
        order = range(sample.n_views)
        engine = open_engine(sample, np.dtype(np.float64), view_order=order)
        drawn = draw(engine, len(sample), 0)
        scalings = choose_scalings(drawn, scaling, n_clusters)
        block = drawn.without_empty_rows(scalings).block
        self.present = to_host(block.present)
        self.unit = [own.unit for own in scalings]
        self.means, self.centred = [], []
        for v, own in enumerate(scalings):
            x = _coordinates(apply_scaling(block.views[v], own))
            there = self.present[:, v, None]
            count = max(int(there.sum()), 1)
            self.means.append(np.sum(x * there, axis=0) / count)
            away = np.where(there, x - self.means[v], 0.0)
            self.centred.append(away / np.sqrt(count))
        # Principal directions of all views together, as combinations of the rows.
        self.turn = np.linalg.eigh(sum(c @ c.T for c in self.centred))[1].T

    def rows(self, shape: str, seed: int) -> Views:
        """As many rows as the sample has, of its covariance in all views at once."""
        rng, size = np.random.default_rng(seed), self.turn.shape
        scores = rng.standard_normal(size)
        if shape == "uniform":
            scores = np.sqrt(3.0) * rng.uniform(-1.0, 1.0, size)
        weights = scores @ self.turn
        arrays = [
            weights @ c + m for c, m in zip(self.centred, self.means, strict=True)
        ]
        parts = zip(arrays, self.unit, strict=True)
        arrays = [unit_rows(x) if unit else x for x, unit in parts]
        return Views(arrays, present=self.present)


def _coordinates(x: Any) -> Matrix:
    """The rows, wide ones turned into as many columns as there are rows."""
    n_rows, width = x.shape
    if width <= n_rows:
        return np.asarray(x.toarray() if sp.issparse(x) else to_host(x), np.float64)
    products = x @ x.T
    products = products.toarray() if sp.issparse(products) else to_host(products)
    values, vectors = np.linalg.eigh(np.asarray(products, np.float64))
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def beyond_chance(sample: Views, n_clusters: int, scaling: Any, seed: int) -> float:
    """How far the criteria lie above those of clouds, in standard deviations."""
    some = sample[: max(CLOUD_ROWS, ROWS_PER_CLUSTER * n_clusters)]
    own = _total(some, n_clusters, scaling, seed)
    cloud = Cloud(some, scaling, n_clusters)
    scores = np.array([
        [_total(cloud.rows(shape, seed + i), n_clusters, None, seed)
         for i in range(N_CLOUDS)]
        for shape in SHAPES
    ])  # fmt: skip
    variance = float(scores.var(axis=1, ddof=1).mean())
    spread = max(np.sqrt(variance), LEAST_SPREAD)
    return float((own - scores.mean(axis=1).max()) / spread)


def _total(sample: Views, n_clusters: int, scaling: Any, seed: int) -> float:
    found = measure_criteria(sample, [n_clusters], scaling, seed, CLOUD_ANCHORS)
    return float(sum(criterion[0] for criterion in found))
