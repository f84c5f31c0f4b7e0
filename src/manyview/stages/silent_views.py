"""Views that have nothing to say: in no row, or the same in all rows."""

import warnings
from collections.abc import Sequence

from manyview.arrays.ops import to_host
from manyview.errors import DegenerateWarning, InputError
from manyview.stages.sampling import Draw


def check_views_speak(drawn: Draw, names: Sequence[str]) -> None:
    """Refuse a view that no row has; warn of views in which all rows are the same."""
    constant = []
    for v, name in enumerate(names):
        moments = drawn.moments[v]
        if drawn.view(v).shape[0] == 0:
            raise InputError(
                f"View {name!r} is missing in all rows but {int(moments.n_rows)}, too "
                "few to learn anything from. Leave the view out."
            )
        if moments.n_rows > 1 and not to_host(moments.std).any():
            constant.append(name)
    if constant:
        every = "no view tells rows apart" if len(constant) == len(names) else ""
        warnings.warn(
            "All rows are the same, or differ by less than rounding, in "
            f"{', '.join(map(repr, sorted(constant)))}: "
            f"{every or 'it has no say in the clusters'}. Leave such a view out, or "
            "look whether the right columns were read.",
            DegenerateWarning,
            stacklevel=4,
        )
