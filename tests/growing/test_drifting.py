"""`drift`: alarms at the stated rate, what has changed is named, any order."""

import numpy as np
import pytest

import manyview
from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC, drift
from manyview.baselines import ConcatKMeans
from manyview.datasets import make_views
from manyview.errors import InputError, InputTypeError, NotFittedError


@pytest.fixture(scope="module")
def views():
    return make_views(900, (6, 5, 4), 4, random_state=0)


@pytest.fixture(scope="module")
def model(views):
    return S2MVTC(4, random_state=0).fit(views[:600])


def changed(views, v, change, rows=slice(600, None)):
    arrays = [np.array(a[rows]) for a in views.arrays]
    arrays[v] = change(arrays[v])
    return arrays


def test_rows_like_those_of_the_fit_fit(model, views):
    found = drift(model, views[600:])
    assert not found.drifted and found.views == [] and found.clusters == []
    assert "every view fits" in found.sentence and "0.01" in found.sentence
    assert found.sizes.sum() == found.n_rows == 300
    np.testing.assert_allclose(found.expected.sum(), 300)


@pytest.mark.parametrize("v", [0, 1, 2])
def test_the_view_that_has_changed_is_named(model, views, v):
    found = drift(model, changed(views, v, lambda x: 1.4 * x))
    assert found.drifted and found.views == [views.names[v]]
    assert repr(views.names[v]) in found.sentence


def test_one_cluster_that_has_moved_is_named(model, views):
    labels = model.predict(views[600:])
    rng = np.random.default_rng(0)

    def spread(x):
        own = labels == 2
        return x + own[:, None] * rng.normal(0, 1.5, size=x.shape)

    found = drift(model, changed(views, 1, spread))
    assert found.clusters == [2] and found.views == [views.names[1]]
    assert found.ratios[2, 1] > 1.2 > found.ratios[[0, 1, 3], 1].max()


def test_other_shares_alone_are_no_drift(model, views):
    """Fewer rows of one cluster still look as they did."""
    labels = model.predict(views)
    rows = np.arange(600, 900)
    rows = rows[(labels[600:] != 1) | (np.arange(300) % 8 == 0)]
    found = drift(model, views[rows])
    assert 1 in found.shares and not found.drifted
    assert "shares of clusters" in found.sentence


def test_a_view_that_no_new_row_has_is_not_said_to_fit(model, views):
    found = drift(model, changed(views, 1, lambda x: np.full_like(x, np.nan)))
    name = views.names[1]
    assert found.unseen == [name] and not found.drifted
    said = f"every other view fits the model; view {name!r} could not be compared"
    assert said in found.sentence
    verdicts = [row[-1].text for row in found.tables()[0].rows]
    assert verdicts == ["fits", "not compared", "fits"]


def test_the_order_of_the_rows_does_not_matter(model, views):
    new = changed(views, 0, lambda x: 1.1 * x)
    mixed = np.random.default_rng(0).permutation(300)
    one, two = drift(model, new), drift(model, [x[mixed] for x in new])
    np.testing.assert_array_equal(one.p_cells, two.p_cells)
    np.testing.assert_array_equal(one.p_views, two.p_views)


def test_a_lower_rate_is_harder_to_reach(model, views):
    new = changed(views, 0, lambda x: 1.15 * x)
    p = drift(model, new).p_views[0]
    assert 0 < p < 0.01
    assert drift(model, new, rate=2 * p).drifted
    assert not drift(model, new, rate=p / 2).drifted


@pytest.mark.slow
def test_alarms_are_as_rare_as_stated():
    """Two hundred checks of rows that have not changed, at a rate of one in ten."""
    alarms, few = 0, {"n_init": 2, "n_graph_anchors": 200}
    for seed in range(20):
        views = make_views(2200, (4, 3), 3, random_state=seed)
        fitted = AnchorSpectral(3, **few, random_state=seed).fit(views[:1200])
        for start in range(1200, 2200, 100):
            found = drift(fitted, views[start : start + 100], rate=0.1)
            alarms += found.drifted or bool(found.shares)
    # Binomial(200, .1) exceeds 32 in three of a thousand.
    assert alarms <= 32


def test_rows_without_a_view_are_compared_in_the_others(views):
    rng = np.random.default_rng(0)
    arrays = [np.array(a) for a in views.arrays]
    arrays[1][rng.random(900) < 0.3] = np.nan
    fitted = S2MVTC(4, random_state=0).fit([a[:600] for a in arrays])
    later = [a[600:] for a in arrays]
    assert not drift(fitted, later).drifted
    later[1] = 2 * later[1]
    assert drift(fitted, later).views == ["view1"]


@pytest.mark.parametrize(
    "estimator", [AnchorSpectral(4, random_state=0), SequenceS2MVTC(4, random_state=0)]
)
def test_methods_of_passes_can_be_asked(estimator, views):
    fitted = estimator.fit(views[:600])
    assert drift(fitted, changed(views, 0, lambda x: 2 * x)).views == [views.names[0]]


def test_a_saved_model_finds_the_same(model, views, tmp_path):
    again = manyview.load_model(model.save(tmp_path / "m.manyview"))
    new = changed(views, 0, lambda x: 1.1 * x)
    np.testing.assert_array_equal(drift(model, new).p_cells, drift(again, new).p_cells)


def test_what_cannot_be_asked_is_said(model, views):
    with pytest.raises(InputTypeError, match=r"S2MVTC.*got ConcatKMeans"):
        drift(ConcatKMeans(3).fit(views), views)
    with pytest.raises(NotFittedError, match="not fitted"):
        drift(S2MVTC(3), views)
    with pytest.raises(InputError, match="features"):
        drift(model, [a[:, :-1] for a in views.arrays])
    with pytest.raises(InputError, match=r"rate=1\.5 must lie between 0 and 1"):
        drift(model, views, rate=1.5)
    with pytest.raises(InputError):
        drift(model, [a[:0] for a in views.arrays])
    old = S2MVTC(4, random_state=0).fit(views)
    old._reach = old._reach._replace(distances=None, labels=None)
    with pytest.raises(InputError, match=r"earlier release.*Fit it again"):
        drift(old, views)


def test_the_tables_and_the_picture_show_it(model, views):
    found = drift(model, changed(views, 2, lambda x: 1.5 * x))
    first, second = found.tables()
    assert [row[-1].text for row in first.rows] == ["fits", "fits", "no longer fits"]
    assert len(second.rows) == 4
    assert "no longer fits" in str(found) and "<table" in found._repr_html_()
    pytest.importorskip("matplotlib", reason="no matplotlib")
    axis = found.figure().axes[0]
    marks = sum(text.get_text() == "×" for text in axis.texts)
    assert marks == (found.p_cells <= found.rate).sum() > 0
