"""From ``--method``, ``--clusters`` and ``--set name=value`` to an estimator."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from manyview.base import MultiViewClusterer
from manyview.errors import InputError
from manyview.methods import Method, find_method, suggest

_WORDS = {"none": None, "true": True, "false": False}
_OWN_OPTIONS = {"n_clusters": "--clusters", "random_state": "--seed"}


def make_estimator(
    method: str, clusters: str, seed: int, settings: dict[str, Any]
) -> MultiViewClusterer:
    """The named method with the given parameters, the rest at its defaults."""
    found = find_method(method)
    if seed < 0:
        raise InputError(f"--seed must be at least 0; got {seed}.")
    params = {"n_clusters": parse_clusters(clusters), **settings}
    known = found.estimator().get_params()
    for name in params:
        if name not in known:
            raise _unknown_setting(found, name, list(known))
    if "random_state" in known:
        params["random_state"] = seed
    return found.estimator(**params)


def _unknown_setting(method: Method, name: str, known: list[str]) -> InputError:
    return InputError(
        f"{method.name} has no parameter {name!r}. {suggest(name, known)}"
        f"Its parameters are {', '.join(known)}."
    )


def parse_clusters(text: str) -> int | str:
    """A number of at least 1, or the word ``auto``."""
    if text == "auto":
        return text
    try:
        count = int(text)
    except ValueError:
        raise InputError(
            f"--clusters must be a whole number of at least 1; got {text!r}."
        ) from None
    if count < 1:
        raise InputError(f"--clusters must be at least 1; got {count}.")
    return count


def parse_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """``name=value`` pairs; a value that is no Python literal is taken as text."""
    settings: dict[str, Any] = {}
    for pair in pairs:
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
