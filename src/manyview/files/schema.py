"""What the names in model files and checkpoints mean in this release.

Files use the names on the left, which never change within a version of the format
(`manyview.files.migrations` translates earlier ones). On the right stands where
they live in Python: who renames a class, a field or an attribute changes that here.
Nothing that is not in these tables is ever looked up for a file.
"""

from importlib import import_module
from typing import Any, NamedTuple

# Where a model runs is no part of it: these go back to their defaults.
PLACE = ("device", "engine", "memory_limit", "checkpoint", "verbose")


class Record(NamedTuple):
    """One kind of record: its class, and its fields by their names in files."""

    home: str
    fields: dict[str, str]

    def find_class(self) -> Any:
        """The class, imported when a file or a model holds one."""
        module, _, name = self.home.rpartition(".")
        return getattr(import_module(module), name)


def _record(home: str, same: str, **renamed: str) -> Record:
    """Fields that are called the same in Python, and those that are not."""
    names = {name: name for name in same.split()}
    return Record(f"manyview.{home}", {**names, **renamed})


RECORDS = {
    # What new rows are replayed through.
    "passes": _record(
        "predicting.Passes",
        "dtype view_order spectrum start rounds centres nodes asked",
    ),
    "asked": _record("stages.sampling.Asked", "rows labels votes weights"),
    "reach": _record(
        "stages.reach.Reach", "scalings landmarks radii counts distances labels"
    ),
    "scaling": _record(
        "stages.scaling.Scaling",
        "kind root shift scale unit dtype directions",
        missing="gaps",
    ),
    "kernel": _record("stages.anchors.Kernel", "name anchors width"),
    "features": _record(
        "stages.anchors.Features", "scalings kernels means reduces centres keep sampled"
    ),
    "piece": _record("stages.anchor_graph.Piece", "view anchors lengths"),
    "graph": _record("stages.anchor_graph.Graph", "scalings pieces n_neighbors exact"),
    "spectrum": _record("stages.anchor_graph.Spectrum", "graph table values weights"),
    "graph start": _record("stages.rounds.GraphStart", "features scale centre"),
    "direction start": _record(
        "stages.start.DirectionStart", "features weights offsets signs"
    ),
    "round": _record(
        "stages.rounds.Round",
        "features fits offsets smooth filtered beta centre by_length keep trace sums",
        view_weights="of_views",
    ),
    "centres": _record("kmeans.passes.Centres", "points offsets"),
    "nodes": _record("kmeans.nodes.Nodes", "points labels"),
    "feature map": _record(
        "baselines.parts.rbf_features.FeatureMap", "scaling kernel mean"
    ),
    # How its views are made of what users have.
    "preparation": _record("views.preparing.Preparation", "steps"),
    "table code": _record("views.table_code.TableCode", "columns"),
    "column": _record("views.table_code.Column", "name kind first categories"),
    # What users read off a model.
    "choice": _record(
        "selection.Choice",
        "n_clusters best_guess certainty candidates gap stability silhouette score "
        "beyond_chance",
    ),
    "order report": _record(
        "stages.order_report.OrderReport", "index_nmi changes expected_changes"
    ),
    "change": _record("growing.changes.Change", "kind before after rows views"),
    "changes": _record(
        "growing.changes.Changes", "events overlap changed_rows relabelled refit_due"
    ),
    # What it keeps in order to grow; rows that a file holds are in it.
    "growth": _record("growing.adding.Growth", "rows present looks waiting"),
    "measured": _record("growing.comparing.Measured", "labels distances"),
    # What a checkpoint keeps besides.
    "ridge": _record("stages.ridge.Ridge", "reduce factor mean gram"),
    "weighed gram": _record("stages.ridge.Weighed", "gram lam"),
    "factored gram": _record("stages.ridge.Factored", "lower"),
    "tridiagonal": _record(
        "arrays.linear.Tridiagonal", "reflectors scales diagonal beside values"
    ),
    "setup": _record(
        "stages.setup.Setup",
        "anchors ridges spectrum start first partition explained conflicts",
    ),
    "carried": _record("stages.rounds.Carried", "products smooth unfiltered"),
    "history": _record("stages.rounds.History", "rounds objective trace"),
    "finished rounds": _record("stages.rounds.Finished", "history carried"),
}

# Fitted values that users do not see. Public ones, such as labels_, keep their name.
ATTRIBUTES = {
    "dtype": "_dtype",
    "feature maps": "_maps",
    "growth": "_growth",
    "moments": "_moments",
    "passes": "_passes",
    "projections": "_Us",
    "reach": "_reach",
    "scalings": "_scalings",
}

_RECORD_NAMES = {record.home: name for name, record in RECORDS.items()}
_ATTRIBUTE_NAMES = {python: name for name, python in ATTRIBUTES.items()}


def record_name(value: Any) -> str | None:
    """The name in files of the value's class, if it is a record."""
    kind = type(value)
    return _RECORD_NAMES.get(f"{kind.__module__}.{kind.__qualname__}")


def attribute_name(python: str) -> str | None:
    """The name in files of a fitted attribute; None where it has none."""
    return python if is_public(python) else _ATTRIBUTE_NAMES.get(python)


def is_public(name: str) -> bool:
    """Is this a fitted value that users see, by scikit-learn's convention?"""
    return name.isidentifier() and name.endswith("_") and not name.startswith("_")
