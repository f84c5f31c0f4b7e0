"""Which matrices of the cells are the views: layers, representations, chosen genes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from manyview.errors import InputError, InputTypeError
from manyview.views.arguments import check_flag
from manyview.views.containers import container_parts, is_mudata
from manyview.views.views import Views

HIGHLY_VARIABLE = "highly_variable"  # the column of var that scanpy writes


def views_of_cells(
    data: Any,
    views: str | Sequence[str] | None,
    use_rep: Any,
    layer: Any,
    use_highly_variable: bool | None,
) -> Views:
    """The parts asked for, cut down to the highly variable features."""
    if use_highly_variable is not None:
        check_flag(use_highly_variable, "use_highly_variable")
    names = _part_names(data, views, use_rep, layer)
    parts = container_parts(data, names)
    if use_highly_variable is not False:
        required = use_highly_variable is True
        found = [_mask(data, name) for name in parts["names"]]
        if required and all(mask is None for mask in found):
            raise InputError(
                f"No modality has var[{HIGHLY_VARIABLE!r}]. Run "
                "sc.pp.highly_variable_genes first, or leave use_highly_variable out."
            )
        for v, mask in enumerate(found):
            if mask is not None:
                parts["views"][v] = parts["views"][v][:, mask]
                names_of = np.asarray(parts["feature_names"][v])
                parts["feature_names"][v] = names_of[mask].tolist()
    chosen = Views(**parts)
    chosen.origin = type(data).__name__
    return chosen


def _part_names(data: Any, views: Any, use_rep: Any, layer: Any) -> Any:
    """Names of parts, as `Views.of` takes them; None for every modality's X."""
    if use_rep is None and layer is None:
        return views
    if views is not None:
        raise InputError(
            "views names the matrices already. Give either views, or use_rep and layer."
        )
    mods = list(data.mod) if is_mudata(data) else [""]
    reps, layers = (
        _by_modality(mods, asked, name)
        for asked, name in ((use_rep, "use_rep"), (layer, "layer"))
    )
    found = []
    for mod in mods:
        inner = "X"
        if reps.get(mod) not in (None, "X"):
            inner = f"obsm/{reps[mod]}"
        elif layers.get(mod) is not None:
            inner = f"layers/{layers[mod]}"
        found.append("/".join(filter(None, (mod, inner if mod == "" else _own(inner)))))
    return found


def _own(inner: str) -> str:
    """X of a modality is called by the modality's name alone."""
    return "" if inner == "X" else inner


def _by_modality(mods: list[str], asked: Any, name: str) -> dict[str, Any]:
    """What is asked of every modality: one name for all, or a dict."""
    if asked is None or isinstance(asked, str):
        return dict.fromkeys(mods, asked)
    if not isinstance(asked, Mapping) or mods == [""]:
        raise InputTypeError(
            f"{name} must be a name, or for MuData a dict of names by modality; got "
            f"{asked!r}."
        )
    strange = sorted(set(asked) - set(mods))
    if strange:
        raise InputError(
            f"{name} names the modality {strange[0]!r}; the modalities are "
            f"{', '.join(mods)}."
        )
    return dict(asked)


def _mask(data: Any, name: str) -> Any:
    """Numbers of the highly variable columns of a part; None where it has none."""
    mod, _, inner = name.partition("/") if is_mudata(data) else ("", "", name)
    table = data.mod[mod] if is_mudata(data) else data
    if inner.startswith("obsm/") or HIGHLY_VARIABLE not in table.var:
        return None
    columns = np.flatnonzero(np.asarray(table.var[HIGHLY_VARIABLE], dtype=bool))
    if not columns.size:
        raise InputError(
            f"var[{HIGHLY_VARIABLE!r}] of {name!r} chooses none of "
            f"{len(table.var):,} features. Run sc.pp.highly_variable_genes again, or "
            "give use_highly_variable=False."
        )
    return columns
