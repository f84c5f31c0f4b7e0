"""scikit-learn's k-means without its warning on repeated rows."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits

FEW_ENTRIES = 10**6


def quiet_fit(search: KMeans, rows: Any) -> KMeans:
    """Fit the search; fewer distinct rows than clusters is valid data here.

    A small search runs on one thread: waking the others for every step takes
    longer than the step, the more so the more cores there are.
    """
    few = rows.shape[0] * rows.shape[1] <= FEW_ENTRIES
    with (
        warnings.catch_warnings(),
        threadpool_limits(1 if few else None, user_api="openmp"),
    ):
        warnings.simplefilter("ignore", ConvergenceWarning)
        return search.fit(rows)
