# The public names and where they live: read by type checkers, and by __init__.py to
# import each at its first use.
from .converting import convert as convert
from .digits import load_digits_views as load_digits_views
from .isolated.sandbox import Sandbox as Sandbox
from .loading import find_anchors as find_anchors
from .loading import load as load
from .overview import describe as describe
from .overview import label_order as label_order
from .overview import summary as summary
from .overview import summary_lines as summary_lines
from .registry import known as known
from .synthetic import like as like
from .synthetic import make_views as make_views
