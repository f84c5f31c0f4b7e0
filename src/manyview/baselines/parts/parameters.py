"""The parameters of a compared method, each checked by the type of its field."""

from dataclasses import fields
from importlib.util import find_spec
from typing import Any, Literal, get_args, get_origin, get_type_hints

from manyview.errors import DependencyError, install_command
from manyview.views.arguments import check_choice, check_count, check_flag, check_number

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
