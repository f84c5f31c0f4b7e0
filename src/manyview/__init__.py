"""Large-scale multi-view clustering: several feature sets per object, one partition.

>>> import numpy as np
>>> from manyview import S2MVTC
>>> rng = np.random.default_rng(0)
>>> group = np.repeat([0.0, 5.0], 20)[:, None]
>>> views = [group + rng.normal(size=(40, 3)), group + rng.normal(size=(40, 2))]
>>> S2MVTC(n_clusters=2, random_state=0).fit(views).labels_.shape
(40,)
"""

from importlib import import_module
from importlib.metadata import PackageNotFoundError as _PackageNotFoundError
from importlib.metadata import version as _version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from manyview.anchor_spectral import AnchorSpectral
    from manyview.errors import ManyviewError, OrderWarning
    from manyview.files.model_file import load
    from manyview.methods import all_methods
    from manyview.order_audit import audit_order
    from manyview.s2mvtc import S2MVTC
    from manyview.selection import choose_n_clusters
    from manyview.views.containers import cluster_mudata
    from manyview.views.views import Views

try:
    __version__ = _version("manyview")
except _PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"

# Where each public name lives; nothing is imported before it is used.
_HOMES = {
    "AnchorSpectral": "anchor_spectral",
    "ManyviewError": "errors",
    "OrderWarning": "errors",
    "S2MVTC": "s2mvtc",
    "Views": "views",
    "all_methods": "methods",
    "audit_order": "order_audit",
    "choose_n_clusters": "selection",
    "cluster_mudata": "views.containers",
    "load": "files.model_file",
}
_PARTS = {
    **{name: name for name in ("baselines", "checks", "datasets", "errors", "explain")},
    **{name: name for name in ("metrics", "report", "selection")},
    "containers": "views.containers",
    "plot": "present.plot",
}

__all__ = [
    "S2MVTC",
    "AnchorSpectral",
    "ManyviewError",
    "OrderWarning",
    "Views",
    "__version__",
    "all_methods",
    "audit_order",
    "choose_n_clusters",
    "cluster_mudata",
    "load",
]


def __getattr__(name: str) -> Any:
    if name in _PARTS:
        return import_module(f".{_PARTS[name]}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_PARTS])
