"""From an embedding to labels, as most of the compared methods do it.

Their papers report the best k-means run by the known labels; here the run of lowest
inertia counts.
"""

from typing import Literal

import numpy as np
from sklearn.cluster import KMeans

from manyview.arrays.ops import unit_rows
from manyview.base import FloatArray, IntArray
from manyview.kmeans.passes import quiet_fit
from manyview.views.arguments import child_seed

# Whose choices a method follows where this library's own are better ones.
Protocol = Literal["manyview", "authors"]
# As in the k-means of the authors' programs.
MAX_ITER = 100


def singular_rows(Z: FloatArray) -> FloatArray:
    """Unit rows (n_samples, rank) of the left singular vectors of Z (n_samples, m).

    Directions whose singular value is rounding are left out: they are noise.
    """
    U, s, _ = np.linalg.svd(Z, full_matrices=False)
    rounding = max(Z.shape) * np.finfo(Z.dtype).eps * s[0]
    return np.asarray(unit_rows(U[:, : max(1, np.count_nonzero(s > rounding))]))


def cluster_rows(
    E: FloatArray,
    n_clusters: int,
    n_init: int,
    rng: np.random.Generator,
    protocol: Protocol = "manyview",
) -> IntArray:
    """Labels (n_samples,) of the k-means run of lowest inertia among `n_init`.

    "manyview" starts from rows far from each other (k-means++), "authors" from any
    rows and stops when no label changes, as the authors' programs do.
    """
    how = {"init": "random", "tol": 0.0} if protocol == "authors" else {}
    search = KMeans(
        n_clusters,
        n_init=n_init,
        max_iter=MAX_ITER,
        random_state=child_seed(rng),
        **how,
    )
    return np.asarray(quiet_fit(search, E).labels_)
