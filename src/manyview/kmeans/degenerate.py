"""Partitions that tell nearly nothing, in words."""

from typing import Any

import numpy as np

# Of all rows in one cluster: then hardly anything was found.
GIANT_SHARE = 0.99


def degenerate(labels: np.ndarray[Any, Any], n_clusters: int) -> str | None:
    """What is wrong with the clusters as such, if anything is."""
    counts = np.bincount(labels)
    n_samples, found = len(labels), int(np.count_nonzero(counts))
    if n_clusters > 1 < n_samples and counts.max() > GIANT_SHARE * n_samples:
        return (
            f"put {counts.max()} of {n_samples} rows into one cluster. Are the rows "
            "nearly all alike? Else one feature or view may outweigh the others: try "
            "another scaling, or another method."
        )
    if found < n_clusters:
        return (
            f"found {found} of the {n_clusters} clusters it was asked for; the others "
            "are empty. Ask for fewer clusters or try another method; rows that are "
            "the same are never parted."
        )
    return None
