"""Model files of earlier versions, in the words of this one.

Each step takes the decoded JSON of a model file from one version of the format
to the next; it knows the names in files only, never a class of this release.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from manyview.errors import FileError

VERSION = 2
Content = dict[str, Any]

# Version 1 named records and hidden values as the code of its release did.
_RECORDS_1 = {
    "Centres": "centres",
    "Choice": "choice",
    "FeatureMap": "feature map",
    "Features": "features",
    "Graph": "graph",
    "GraphStart": "graph start",
    "Kernel": "kernel",
    "OrderReport": "order report",
    "Passes": "passes",
    "Piece": "piece",
    "Round": "round",
    "Scaling": "scaling",
    "Spectrum": "spectrum",
    "Start": "start",
}
_FIELDS_1 = {("Scaling", "gaps"): "missing"}
_ATTRIBUTES_1 = {
    "_Us": "projections",
    "_centres": "centres",
    "_dtype": "dtype",
    "_maps": "feature maps",
    "_moments": "moments",
    "_passes": "passes",
    "_scalings": "scalings",
    "_spectrum": "spectrum",
}


def migrate(content: Content, name: str) -> Content:
    """The content of a model file as this version of the format puts it."""
    version = content.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise FileError(
            f"{name} is in version {version!r} of the model format; this release reads "
            f"versions 1 to {VERSION}. Load it with the release that wrote it "
            f"(manyview {content.get('manyview')})."
        )
    try:
        for step in _STEPS[version - 1 :]:
            content = step(content)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError) as error:
        raise FileError(
            f"{name} is refused: it holds a broken value. It was damaged, or made by "
            "hand; save the model again."
        ) from error
    return {**content, "version": VERSION}


def _from_1(content: Content) -> Content:
    params = {k: v for k, v in content["params"].items() if k != "block_rows"}
    fitted = {
        _ATTRIBUTES_1.get(k, k): _rename_records(v)
        for k, v in content["fitted"].items()
    }
    return {**content, "params": params, "fitted": fitted}


def _rename_records(value: Any) -> Any:
    """The same value with every record and field under its present name."""
    if isinstance(value, list):
        return [_rename_records(part) for part in value]
    if not isinstance(value, dict):
        return value
    (kind, inner), *_ = value.items()
    if kind == "dict":
        return {kind: {key: _rename_records(part) for key, part in inner.items()}}
    if kind != "record":
        return {kind: _rename_records(inner)}
    name, fields = inner
    renamed = {
        _FIELDS_1.get((name, field), field): _rename_records(part)
        for field, part in fields.items()
    }
    return {kind: [_RECORDS_1.get(name, name), renamed]}


_STEPS: tuple[Callable[[Content], Content], ...] = (_from_1,)
