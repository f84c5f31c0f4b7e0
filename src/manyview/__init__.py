"""Large-scale multi-view clustering: several feature sets per object, one partition.

>>> import numpy as np
>>> from manyview import S2MVTC
>>> rng = np.random.default_rng(0)
>>> group = np.repeat([0.0, 5.0], 20)[:, None]
>>> views = [group + rng.normal(size=(40, 3)), group + rng.normal(size=(40, 2))]
>>> S2MVTC(n_clusters=2, random_state=0).fit(views).labels_.shape
(40,)
"""

from importlib.metadata import PackageNotFoundError as _PackageNotFoundError
from importlib.metadata import version as _version

import lazy_loader as _lazy

try:
    __version__ = _version("manyview")
except _PackageNotFoundError:  # run from a source tree that is not installed
    __version__ = "0+unknown"

# __init__.pyi says where each name lives; nothing is imported before it is used.
__getattr__, __dir__, _ = _lazy.attach_stub(__name__, __file__)

__all__ = [
    "S2MVTC",
    "AnchorSpectral",
    "ManyviewError",
    "OrderWarning",
    "SequenceS2MVTC",
    "ViewTransformer",
    "Views",
    "__version__",
    "all_methods",
    "audit_order",
    "choose_n_clusters",
    "drift",
    "hierarchy",
    "load_model",
]
