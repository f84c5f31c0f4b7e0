import builtins
import re
from dataclasses import replace

import numpy as np
import pytest

from manyview import report
from manyview.baselines import ConcatKMeans
from manyview.errors import DependencyError, FileError
from manyview.metrics import clustering_scores
from manyview.order_audit import audit_order
from manyview.report import maps, render, write_report
from manyview.report.subject import of_model


def text_of(subject) -> str:
    return render(subject, "", layout="pca")


def test_the_page_is_one_file_with_nothing_to_load(evil_page) -> None:
    text = evil_page.read_text(encoding="utf-8")
    body = text[: text.index('<script type="application/json"')]
    assert not re.search(r'\b(src|href)="(?!data:)', body)
    assert "@import" not in body and "url(" not in body
    assert [p.name for p in evil_page.parent.iterdir()] == ["report.html"]


def test_no_name_becomes_markup(evil_model, evil_views) -> None:
    text = text_of(of_model(evil_model, evil_views))
    assert "<script>alert" not in text
    assert text.count("</script>") == text.count("<script")


def test_scores_settings_and_sizes_are_those_of_the_model(
    evil_model, evil_views
) -> None:
    text = text_of(of_model(evil_model, evil_views, timings={"fitting": 2.5}))
    for name, value in clustering_scores(evil_views.labels, evil_model.labels_).items():
        assert f"<td>{name}</td>" in text
        assert f">{100 * value:.1f} %<" in text
    for size in np.bincount(evil_model.labels_):
        assert f">{size}</td>" in text
    for setting in evil_model.get_params():
        assert f"<td>{setting}</td>" in text
    assert "2.50 s" in text and "manyview" in text


def test_typical_and_doubtful_rows_are_the_extremes(evil_model, evil_views) -> None:
    text = text_of(replace(of_model(evil_model, evil_views), row_names=None))
    certainty = evil_model.certainty_
    for j in range(3):
        rows = np.flatnonzero(evil_model.labels_ == j)
        for row in (rows[certainty[rows].argmax()], rows[certainty[rows].argmin()]):
            assert f"<td>row\u00a0{row}</td>" in text


def test_the_menu_groups_the_features_by_view(evil_model, evil_views) -> None:
    text = text_of(of_model(evil_model, evil_views))
    menu = text[text.index('<select id="colour">') : text.index("</select>")]
    first, second = re.findall(r"<optgroup label=.*?</optgroup>", menu, re.DOTALL)
    assert first.count("<option") == 5 and second.count("<option") == 4
    assert 'label="b &amp; &lt;b&gt;"' in second
    assert [int(i) for i in re.findall(r'value="(\d+)"', menu)] == list(range(9))


def test_parts_that_are_not_known_are_left_out(evil_model, evil_views) -> None:
    full = of_model(evil_model, evil_views)
    bare = replace(
        full, views=None, known=None, certainty=None, influence=None, objective=()
    )
    text = text_of(bare)
    for name in ("chart-views", "chart-classes", "chart-influence", "table-rows"):
        assert f'id="{name}"' in text_of(full)
        assert f'id="{name}"' not in text
    assert 'id="chart-map"' in text
    none = text_of(replace(bare, embedding=None))
    assert "There is no map" in none


def test_a_method_without_embedding_maps_its_views(evil_views) -> None:
    model = ConcatKMeans(3, random_state=0).fit(evil_views)
    text = text_of(of_model(model, evil_views))
    assert "all views side by side" in text and 'id="chart-map"' in text


def test_one_round_is_said_and_not_drawn(evil_model, evil_views) -> None:
    text = text_of(replace(of_model(evil_model, evil_views), objective=[4.0]))
    assert "a single round" in text and 'id="chart-objective"' not in text


def test_sampling_is_said(evil_model, evil_views, monkeypatch) -> None:
    monkeypatch.setattr(maps, "choose_rows", lambda n, most: np.arange(50))
    assert "50 of 150 rows are drawn" in text_of(of_model(evil_model, evil_views))


def test_an_audit_is_shown_with_its_sentence(evil_model, evil_views) -> None:
    audit = audit_order(evil_views, 3, estimator=ConcatKMeans())
    subject = of_model(evil_model, evil_views, audit=audit)
    text = text_of(subject)
    assert "shuffled run agrees" in text and "white noise in the given order" in text
    assert "No audit was given" not in text
    assert "No audit was given" in text_of(replace(subject, audit=None))


def test_an_order_that_makes_clusters_is_named(evil_model, evil_views) -> None:
    subject = of_model(evil_model, evil_views)
    assert "Nor do the clusters follow the order" in text_of(subject)
    inorder = replace(subject, labels=np.arange(150) // 50)
    assert "The data itself is sorted" in text_of(inorder)
    assert "An audit tells which" in text_of(replace(inorder, reads_order=True))


def test_plotly_missing_is_one_sentence(
    evil_model, evil_views, tmp_path, monkeypatch
) -> None:
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("plotly"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DependencyError, match="Reports need plotly"):
        evil_model.report(tmp_path / "r.html", evil_views)
    assert not list(tmp_path.iterdir())


def test_a_page_is_replaced_on_request_alone(evil_model, evil_views, tmp_path) -> None:
    page = tmp_path / "r.html"
    page.write_text("mine")
    with pytest.raises(FileError, match=r"exists already.*overwrite=True"):
        evil_model.report(page, evil_views, layout="pca")
    assert page.read_text() == "mine"
    evil_model.report(page, evil_views, layout="pca", overwrite=True)
    assert "chart-map" in page.read_text(encoding="utf-8")


def test_a_place_that_cannot_be_written_is_named_before_any_work(
    evil_model, evil_views, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(report, "of_model", None)
    with pytest.raises(FileError, match="was not written"):
        write_report(evil_model, tmp_path / "no" / "r.html", evil_views, layout="pca")
