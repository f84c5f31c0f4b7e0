"""Rows of views brought together by name: aligned, refused, joined as asked."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from manyview import AnchorSpectral, Views
from manyview.datasets import make_views
from manyview.errors import DataWarning, InputError

NAMES = [f"r{i}" for i in range(6)]


def table(rows, *, scale=1.0, columns="ab"):
    """Every row holds the number in its name, so that its place can be told."""
    values = [[scale * float(str(r).removeprefix("r"))] * len(columns) for r in rows]
    return pd.DataFrame(values, index=rows, columns=list(columns))


def test_the_same_rows_in_another_order_are_aligned_and_said():
    left, right = table(NAMES), table(NAMES[::-1], scale=10)
    with pytest.warns(
        DataWarning, match=r"'view1' stand in another .* \(6 rows\)"
    ) as w:
        views = Views([left, right])
    assert len(w) == 1 and w[0].filename == __file__
    assert list(views.row_names) == NAMES and views.present is None
    np.testing.assert_array_equal(views.arrays[1], 10 * views.arrays[0])


def test_an_aligned_fit_is_that_of_the_rows_in_one_order():
    data = make_views(80, (4, 3), 3, random_state=0)
    tables = [pd.DataFrame(x, index=[f"r{i}" for i in range(80)]) for x in data.arrays]
    mixed = [tables[0], tables[1].sample(frac=1.0, random_state=0)]
    model = AnchorSpectral(3, random_state=0).fit(tables)
    with pytest.warns(DataWarning, match="matched by name"):
        again = AnchorSpectral(3, random_state=0).fit(mixed)
    np.testing.assert_array_equal(again.labels_, model.labels_)
    with pytest.warns(DataWarning, match="matched by name"):
        np.testing.assert_array_equal(model.predict(mixed), model.labels_)


def test_equal_names_arrays_and_polars_stand_as_they_are():
    left = table(NAMES)
    views = Views([left, table(NAMES), np.eye(6), pl.DataFrame({"c": range(6)})])
    assert list(views.row_names) == NAMES
    np.testing.assert_array_equal(views.arrays[2], np.eye(6))


def test_different_rows_are_refused_with_counts():
    with pytest.raises(InputError) as caught:
        Views({"image": table(NAMES), "text": table(["r4", "r5", "r6"])})
    words = str(caught.value)
    assert "'image' has 6, 'text' has 3" in words
    assert "2 of 7 names (28.6%)" in words and "'r6'" in words
    assert "join='inner'" in words and "join='outer'" in words


def test_the_rows_that_all_have():
    views = Views([table(NAMES), table(["r6", "r5", "r2"], scale=10)], join="inner")
    assert list(views.row_names) == ["r2", "r5"] and views.present is None
    assert [x[:, 0].tolist() for x in views.arrays] == [[2, 5], [20, 50]]


def test_all_rows_with_missing_views():
    views = Views([table(["r1", "r2"]), table(["r2", "r3"], scale=10)], join="outer")
    assert list(views.row_names) == ["r1", "r2", "r3"]
    assert views.present.tolist() == [[True, False], [True, True], [False, True]]
    block = views.block(slice(0, 3))
    assert block.views[1][:, 0].tolist() == [0, 20, 30]


@pytest.mark.parametrize("join", ["inner", "outer"])
def test_a_join_that_was_asked_for_says_nothing(join):
    views = Views([table(NAMES), table(NAMES[::-1])], join=join)
    np.testing.assert_array_equal(*views.arrays)


def test_numbered_rows_are_names_as_well():
    """A table that lost rows no longer stands beside one that did not."""
    whole = table(range(6))
    with pytest.raises(InputError, match=r"4 of 6 names"):
        Views([whole, whole.iloc[2:]])
    with pytest.warns(DataWarning, match="matched by name"):
        views = Views([whole, whole.iloc[::-1]])
    np.testing.assert_array_equal(*views.arrays)


def test_rows_that_cannot_be_matched_get_a_sentence():
    twice = table(["r0", "r1", "r1"])
    assert len(Views([twice, twice])) == 3, "nothing to match"
    with pytest.raises(InputError, match=r"'view1' cannot .*2 of them are named 'r1'"):
        Views([table(NAMES[:3]), twice])
    with pytest.raises(InputError, match=r"'view2' have no names.*different orders"):
        Views([table(NAMES), table(NAMES[::-1]), np.eye(6)])
    with pytest.raises(InputError, match="'view0' have no names, and join='inner'"):
        Views([np.eye(6)], join="inner")
    with pytest.raises(InputError, match=r"0 of 4 names \(0\.0%\)"):
        Views([table(["r1", "r2"]), table(["r3", "r4"])], join="inner")
    with pytest.raises(InputError, match="join='left' is unknown"):
        Views([np.eye(6)], join="left")


def test_names_that_are_given_leave_the_rows_as_they_stand():
    mixed = [table(NAMES), table(NAMES[::-1])]
    views = Views(mixed, row_names=list("uvwxyz"))
    assert views.arrays[1][0, 0] == 5.0
    with pytest.raises(InputError, match="Give one of them"):
        Views(mixed, row_names=list("uvwxyz"), join="inner")
    present = np.ones((6, 2), bool)
    with pytest.raises(InputError, match="present= counts rows as they stand"):
        Views(mixed, present=present, join="inner")


def test_labels_with_an_index_follow_the_rows():
    labels = pd.Series(range(6), index=NAMES)
    views = Views(table(NAMES), labels=labels)
    assert views.labels.tolist() == list(range(6))
    with pytest.warns(DataWarning, match="index of labels stands in another order"):
        views = Views(table(NAMES), labels=labels[::-1])
    assert views.labels.tolist() == list(range(6))
    with pytest.raises(InputError, match="3 of 6 rows are found"):
        Views(table(NAMES), labels=labels[3:])
    assert Views(np.eye(6), labels=labels[::-1]).labels[0] == 5, "rows without names"


def test_levels_of_an_index_are_names():
    index = pd.MultiIndex.from_product([["a", "b"], [1, 2]])
    left = pd.DataFrame({"x": [1.0, 2, 3, 4]}, index=index)
    with pytest.warns(DataWarning, match="matched by name"):
        views = Views([left, left[::-1]])
    np.testing.assert_array_equal(*views.arrays)
    assert views.row_names[3] == ("b", 2)
