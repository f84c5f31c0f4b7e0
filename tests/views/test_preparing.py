"""Tables, text and other things made into views, and new rows like the first."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import manyview
from manyview import S2MVTC, AnchorSpectral, ViewTransformer
from manyview.errors import DataWarning, InputError, InputTypeError, UnsavedWarning
from manyview.metrics import ari

DAYS = [dt.datetime(2024, 1, 1), None, dt.datetime(2024, 1, 3, 12)]


def mixed(kind, n=3):
    columns = {
        "age": [30, 41, 52],
        "city": ["Bonn", None, "Köln"],
        "member": [True, False, True],
        "since": DAYS,
    }
    return kind({name: values[:n] for name, values in columns.items()})


@pytest.fixture(scope="module")
def people():
    """300 rows in three groups, known by numbers, categories and text together."""
    rng = np.random.default_rng(0)
    group = np.arange(300) % 3
    table = pd.DataFrame(
        {
            "height": group + 0.5 * rng.normal(size=300),
            "city": np.array(["Bonn", "Köln", "Trier"])[group],
            "colour": rng.choice(["red", "green"], size=300),
        },
        index=[f"person {i}" for i in range(300)],
    )
    words = np.array(["apple pear plum", "nail saw hammer", "cello flute drum"])
    notes = [f"{words[g]} {rng.integers(9)}" for g in group]
    return {"person": table, "notes": notes}, group


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_numbers_and_dates_stay_and_categories_stand_beside_them(kind):
    views = ViewTransformer().fit_transform({"who": mixed(kind)})
    assert views.names == ("who", "who categories")
    assert views.feature_names[0] == ("age", "since")
    np.testing.assert_array_equal(views.view("who"), [[30, 0], [41, np.nan], [52, 2.5]])
    names = ("city=Bonn", "city=Köln", "member=False", "member=True")
    assert views.feature_names[1] == names
    ones = views.view("who categories")
    assert sp.issparse(ones)
    expected = [[1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 1]]
    np.testing.assert_array_equal(ones.toarray(), expected)


def test_a_single_table_and_other_views_stay_as_they_are():
    frame = pl.DataFrame({"a": [1.0, 2.0], "b": [3, 4]})
    views = ViewTransformer().fit_transform(frame)
    assert views.names == ("table",) and views.shape == (2, 2)
    both = ViewTransformer().fit_transform([frame, np.eye(2)])
    assert both.names == ("view0", "view1") and both.shape == (2, 4)


def test_new_rows_are_read_like_the_first():
    made = ViewTransformer().fit({"who": mixed(pl.DataFrame)})
    later = {"age": [7], "city": ["Mainz"], "member": [True]}
    later["since"] = [dt.datetime(2024, 1, 2)]
    views = made.transform({"who": pd.DataFrame(later)})
    np.testing.assert_array_equal(views.view("who"), [[7, 1]])
    np.testing.assert_array_equal(
        views.view("who categories").toarray(), [[0, 0, 0, 1]]
    )


def test_objects_that_are_all_numbers_or_all_dates_are_no_categories():
    days = [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(50)]
    table = pd.DataFrame({"day": days, "price": [Decimal(i) / 4 for i in range(50)]})
    table["mixed"] = pd.Series([1, "a"] * 25, dtype=object)
    made = ViewTransformer().fit(table)
    views = made.transform(table)
    assert views.feature_names == (("day", "price"), ("mixed=1", "mixed=a"))
    np.testing.assert_array_equal(views.arrays[0][2], [2, 0.5])
    empty = pd.DataFrame({name: [None] for name in table.columns})
    np.testing.assert_array_equal(made.transform(empty).arrays[0], [[np.nan] * 2])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"age": None}, "lacks 1 of the 4 columns of the fit: age"),
        ({"age": ["x"]}, "'age' held numbers in the fit and holds String now"),
        ({"since": [1.5]}, "'since' held dates in the fit and holds Float64 now"),
    ],
)
def test_new_rows_of_another_kind_are_refused(change, message):
    made = ViewTransformer().fit({"who": mixed(pl.DataFrame)})
    columns = {**mixed(pl.DataFrame, 1).to_dict(as_series=False), **change}
    columns = {name: values for name, values in columns.items() if values}
    with pytest.raises((InputError, InputTypeError), match=message):
        made.transform({"who": pl.DataFrame(columns)})


@pytest.mark.parametrize(
    ("given", "transformers", "message"),
    [
        (pl.DataFrame({"n": [f"name {i}" for i in range(50)]}), None, "50 different"),
        (pl.DataFrame({"n": [None, None]}), None, "'n' of 'table' holds nothing"),
        (pl.DataFrame({"n": [[1], [2]]}), None, "neither numbers, dates nor"),
        ({"a": np.eye(2)}, {"b": StandardScaler()}, "'b' .*; there are a. Name the"),
        (pl.DataFrame({"n": [1]}), {"b": (StandardScaler(), ["m"])}, "no columns m"),
        (np.eye(2), None, "must be a dict, a list or one table"),
    ],
)
def test_what_cannot_be_prepared_is_said(given, transformers, message):
    with pytest.raises((InputError, InputTypeError), match=message):
        ViewTransformer(transformers).fit(given)


def test_tables_are_matched_by_the_names_of_their_rows():
    first = pd.DataFrame({"a": [1.0, 2.0]}, index=["x", "y"])
    second = pd.DataFrame({"b": [2.0, 1.0]}, index=["y", "x"])
    with pytest.warns(DataWarning, match="'second' stand in another order"):
        views = ViewTransformer().fit_transform({"first": first, "second": second})
    np.testing.assert_array_equal(*views.arrays)
    with pytest.raises(InputError, match="name different rows"):
        ViewTransformer().fit({"first": first, "second": second[:1]})
    with pytest.raises(InputError, match="'notes' have no names"):
        ViewTransformer({"notes": TfidfVectorizer()}).fit(
            {"first": first, "second": second, "notes": ["a b", "c d"]}
        )
    views = ViewTransformer().fit_transform({"first": first, "copy": first})
    assert views.row_names.tolist() == ["x", "y"]


def test_columns_of_one_table_become_views(people):
    table = people[0]["person"]
    pairs = {
        "height": (StandardScaler(), ["height"]),
        "city": (OneHotEncoder(), ["city"]),
    }
    views = ViewTransformer(pairs).fit_transform(table)
    assert views.names == ("table", "height", "city")
    assert views.feature_names[0] == ("colour=green", "colour=red")
    assert views.feature_names[2] == ("city_Bonn", "city_Köln", "city_Trier")
    assert abs(np.asarray(views.view("height")).std() - 1) < 1e-9


def test_a_column_transformer_is_a_transformer(people):
    both = make_column_transformer((StandardScaler(), ["height"]), remainder="drop")
    views = ViewTransformer({"person": both, "notes": TfidfVectorizer()})
    assert views.fit_transform(people[0]).n_features[0] == 1
    assert clone(views).transformers["person"].remainder == "drop"


def test_groups_are_found_and_new_rows_placed_as_they_come(people):
    raw, group = people
    prepare = ViewTransformer({"notes": TfidfVectorizer()})
    views = prepare.fit_transform(raw)
    model = S2MVTC(3, n_graph_anchors=120, random_state=0).fit(views)
    assert ari(group, model.labels_) > 0.95
    new = {"person": raw["person"][:5], "notes": raw["notes"][:5]}
    np.testing.assert_array_equal(model.predict(new), model.labels_[:5])
    np.testing.assert_array_equal(
        model.predict(prepare.transform(new)), model.labels_[:5]
    )
    whole = make_pipeline(clone(prepare), clone(model)).fit(raw)
    np.testing.assert_array_equal(whole.predict(new), model.labels_[:5])
    model.refit(raw)
    assert {change.kind for change in model.changes_.events} == {"kept"}
    np.testing.assert_array_equal(model.predict(new), model.labels_[:5])
    # Fitted on other views, it forgets.
    assert not hasattr(model.fit(np.asarray(views.view("person"))), "preparation_")


def test_codes_of_tables_are_saved_with_the_model(people, tmp_path):
    raw = {"person": people[0]["person"]}
    views = ViewTransformer().fit_transform(raw)
    model = AnchorSpectral(3, random_state=0).fit(views)
    again = manyview.load_model(model.save(tmp_path / "m.manyview"))
    new = {"person": raw["person"][7:9]}
    np.testing.assert_array_equal(again.predict(new), model.labels_[7:9])


def test_transformers_of_others_are_not_saved_and_that_is_said(people, tmp_path):
    prepare = ViewTransformer({"notes": TfidfVectorizer()})
    views = prepare.fit_transform(people[0])
    model = AnchorSpectral(3, random_state=0).fit(views)
    with pytest.warns(UnsavedWarning, match="only pickles could hold them") as caught:
        path = model.save(tmp_path / "m.manyview")
    assert caught[0].filename == __file__  # the line of the caller's that saves
    again = manyview.load_model(path)
    assert not hasattr(again, "preparation_")
    np.testing.assert_array_equal(again.predict(views), model.labels_)
