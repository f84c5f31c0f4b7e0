"""Every method of the package in one list, and finding one by name."""

import os
from importlib.util import find_spec
from typing import Any, NamedTuple

from manyview import baselines
from manyview.anchor_spectral import AnchorSpectral
from manyview.base import MultiViewClusterer, MultiviewTags
from manyview.errors import InputError, did_you_mean, plain_name
from manyview.files.model_file import read_model
from manyview.s2mvtc import S2MVTC
from manyview.sequence_s2mvtc import SequenceS2MVTC

# The package's own methods first, then those it is compared with.
ESTIMATORS: tuple[type[MultiViewClusterer], ...] = (
    S2MVTC,
    SequenceS2MVTC,
    AnchorSpectral,
    *(getattr(baselines, name) for name in baselines.__all__),
)


class Method(NamedTuple):
    """One estimator of the package, as the command line and tables name it."""

    name: str
    estimator: type[MultiViewClusterer]
    summary: str
    citation: str
    tags: MultiviewTags

    @property
    def is_installed(self) -> bool:
        """Are the libraries here that it cannot do without?"""
        return all(find_spec(library) for library in self.estimator.needs)


def all_methods() -> list[Method]:
    """Every estimator of the package, the package's own first.

    Returns
    -------
    list of Method
        Each with its `name`, its class `estimator`, the first line of its description
        (`summary`), the paper it comes from (`citation`) and its `tags`.

    Examples
    --------
    >>> from manyview import all_methods
    >>> [method.name for method in all_methods()][0]
    'S2MVTC'
    """
    return [_describe(estimator) for estimator in ESTIMATORS]


def find_method(name: str) -> Method:
    """The method of this name; case and punctuation do not matter."""
    methods = {plain_name(method.name): method for method in all_methods()}
    if plain_name(name) in methods:
        return methods[plain_name(name)]
    names = [method.name for method in methods.values()]
    raise InputError(
        f"There is no method named {name!r}. {did_you_mean(name, names)}"
        f"Choose from {', '.join(names)}."
    )


def load_model(
    path: str | os.PathLike[str],
    *,
    memory_limit: int | float | str | None = None,
    **place: Any,
) -> MultiViewClusterer:
    """Read a model that ``save`` wrote, on this machine or another.

    Parameters
    ----------
    path : path
        A file that ``save`` wrote, or ``model.manyview`` in the folder of a run.
    memory_limit : int or str, optional
        Largest file to read, such as ``"2GB"``; default half of the memory. What
        `predict` may take is the model's: ``model.set_params(memory_limit="2GB")``.
    **place
        Where the model is to run, for instance ``device="cuda"``.

    Returns
    -------
    fitted estimator

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> import manyview
    >>> x = np.repeat([[0.0, 0.0], [9.0, 1.0]], 30, axis=0)
    >>> x += np.random.default_rng(0).normal(size=x.shape)
    >>> model = manyview.AnchorSpectral(2, random_state=0).fit([x, x**2])
    >>> file = model.save(tempfile.mkdtemp() + "/two.manyview")
    >>> again = manyview.load_model(file)
    >>> bool((again.predict([x, x**2]) == model.labels_).all())
    True
    """
    classes = {kind.__name__: kind for kind in ESTIMATORS}
    model: MultiViewClusterer = read_model(
        path, classes.get, memory_limit=memory_limit, **place
    )
    return model


def _describe(estimator: type[MultiViewClusterer]) -> Method:
    tags = estimator().__sklearn_tags__().multiview or MultiviewTags()
    summary = (estimator.__doc__ or "").strip().partition("\n")[0]
    return Method(estimator.__name__, estimator, summary, estimator.citation, tags)
