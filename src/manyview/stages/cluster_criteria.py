"""Three criteria of a number of clusters, taken on a sample of rows."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score, silhouette_score

from manyview.arrays.ops import Matrix
from manyview.stages.embedded_sample import N_ANCHORS, EmbeddedSample
from manyview.views.views import Views

# Rows of the silhouette, all against all.
SILHOUETTE_ROWS = 1000


class Criteria(NamedTuple):
    """Of every number of clusters; larger is better, 1 is best."""

    gap: Matrix
    stability: Matrix
    silhouette: Matrix


def measure_criteria(
    sample: Views,
    counts: Sequence[int],
    scaling: Any,
    seed: int,
    n_anchors: int = N_ANCHORS,
) -> Criteria:
    """The criteria of every count, from the graphs of the sample and of its halves."""
    parts = (sample, sample[0::2], sample[1::2])
    embeddings = [
        EmbeddedSample(part, max(counts), scaling, seed, sample, n_anchors)
        for part in parts
    ]
    gap = np.array([spectral_gap(embeddings[0].values ** 2, k) for k in counts])
    stability, silhouette = np.zeros(len(counts)), np.zeros(len(counts))
    for i, k in enumerate(counts):
        whole, first, second = (e.cluster(k, seed) for e in embeddings)
        stability[i] = adjusted_rand_score(first, second)
        silhouette[i] = _silhouette(embeddings[0].rows(k), whole)
    return Criteria(gap, stability, silhouette)


def spectral_gap(values: Matrix, k: int) -> float:
    """1 − mean_{1<j≤k} (1 − σ_j²) / (1 − σ²_{k+1}), never below 0."""
    gaps = np.ones(k + 1)
    gaps[: min(values.size, k + 1)] = np.maximum(1.0 - values[: k + 1], 0.0)
    return max(float(1.0 - gaps[1:k].mean() / max(float(gaps[k]), 1e-9)), 0.0)


def _silhouette(rows: Matrix, labels: Matrix) -> float:
    """Mean silhouette of the first rows, which the draw has mixed; never below 0."""
    rows, labels = rows[:SILHOUETTE_ROWS], labels[:SILHOUETTE_ROWS]
    if not 1 < len(np.unique(labels)) < len(rows):
        return 0.0
    return max(float(silhouette_score(rows, labels)), 0.0)
