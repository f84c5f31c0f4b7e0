"""From the name of a method in a run to an estimator."""

from typing import Any

from manyview.base import MultiViewClusterer
from manyview.methods import all_methods, find_method
from manyview.sequence_s2mvtc import SequenceS2MVTC
from manyview.stages.sequence_settings import PUBLISHED as PAPER

# The method as its authors run it, beside the package's own default.
PUBLISHED = "S2MVTC as published"
ORACLE = "Best single view (oracle)"
REFERENCE = "ConcatKMeans"
ALONG_AN_ORDER = SequenceS2MVTC.__name__


def method_names() -> list[str]:
    """Every installed method for rows in any order by name, the reference first."""
    found = (m for m in all_methods() if m.is_installed)
    names = [m.name for m in found if m.name != ALONG_AN_ORDER]
    return sorted(names, key=lambda n: (n != REFERENCE, n.startswith("S2MVTC")))


def build(
    method: str, setting: dict[str, Any], n_clusters: int, seed: int, data: str
) -> MultiViewClusterer:
    """The estimator; `PUBLISHED` takes CCV's setting where the paper has none."""
    if method == PUBLISHED:
        model = SequenceS2MVTC.as_published(data if data in PAPER else "CCV")
        model.set_params(n_clusters=n_clusters, random_state=seed, **setting)
        return model
    estimator = find_method(method).estimator
    return estimator(n_clusters, random_state=seed, **setting)
