"""From ``--method``, ``--set name=value`` and where to run to an estimator."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

from manyview.errors import InputError

if TYPE_CHECKING:
    from manyview.base import MultiViewClusterer

_WORDS = {"none": None, "true": True, "false": False}
_OWN_OPTIONS = {"n_clusters": "--clusters", "random_state": "--seed"}

# What S2MVTC smooths along, as method and parameters.
_SMOOTHING: dict[str, tuple[str, dict[str, Any]]] = {
    "graph": ("S2MVTC", {}),
    "sequence": ("SequenceS2MVTC", {}),
    "graph+sequence": ("SequenceS2MVTC", {"graph": True}),
    "none": ("SequenceS2MVTC", {"smoothing_weight": 0.0}),
}


def make_estimator(
    method: str, clusters: str, seed: int, settings: dict[str, Any]
) -> MultiViewClusterer:
    """The named method with the given parameters, the rest at its defaults."""
    from manyview.methods import find_method

    found = find_method(method)
    if seed < 0:
        raise InputError(f"--seed must be at least 0; got {seed}.")
    model = found.estimator(n_clusters=parse_clusters(clusters), **settings)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    return model


def choose_smoothing(method: str, how: str | None) -> tuple[str, dict[str, Any]]:
    """The method that smooths along the graph, the order, both or nothing."""
    from manyview.methods import find_method
    from manyview.views.arguments import check_choice

    if how is None:
        return method, {}
    if find_method(method).name not in ("S2MVTC", "SequenceS2MVTC"):
        # Other methods do not smooth; making one says so.
        return method, {"smoothing": how}
    check_choice(how.lower(), "--smoothing", tuple(_SMOOTHING))
    return _SMOOTHING[how.lower()]


def parse_clusters(text: str) -> int | str:
    """A number of at least 1, or the word ``auto``."""
    from manyview.views.arguments import check_count

    if text == "auto":
        return text
    count: int = parse_value(text)
    check_count(count, "--clusters", choice=", or auto")
    return count


def parse_settings(pairs: Sequence[str] | None) -> dict[str, Any]:
    """``name=value`` pairs; a value that is no Python literal is taken as text."""
    settings: dict[str, Any] = {}
    for pair in pairs or ():
        name, equals, text = pair.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier():
            raise InputError(
                f"--set {pair!r} is not of the form name=value. Write for instance "
                "--set n_anchors=500."
            )
        if name in _OWN_OPTIONS:
            raise InputError(f"{name} has its own option: use {_OWN_OPTIONS[name]}.")
        settings[name] = parse_value(text)
    return settings


def parse_value(text: str) -> Any:
    """A number, list, True, None … if it reads as one, else the text itself."""
    text = text.strip()
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def place_settings(
    engine: str, scheduler: str | None, checkpoint: str | None, memory_limit: str | None
) -> dict[str, Any]:
    """Where to run as parameters of a method; those left out stay out."""
    if engine not in ("local", "dask"):
        raise InputError(f"--engine {engine!r} is unknown; choose local or dask.")
    if (engine == "dask") != (scheduler is not None):
        raise InputError(
            "--engine dask and --scheduler ADDRESS go together. Start a scheduler "
            "with 'dask scheduler' and name its address."
        )
    given = {
        "engine": None if engine == "local" else engine,
        "checkpoint": checkpoint,
        "memory_limit": memory_limit,
    }
    return {name: value for name, value in given.items() if value is not None}


def connected(scheduler: str | None) -> AbstractContextManager[object]:
    """Be a client of the scheduler, if there is one."""
    if scheduler is None:
        return nullcontext()
    from manyview.engine.dask_workers import connect

    return connect(scheduler)
