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
    from .containers import cluster_mudata
    from .errors import ManyviewError, OrderWarning
    from .experiments.audit import audit_order
    from .methods import all_methods
    from .model_file import load
    from .s2mvtc import S2MVTC
    from .selection import choose_n_clusters
    from .spectral import AnchorSpectral
    from .views import Views

try:
    __version__ = _version("manyview")
except _PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"

# Where each public name lives; nothing is imported before it is used.
_HOMES = {
    "AnchorSpectral": "spectral",
    "ManyviewError": "errors",
    "OrderWarning": "errors",
    "S2MVTC": "s2mvtc",
    "Views": "views",
    "all_methods": "methods",
    "audit_order": "experiments.audit",
    "choose_n_clusters": "selection",
    "cluster_mudata": "containers",
    "load": "model_file",
}
_PARTS = (
    *("baselines", "checks", "containers", "datasets", "errors", "explain"),
    *("metrics", "plot", "selection"),
)

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
        return import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)


def __dir__() -> list[str]:
    return sorted([*__all__, *_PARTS])
