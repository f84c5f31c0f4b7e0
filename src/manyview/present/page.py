"""The frame of every HTML page, and the one place where templates are filled."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

# Templates, styles and scripts lie beside the modules that use them.
_LOADER = PackageLoader("manyview", ".")
_TEMPLATES = Environment(
    loader=_LOADER,
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
# Plain ASCII (the default) leaves no line end that a script could trip over.
_TEMPLATES.policies["json.dumps_kwargs"] = {
    "allow_nan": False,
    "separators": (",", ":"),
}


def asset(name: str) -> Markup:
    """A style or script file of the package, as it stands."""
    return Markup(_LOADER.get_source(_TEMPLATES, name)[0])


_TEMPLATES.globals["asset"] = asset


def fill_template(name: str, **values: Any) -> Markup:
    """A template of the package with its values, every text among them escaped.

    Examples
    --------
    >>> from manyview.present.page import fill_template
    >>> "<h1>a &lt; b</h1>" in fill_template("present/page.html", title="a < b")
    True
    """
    return Markup(_TEMPLATES.get_template(name).render(values))
