"""The tree on the page: levels as `cut` has them, clicks that colour the maps."""

from dataclasses import replace

import numpy as np
import pytest

from manyview import hierarchy
from manyview.errors import InputTypeError
from manyview.report.maps import draw_maps
from manyview.report.page_data import chart_data
from manyview.report.subject import of_model

from .test_browser import MAP, SETTLE, show


@pytest.fixture(scope="module")
def tree(evil_model, evil_views):
    return hierarchy(evil_model, evil_views)


@pytest.fixture(scope="module")
def page(evil_model, evil_views, tree, tmp_path_factory):
    pytest.importorskip("plotly", reason="plotly is not installed")
    path = tmp_path_factory.mktemp("tree") / "report.html"
    return evil_model.report(path, evil_views, layout="pca", tree=tree)


def test_the_page_has_the_tree_and_its_splits(page) -> None:
    text = page.read_text("utf-8")
    assert 'id="chart-icicle"' in text and 'id="chart-dendrogram"' in text
    assert 'value="level"' in text and "Views and features behind the splits" in text


def test_without_a_tree_there_is_no_section(evil_page) -> None:
    assert 'id="chart-icicle"' not in evil_page.read_text("utf-8")


def test_the_data_are_of_the_shown_rows(evil_model, evil_views, tree) -> None:
    subject = of_model(evil_model, evil_views, tree=tree)
    found = chart_data(subject, draw_maps(subject, "pca"))["tree"]
    assert sum(found["rows"]) == 150 and len(found["pairs"]) == tree.n_leaves - 1
    assert sorted(found["order"]) == list(range(tree.n_leaves))
    assert 3 in found["levels"]


def test_another_tree_is_refused(evil_model, evil_views, tree) -> None:
    with pytest.raises(InputTypeError, match="tree must be what hierarchy made"):
        of_model(evil_model, evil_views, tree="oak")
    other = replace(tree, leaves=tree.leaves[:10])
    with pytest.raises(InputTypeError, match="150 rows"):
        of_model(evil_model, evil_views, tree=other)


@pytest.mark.slow
def test_every_level_colours_the_map_as_cut_does(browser, page, tree) -> None:
    show(browser, page)
    for k in range(1, tree.n_leaves + 1):
        browser.run(
            "{ const level = document.getElementById('level');"
            f" level.value = {k}; level.dispatchEvent(new Event('input')); }}"
        )
        browser.run(SETTLE)
        colours = browser.run(f"Array.from({MAP}.data[1].marker.color)")
        np.testing.assert_array_equal(colours, tree.cut(k))


@pytest.mark.slow
@pytest.mark.parametrize("chart", ["icicle", "dendrogram"])
def test_a_click_chooses_a_level(browser, page, tree, chart) -> None:
    show(browser, page)
    browser.run(
        f"document.getElementById('chart-{chart}')"
        ".emit('plotly_click', {points: [{customdata: 2}]})"
    )
    browser.run(SETTLE)
    assert browser.run("document.getElementById('colour').value") == "level"
    assert browser.run("document.getElementById('level').value") == "2"
    colours = browser.run(f"Array.from({MAP}.data[1].marker.color)")
    np.testing.assert_array_equal(colours, tree.cut(2))
