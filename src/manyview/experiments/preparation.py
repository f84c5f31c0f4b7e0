"""Views as our own scaling prepares them, for methods that would take them as given.

A method that asks for nothing in particular may lose by the scale of its features
alone: compared on both, it shows what is the method and what the preparation.
"""

from manyview.base import by_caller
from manyview.engine.local import open_engine
from manyview.stages.sampling import choose_scalings, draw
from manyview.stages.scaling import apply_scaling
from manyview.views.views import Views

# Rows that tell the kind of a view: twice what the rule for its kind looks at.
DRAWN = 4096


def on_our_scaling(views: Views, n_clusters: int, seed: int) -> Views:
    """Every view by the scaling that `S2MVTC` would choose for it; sparse stays so."""
    engine = open_engine(views, views.dtype)
    drawn = draw(engine, min(DRAWN, len(views)), seed)
    scalings = by_caller(choose_scalings(drawn, "auto", n_clusters), engine)
    given = views.block(slice(0, len(views))).views
    arrays = [apply_scaling(x, s) for x, s in zip(given, scalings, strict=True)]
    return Views(arrays, names=views.names, present=views.present, labels=views.labels)
