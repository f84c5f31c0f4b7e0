"""scikit-learn's k-means without its warning on repeated rows."""

from __future__ import annotations

import warnings
from typing import Any

from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning


def quiet_fit(search: KMeans, rows: Any) -> KMeans:
    """Fit the search; fewer distinct rows than clusters is valid data here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return search.fit(rows)
