"""Single gaps are filled with means, and a model fills new rows as its own were."""

import numpy as np
import pytest
import scipy.sparse as sp

from manyview import AnchorSpectral, Views, load_model
from manyview.baselines import ConcatKMeans
from manyview.errors import InputError


def new_model():
    return AnchorSpectral(4, n_graph_anchors=100, n_init=2, random_state=0)


@pytest.fixture
def holes(three_views):
    """Three named views, the second of whole numbers, with gaps in the first."""
    x, y, z = (v.copy() for v in three_views[0])
    x[::9, 0] = np.nan
    return {"a": x, "b": np.rint(y * 9).astype(int), "c": z}


@pytest.fixture
def model(holes):
    return new_model().fit(Views(holes).filled())


def test_new_rows_are_filled_with_the_means_of_the_fit(model, holes):
    np.testing.assert_array_equal(model.predict(holes), model.labels_)
    few = {name: x[:20] for name, x in holes.items()}  # their own means are others
    np.testing.assert_array_equal(model.predict(few), model.labels_[:20])
    np.testing.assert_array_equal(model.transform(few), model.embedding_[:20])


def test_gaps_in_a_view_that_had_none_are_filled_too(model, holes):
    late = {**holes, "b": holes["b"].astype(float)}
    late["b"][4, 1] = np.nan
    filled = late["b"].copy()
    filled[4, 1] = holes["b"][:, 1].mean()
    np.testing.assert_array_equal(
        model.predict(late), model.predict({**late, "b": filled})
    )


def test_means_follow_their_views(model, holes):
    other_way = {name: holes[name] for name in ("c", "a", "b")}
    np.testing.assert_array_equal(model.predict(other_way), model.labels_)
    turned = Views(holes).filled().in_order([2, 0, 1])
    again = new_model().fit(turned)
    assert [len(m) for m in again.fill_values_] == list(turned.n_features)
    assert new_model().fit(Views(holes).filled()[:90]).fill_values_ is not None


def test_it_is_saved_with_the_model(model, holes, tmp_path):
    again = load_model(model.save(tmp_path / "m.manyview"))
    np.testing.assert_array_equal(again.predict(holes), model.labels_)


def test_a_fit_without_filling_forgets_it(model, holes):
    whole = Views(holes).filled()
    plain = Views(dict(zip("abc", whole.arrays, strict=True)))
    model.fit(plain)
    assert not hasattr(model, "fill_values_")
    with pytest.raises(InputError, match=r"holds NaN.*--fill mean"):
        model.predict(holes)


def test_sparse_views_and_other_methods(holes):
    given = {**holes, "c": sp.csr_array(holes["c"])}
    found = ConcatKMeans(3, random_state=0).fit(Views(given).filled())
    assert found.fill_values_[2] is None
    np.testing.assert_array_equal(found.predict(given), found.labels_)


def test_other_views_cannot_be_filled_like_these(holes):
    with pytest.raises(InputError, match="Give the same views in the same order"):
        Views(holes).filled(like=Views(holes).without(0))
