import json
import re

from manyview.present.style import json_element, page


def test_titles_are_escaped_in_both_places() -> None:
    text = page("a <b> & c", "<p>body</p>")
    assert text.count("a &lt;b&gt; &amp; c") == 2
    assert "<b>" not in text
    assert "<p>body</p>" in text


def test_a_page_may_fetch_nothing() -> None:
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page("t", ""))
    assert policy is not None
    rules = dict(r.strip().split(" ", 1) for r in policy[1].split(";"))
    assert rules["default-src"] == "'none'"
    assert "connect-src" not in rules
    assert not re.search(r"https?:", policy[1])


def test_data_cannot_leave_its_element() -> None:
    evil = "</script><!--\u2028\u2029&<script>"
    text = json_element("data", {"name": evil, evil: 1})
    start, end = text.index(">") + 1, text.rindex("</script>")
    inside = text[start:end]
    assert not set("<>&\u2028\u2029") & set(inside)
    assert json.loads(inside) == {"name": evil, evil: 1}
