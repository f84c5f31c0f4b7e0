"""Every error in the source is one of ours and says what was wrong, seen and to do."""

import ast
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from manyview import errors

SOURCE = Path(__file__).parents[1] / "src" / "manyview"
OURS = {n for n, c in vars(errors).items() if isinstance(c, type)}
OURS |= {errors.NotFittedError.__name__}  # made when it is asked for
# Raised for Python itself, for whoever writes code against us, or caught close by.
INTERNAL = {
    ("checks.py", "AssertionError"),
    ("engine/contract.py", "AssertionError"),
    ("errors.py", "AttributeError"),
    ("views/arguments.py", "AttributeError"),
    ("files/npy_file.py", "ValueError"),
}
ADVICE = re.compile(
    r"\b(add|ask|check|choose|compute|convert|copy|drop|extract|fetch|fill|fit|give|"
    r"install|keep|leave|load|look|lower|make|move|name|open|pass|put|raise|read|"
    r"remove|reshape|run|save|say|see|set|start|take|try|turn|use|wait|wrap|write|"
    r"must|needs?)\b|are \{\}|: \{\}|\. \{\}$",
    re.IGNORECASE,
)


class Raised(NamedTuple):
    place: str
    kind: str
    message: str | None


def as_text(node):
    """The message with {} for every value that is put in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(as_text, node.values))
    if isinstance(node, ast.BinOp):
        return as_text(node.left) + as_text(node.right)
    return "{}"


def calls(of):
    """Errors that are raised on the spot, or all, those of helping functions too."""
    for path in sorted(SOURCE.rglob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            call = node.exc if of is ast.Raise and isinstance(node, of) else node
            if isinstance(node, of) and isinstance(call, ast.Call):
                kind = ast.unparse(call.func).rpartition(".")[2]
                message = as_text(call.args[0]) if call.args else None
                if kind == "FilesTold":  # puts what the system says in between
                    kind, advice = "FileError", as_text(call.args[1])
                    message = f"{message}: {{}}. {advice}"
                yield Raised(place, kind, message)


WITH_MESSAGE = [
    r
    for r in calls(ast.Call)
    if r.kind in OURS and re.search("[a-z]", (r.message or "").replace("{}", ""))
]


def test_there_are_errors_to_look_at():
    assert len(WITH_MESSAGE) > 200


def test_no_built_in_error_reaches_a_user():
    built_in = re.compile(r"[A-Z]\w+(Error|Exception|Warning)")
    foreign = {
        (r.place, r.kind)
        for r in calls(ast.Raise)
        if built_in.fullmatch(r.kind) and r.kind not in OURS
    }
    assert foreign == INTERNAL


@pytest.mark.parametrize(
    "error", WITH_MESSAGE, ids=lambda e: f"{e.place}: {e.message[:40]}"
)
def test_every_error_has_three_parts(error):
    text = error.message.strip()
    assert len(text) >= 25, "what was wrong"
    assert "{}" in text or text.count(". ") >= 1, "what was seen"
    assert ADVICE.search(text), "what to do"
    assert text[-1] in ".}", "a sentence"
