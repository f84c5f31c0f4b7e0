import json
import re

import pytest
from jinja2 import UndefinedError

from manyview.present.page import fill_template, templates


def page(title: str = "t") -> str:
    return fill_template("present/page.html", title=title)


def test_titles_are_escaped_in_both_places() -> None:
    text = page("a <b> & c")
    assert text.count("a &lt;b&gt; &amp; c") == 2
    assert "<b>" not in text


def test_a_page_may_fetch_nothing() -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page())
    assert policy is not None
    rules = dict(r.strip().split(" ", 1) for r in policy[1].split(";"))
    assert rules["default-src"] == "'none'"
    assert "connect-src" not in rules
    assert not re.search(r"https?:", policy[1])


def test_style_and_script_are_written_in_as_they_stand() -> None:
    text = page()
    assert ':root[data-theme="dark"]' in text
    assert 'document.getElementById("theme")' in text


def test_a_value_that_is_not_given_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="title"):
        fill_template("present/page.html")


def test_data_cannot_leave_its_element() -> None:
    evil = "</script><!--\u2028\u2029&<script>"
    element = templates().from_string("<script>{{ data|tojson }}</script>")
    text = element.render(data={"name": evil, evil: 1})
    inside = text.removeprefix("<script>").removesuffix("</script>")
    assert not set("<>&\u2028\u2029") & set(inside)
    assert json.loads(inside) == {"name": evil, evil: 1}
    with pytest.raises(ValueError, match="JSON"):
        element.render(data=float("nan"))
