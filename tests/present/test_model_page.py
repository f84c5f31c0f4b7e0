"""What a fitted model shows of itself."""

import re

import numpy as np
import pytest

from manyview import S2MVTC, AnchorSpectral
from manyview.baselines import BMVC
from manyview.datasets import make_views
from manyview.errors import InputError, NotFittedError, UnsupportedError
from manyview.present.model_page import MOST_CLUSTERS, MOST_POINTS, model_html
from manyview.report.shown_page import ShownPage


@pytest.fixture(scope="module")
def views():
    return make_views(150, (5, 4), 3, random_state=0)


@pytest.fixture(scope="module")
def model(views):
    return S2MVTC(3, random_state=0).fit(views)


def test_sizes_certainty_and_influence_are_told(model):
    text = model._repr_html_()
    for size in np.bincount(model.labels_):
        assert f">{size}<" in text
    for j in range(3):
        middle = np.median(model.certainty_[model.labels_ == j])
        assert f">{middle:.2f}<" in text
    for share in model.view_influence_:
        assert f">{share:.0%}<" in text
    assert "S2MVTC: 150 rows, 2 views, 3 clusters" in text


def test_the_map_has_a_point_for_every_row_in_its_clusters_colour(model):
    text = model_html(model)
    colours = re.findall(r'<circle [^>]*fill="(#\w+)"', text)
    assert len(colours) == 150
    sizes = sorted(colours.count(c) for c in set(colours))
    assert sizes == sorted(np.bincount(model.labels_).tolist())
    places = [float(x) for x in re.findall(r'c[xy]="([-\d.]+)"', text)]
    assert min(places) >= 0 and max(places) <= 100


def test_large_models_show_a_part():
    views = make_views(MOST_POINTS + 200, (6, 6), 25, random_state=0)
    text = model_html(AnchorSpectral(25, random_state=0).fit(views))
    assert text.count("<circle") == MOST_POINTS
    assert f"and {25 - MOST_CLUSTERS} smaller ones" in text


def test_names_are_escaped(views):
    arrays = dict(zip(("<b>", "&"), views.arrays, strict=True))
    text = model_html(S2MVTC(3, random_state=0).fit(arrays))
    assert "<b>" not in text and "&lt;b&gt;" in text


def test_methods_without_embedding_or_influence_show_what_they_have(views):
    model = BMVC(3, random_state=0).fit(views)
    assert "BMVC: 150 rows" in model._repr_html_()


def test_a_model_is_drawn_in_one_line(model, views):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    assert len(model.plot(layout="pca").axes) == 1
    assert len(model.plot(views.labels, layout="pca").axes) == 2
    with pytest.raises(InputError, match="one entry per row"):
        model.plot(views.labels[:10], layout="pca")
    with pytest.raises(NotFittedError):
        S2MVTC(3).plot()


def test_methods_without_an_embedding_say_so(views):
    model = BMVC(3, random_state=0).fit(views)
    vars(model).pop("embedding_", None)
    with pytest.raises(UnsupportedError, match="no embedding to draw"):
        model.plot()


def test_a_page_is_a_path_that_shows_itself(tmp_path):
    path = ShownPage(tmp_path / "page.html")
    assert path == tmp_path / "page.html" and path.name == "page.html"
    assert "page.html</code>" in path._repr_html_()
    path.write_text('<p title="a">hello</p>')
    assert 'srcdoc="&lt;p title=&#34;a&#34;&gt;hello' in path._repr_html_()
