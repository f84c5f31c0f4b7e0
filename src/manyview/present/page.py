"""The frame of every HTML page, and the one place where templates are filled."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@cache
def templates() -> Environment:
    """All templates; they, styles and scripts lie beside the modules that use them."""
    # Loaded with the first page: tables are made in fits that write none.
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("manyview", ".")
    found = Environment(
        loader=loader,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Plain ASCII (the default) leaves no line end that a script could trip over.
    found.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    # A style or script file of the package, as it stands.
    found.globals["asset"] = lambda name: Markup(loader.get_source(found, name)[0])
    return found


def notebook_html(*parts: Any) -> str:
    """Sentences and tables as a notebook shows them, without scripts."""
    return str(fill_template("present/notebook.html", parts=parts))


def fill_template(name: str, **values: Any) -> Markup:
    """A template of the package with its values, every text among them escaped."""
    from markupsafe import Markup

    return Markup(templates().get_template(name).render(values))
