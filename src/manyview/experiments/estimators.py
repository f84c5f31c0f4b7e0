"""From the name of a method in a run to an estimator."""

from collections.abc import Iterable
from typing import Any

from manyview import baselines
from manyview.base import MultiViewClusterer
from manyview.datasets import known
from manyview.errors import InputError
from manyview.methods import all_methods, find_method
from manyview.sequence_s2mvtc import SequenceS2MVTC
from manyview.stages.sequence_settings import PUBLISHED as PAPER

# The method as its authors run it, beside the package's own default.
PUBLISHED = "S2MVTC as published"
ORACLE = "Best single view (oracle)"
REFERENCE = "ConcatKMeans"
ALONG_AN_ORDER = SequenceS2MVTC.__name__
# After the name of a compared method: with ``protocol="authors"``.
BY_AUTHORS = " as its authors run it"
# After that: on views that our own scaling has prepared, in place of its own.
ON_OUR_SCALING = " on our scaling"
# Seeds cannot move a method without a random part; rounding can.
SETTINGS: dict[str, dict[str, Any]] = {"SFMC": {"perturbation": 1e-15}}
# What a table that shows the method has to say of it.
NOTES = {
    "SMERAMVC": "SMERAMVC is a reconstruction: the authors' tensor step is encrypted, "
    "and how far ours is theirs cannot be tested.",
    "SFMC": "SFMC has no random part: its spread comes from changes of its anchor "
    "scores by 1e-15 of themselves, the size of rounding.",
    PUBLISHED: "As published means with the authors' start of the last step: labels "
    "fixed before the rounds, which leave clusters empty.",
    ON_OUR_SCALING: "On our scaling: every view prepared as S2MVTC would prepare it "
    "before the method sees it; otherwise as the method itself prepares them.",
    BY_AUTHORS: f"{BY_AUTHORS.strip().capitalize()}: with protocol='authors', the "
    "starts, stops and slips of the authors' program; otherwise with this library's.",
}


def method_names() -> list[str]:
    """Every installed method for rows in any order by name, the reference first."""
    found = (m for m in all_methods() if m.is_installed)
    names = [m.name for m in found if m.name != ALONG_AN_ORDER]
    return sorted(names, key=lambda n: (n != REFERENCE, n.startswith("S2MVTC")))


def names_by_authors() -> list[str]:
    """The compared methods whose authors' program starts or stops in another way."""
    found = (m for m in all_methods() if "protocol" in m.estimator().get_params())
    return [m.name + BY_AUTHORS for m in found]


def names_on_our_scaling() -> list[str]:
    """The compared methods that do not prepare their views as our own do."""
    compared = (find_method(name) for name in baselines.__all__)
    found = (m for m in compared if m.is_installed)
    scalings = {m.name: m.estimator().get_params().get("scaling") for m in found}
    return [name + ON_OUR_SCALING for name, how in scalings.items() if how != "auto"]


def full_name(name: str) -> str:
    """The name as tables show it, of a method given in any spelling."""
    name = name.strip()
    if name == PUBLISHED:
        return name
    if name.endswith(ON_OUR_SCALING):
        return full_name(name.removesuffix(ON_OUR_SCALING)) + ON_OUR_SCALING
    method = find_method(name.removesuffix(BY_AUTHORS)).name
    if not name.endswith(BY_AUTHORS):
        return method
    if method + BY_AUTHORS in names_by_authors():
        return method + BY_AUTHORS
    raise InputError(
        f"{method} runs in one way only: there is no {name!r}. Leave out "
        f"{BY_AUTHORS.strip()!r}."
    )


def notes_on(methods: Iterable[str]) -> list[str]:
    """What a table that shows these methods has to say of them."""
    shown = list(methods)
    return [text for part, text in NOTES.items() if any(part in m for m in shown)]


def build(
    method: str, setting: dict[str, Any], n_clusters: int, seed: int, data: str
) -> MultiViewClusterer:
    """The estimator; `PUBLISHED` takes CCV's setting where the paper has none."""
    if method == PUBLISHED:
        also = (alias for e in known() if e.name == data for alias in e.aliases)
        own = next((name for name in (data, *also) if name in PAPER), "CCV")
        model = SequenceS2MVTC.as_published(own)
        model.set_params(n_clusters=n_clusters, random_state=seed, **setting)
        return model
    method = method.removesuffix(ON_OUR_SCALING)
    found = find_method(method.removesuffix(BY_AUTHORS))
    setting = SETTINGS.get(found.name, {}) | setting
    if method.endswith(BY_AUTHORS):
        setting = {"protocol": "authors"} | setting
    return found.estimator(n_clusters, random_state=seed, **setting)
