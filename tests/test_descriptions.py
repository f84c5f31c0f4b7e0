"""Every parameter users meet is described, and no page promises too much."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

import manyview

ROOT = Path(__file__).resolve().parents[1]
ESTIMATORS = [m.estimator for m in manyview.all_methods()]
FUNCTIONS = [
    "manyview.audit_order", "manyview.choose_n_clusters", "manyview.sc.cluster",
    "manyview.load_model", "manyview.datasets.load", "manyview.datasets.convert",
    "manyview.datasets.make_views", "manyview.explain.explain",
    "manyview.drift", "manyview.growing.refit", "manyview.hierarchy",
    "manyview.report.write_report", "manyview.plot.flatten",
    "manyview.plot.draw_embedding",
]  # fmt: skip


def described(thing):
    """Parameters in the docstring that have a sentence of their own."""
    text = inspect.getdoc(thing).partition("Parameters\n")[2]
    text = re.split(r"^\w+\n-+$", text, flags=re.M)[0]
    found = set()
    for names, sentence in re.findall(
        r"^(\*{0,2}[\w, *]+?)(?: :[^\n]*)?\n((?: {4}.*\n?)+)", text + "\n", flags=re.M
    ):
        if sentence.strip():
            found |= {name.strip(" *") for name in names.split(",")}
    return found


def test_a_parameter_without_a_sentence_is_found():
    def function(a, b, c):
        """Does it.

        Parameters
        ----------
        a, b : int
            Two numbers.
        c : as in `S2MVTC`

        Returns
        -------
        d : int
            The sum.
        """

    assert described(function) == {"a", "b"}


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: e.__name__)
def test_parameters_of_methods_are_described(estimator):
    assert set(estimator().get_params()) - described(estimator) == set()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_parameters_of_functions_are_described(name):
    module, _, last = name.rpartition(".")
    owner = manyview.plot if module == "manyview.plot" else import_module(module)
    function = getattr(owner, last)
    assert set(inspect.signature(function).parameters) - described(function) == set()


@pytest.mark.parametrize(
    "page",
    [
        ROOT / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
        *sorted((ROOT / "docs" / "guide").glob("*.md")),
        *sorted((ROOT / "examples").glob("*.py")),
    ],
    ids=lambda p: p.name,
)
def test_no_page_says_that_nothing_needs_preparation(page):
    """How views are prepared by default is a rule of thumb."""
    promise = re.compile(
        r"(nothing|neither|need not|no need|never)\W.{0,60}(standardis|normalis)ed|"
        r"needs? no preparation",
        re.IGNORECASE | re.DOTALL,
    )
    assert promise.search(page.read_text("utf-8")) is None


def test_what_the_readme_shows_is_installed_by_what_it_shows():
    """A report needs an extra, and the line says which."""
    lines = (ROOT / "README.md").read_text("utf-8").splitlines()
    (report,) = [line for line in lines if line.startswith("manyview report")]
    assert 'pip install ".[report]"' in report
