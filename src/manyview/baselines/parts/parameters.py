"""What every compared method takes: parameters, each checked by its type, and views."""

from dataclasses import KW_ONLY, dataclass, fields
from importlib.util import find_spec
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from manyview.base import FloatArray, IntArray, MultiViewClusterer
from manyview.baselines.parts.in_memory import content_ordered
from manyview.errors import DependencyError, install_command
from manyview.views.arguments import (
    check_choice,
    check_count,
    check_flag,
    check_number,
    generator,
)
from manyview.views.views import Views

_CHECKS = {int: check_count, float: check_number, bool: check_flag}


def check_parameters(model: Any) -> None:
    """Refuse the first parameter that is not what the type of its field asks for.

    ``int`` is a whole number from 1 on, ``float`` finite and not negative, ``bool``
    True or False, ``Literal`` one of its words. Other types are the method's own care.
    A library that the method needs is missed before any work.
    """
    for library, extra in model.needs.items():
        if find_spec(library) is None:
            raise DependencyError(
                f"{type(model).__name__} needs {library}, which is not installed. "
                f"Install it: {install_command(extra)}."
            )
    kinds = get_type_hints(type(model))
    for name in (field.name for field in fields(model)):
        kind, value = kinds[name], getattr(model, name)
        if kind in _CHECKS:
            _CHECKS[kind](value, name)
        elif get_origin(kind) is Literal:
            check_choice(value, name, get_args(kind))


@dataclass(eq=False, repr=False)
class ComparedMethod(MultiViewClusterer):
    """A method to compare with: its fields are parameters, named but for the first."""

    n_clusters: int = 8
    _: KW_ONLY
    random_state: Any = None

    def _begin(self, X: Any, y: Any) -> tuple[Views, np.random.Generator]:
        """The views to fit, and the source of all random choices."""
        check_parameters(self)
        return self._views_to_fit(X, y), generator(self.random_state)

    def _ordered(
        self, X: Any, y: Any
    ) -> tuple[list[FloatArray], IntArray, np.random.Generator]:
        """The same views dense in content order, and where every row came from."""
        views, rng = self._begin(X, y)
        return *content_ordered(views, rng), rng
