"""The parameters of a compared method, each checked by its kind."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from manyview.base import MultiViewClusterer
from manyview.views.parsing import check_choice, check_count, check_flag, check_number


def check_parameters(
    model: MultiViewClusterer,
    *,
    counts: Iterable[str] = (),
    numbers: Iterable[str] = (),
    flags: Iterable[str] = (),
    **choices: tuple[Any, ...],
) -> None:
    """Refuse the first parameter that is not what its kind asks for.

    `counts` are whole numbers from 1 on, `numbers` are finite and not negative,
    `flags` True or False; any other keyword is a parameter with its choices.
    """
    for name in counts:
        check_count(getattr(model, name), name)
    for name in numbers:
        check_number(getattr(model, name), name)
    for name in flags:
        check_flag(getattr(model, name), name)
    for name, known in choices.items():
        check_choice(getattr(model, name), name, known)
