"""The look every page of the package shares, and safe ways to put data into it."""

from __future__ import annotations

import json
from html import escape
from importlib.resources import files
from typing import Any

# Nothing may be fetched or sent. plotly compiles its WebGL programs, hence the eval.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline' 'unsafe-eval'; img-src 'self' data: blob:; "
    "font-src data:; worker-src blob:; form-action 'none'; base-uri 'none'"
)
# Before the first paint, or a dark page would flash white.
_THEME = (
    "try { const t = localStorage.getItem('manyview-theme');"
    " if (t) document.documentElement.dataset.theme = t; } catch (e) {}"
)
_SWITCH = (
    '<button type="button" id="theme" class="quiet no-print" '
    'aria-label="Switch between light and dark">'
    '<span aria-hidden="true">◐</span> Theme</button>'
)
# Characters that could end a script element or, in old engines, a line of script.
_UNSAFE = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def page(title: str, body: str, *, scripts: str = "") -> str:
    """A whole HTML page in the package's style.

    Parameters
    ----------
    title : str
        Plain text; shown as the heading too.
    body : str
        HTML below the heading, everything from data already escaped.
    scripts : str
        Script elements for the end of the page.

    Examples
    --------
    >>> from manyview.present.style import page
    >>> "<h1>a &lt; b</h1>" in page("a < b", "<p>Text</p>")
    True
    """
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="color-scheme" content="light dark">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(title)}</title>\n<style>\n{asset('page.css')}</style>\n"
        f"<script>{_THEME}</script>\n</head>\n<body>\n"
        f'<header class="top"><h1>{escape(title)}</h1>{_SWITCH}</header>\n'
        f"<main>\n{body}\n</main>\n"
        f"<script>\n{asset('page.js')}</script>\n{scripts}</body>\n</html>\n"
    )


def asset(name: str) -> str:
    """A script or style file of this package."""
    return files("manyview.report").joinpath(name).read_text(encoding="utf-8")


def json_element(name: str, data: Any) -> str:
    """A script element that holds data; no text in the data can end it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return (
        f'<script type="application/json" id="{name}">{text.translate(_UNSAFE)}'
        "</script>\n"
    )
