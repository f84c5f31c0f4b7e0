"""The shape of the house: rooms, names, sizes, imports and explained numbers."""

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "manyview"
MODULES = sorted(PACKAGE.rglob("*.py"))

MOST_ROOT_MODULES = 15
MOST_LINES = 400
MOST_FUNCTION_LINES = 60
MOST_FILES_TO_READ = 16
MOST_FILES_OF_A_FIT = 29
MOST_LINES_IN_ALL = 37_748

# Rooms, or functions as "file:function", that may import from manyview when called.
LAZY = {
    "cli": "a command loads what it runs: --help must not wait for all of them",
}

functions = (ast.FunctionDef, ast.AsyncFunctionDef)


def name_of(path):
    return str(path.relative_to(PACKAGE))


def tree_of(path):
    return ast.parse(path.read_text("utf-8"))


def test_the_root_holds_what_users_import():
    found = [p.name for p in PACKAGE.glob("*.py") if not p.name.startswith("__")]
    assert len(found) <= MOST_ROOT_MODULES, found


def test_no_module_name_twice():
    names = Counter(p.stem for p in MODULES if not p.stem.startswith("__"))
    assert {name: n for name, n in names.items() if n > 1} == {}


def test_no_file_named_after_nothing():
    vague = re.compile(r"(^|_)(utils?|helpers?|misc|common)(_|$)")
    assert [name_of(p) for p in MODULES if vague.search(p.stem)] == []


def test_modules_are_short():
    sizes = {name_of(p): len(p.read_text("utf-8").splitlines()) for p in MODULES}
    assert {name: n for name, n in sizes.items() if n > MOST_LINES} == {}


def test_the_whole_is_short():
    lines = sum(len(p.read_text("utf-8").splitlines()) for p in MODULES)
    assert lines <= MOST_LINES_IN_ALL


def test_functions_are_short():
    long = {}
    for path in MODULES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, functions):
                lines = node.end_lineno - node.lineno + 1
                if lines > MOST_FUNCTION_LINES:
                    long[f"{name_of(path)}:{node.name}"] = lines
    assert long == {}


def late_imports(path):
    """Imports of our own modules inside functions of a module."""
    for node in ast.walk(tree_of(path)):
        if not isinstance(node, functions):
            continue
        for inner in ast.walk(node):
            if isinstance(inner, ast.ImportFrom):
                names = ["manyview" if inner.level else inner.module]
            elif isinstance(inner, ast.Import):
                names = [alias.name for alias in inner.names]
            else:
                continue
            if any(name.partition(".")[0] == "manyview" for name in names):
                yield f"{name_of(path)}:{node.name}"


def test_imports_stand_at_the_top():
    late = {f for p in MODULES for f in late_imports(p)}
    assert {f for f in late if not {f, f.partition("/")[0]} & LAZY.keys()} == set()


def test_imports_are_absolute():
    relative = [
        name_of(path)
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


def is_number(node):
    """Is this a number, or made of numbers alone?"""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int | float) and not isinstance(node.value, bool)
    if isinstance(node, ast.UnaryOp):
        return is_number(node.operand)
    if isinstance(node, ast.BinOp):
        return is_number(node.left) and is_number(node.right)
    if isinstance(node, ast.Tuple | ast.List):
        return bool(node.elts) and all(is_number(e) for e in node.elts)
    return False


def constants(tree):
    """Module-level UPPER_CASE numbers: name, first and last line."""
    for node in tree.body:
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        else:
            continue
        names = [t.id for t in targets if isinstance(t, ast.Name)]
        if names and names[0].isupper() and is_number(node.value):
            yield names[0], node.lineno, node.end_lineno


def unexplained(text):
    """Constants without a comment on their lines or above their group."""
    beside, above = set(), set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            alone = not token.line[: token.start[1]].strip()
            (above if alone else beside).add(token.start[0])
    last_of_group = None
    for name, first, last in constants(ast.parse(text)):
        if first - 1 in above or first - 1 == last_of_group:
            last_of_group = last
        elif not beside & set(range(first, last + 1)):
            yield name


def test_every_number_says_where_it_comes_from():
    found = {
        f"{name_of(p)}: {name}"
        for p in MODULES
        for name in unexplained(p.read_text("utf-8"))
    }
    assert sorted(found) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A = 1\n", ["A"]),
        ("A = 1  # why\n", []),
        ("# why\nA = 1\nB = 2.0\n", []),
        ("A = 1  # why\nB = 2\n", ["B"]),
        ("# why\n\nA = 1\n", ["A"]),
        ("# why\nA = 1\n\nB = 2**8\n", ["B"]),
        ("A = (1, -2)\nB = 'text'\nc = 3\n", ["A"]),
    ],
)
def test_what_counts_as_explained(text, expected):
    assert list(unexplained(text)) == expected


# A default fit of plain arrays; prints the files whose functions are called.
PROFILE = """
import sys, threading
import numpy as np
from manyview import S2MVTC
rng, entered = np.random.default_rng(0), set()
kinds = rng.integers(5, size=1000)
views = [(3 * rng.normal(size=(5, 50)))[kinds] for _ in range(3)]
views = [x + rng.normal(size=x.shape) for x in views]
def note(frame, event, arg):
    entered.add(frame.f_code.co_filename)
threading.setprofile(note)
sys.setprofile(note)
S2MVTC(5, random_state=0).fit(views)
sys.setprofile(None)
print(*sorted(entered), sep="\\n")
"""


@pytest.fixture(scope="module")
def entered():
    """Files of the package that a default fit goes through."""
    code = [sys.executable, "-c", PROFILE]
    run = subprocess.run(code, capture_output=True, text=True, check=True)
    return {name_of(p) for p in MODULES if str(p) in run.stdout.splitlines()}


def test_a_default_fit_goes_through_few_files(entered):
    assert 0 < len(entered) <= MOST_FILES_OF_A_FIT, sorted(entered)


def test_the_reading_list_carries_the_fit(entered):
    readme = (ROOT / "README.md").read_text("utf-8")
    (section,) = re.findall(r"^## Read the code.*?(?=^## |\Z)", readme, re.M | re.S)
    named = set(re.findall(r"`([\w/]+\.py)`", section))
    assert 0 < len(named) <= MOST_FILES_TO_READ
    assert named - entered == set()
