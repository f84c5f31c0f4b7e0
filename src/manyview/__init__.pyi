# The public names and where they live: read by type checkers, and by __init__.py to
# import each at its first use.
from . import baselines as baselines
from . import checks as checks
from . import datasets as datasets
from . import errors as errors
from . import explain as explain
from . import growing as growing
from . import metrics as metrics
from . import outliers as outliers
from . import report as report
from . import sc as sc
from . import selection as selection
from . import views as views
from .anchor_spectral import AnchorSpectral as AnchorSpectral
from .errors import ManyviewError as ManyviewError
from .errors import OrderWarning as OrderWarning
from .growing import drift as drift
from .growing import hierarchy as hierarchy
from .methods import all_methods as all_methods
from .methods import load_model as load_model
from .order_audit import audit_order as audit_order
from .present import plot as plot
from .s2mvtc import S2MVTC as S2MVTC
from .selection import choose_n_clusters as choose_n_clusters
from .sequence_s2mvtc import SequenceS2MVTC as SequenceS2MVTC
from .views import Views as Views
from .views import containers as containers
from .views.preparing import ViewTransformer as ViewTransformer

__version__: str
