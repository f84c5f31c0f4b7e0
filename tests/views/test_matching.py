"""New views for a model: views and columns by name, refused where names differ."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from manyview import S2MVTC, AnchorSpectral, Views, load_model
from manyview.baselines import BMVC, OPMC, ConcatKMeans
from manyview.datasets import load, make_views
from manyview.errors import InputError
from manyview.explain import explain

DATA = make_views(90, (4, 4, 3), 3, random_state=1)
NAMED = dict(zip(("image", "sound", "text"), DATA.arrays, strict=True))
BACK = dict(reversed(NAMED.items()))


def tables(names="abcd"):
    return [pd.DataFrame(x, columns=list(names)[: x.shape[1]]) for x in DATA.arrays]


@pytest.fixture(scope="module")
def model():
    return S2MVTC(3, random_state=0).fit(NAMED)


@pytest.fixture(scope="module")
def of_tables():
    return AnchorSpectral(3, random_state=0).fit(tables())


def test_views_are_taken_by_name_in_any_order(model):
    np.testing.assert_array_equal(model.predict(BACK), model.predict(NAMED))
    np.testing.assert_array_equal(model.transform(BACK), model.transform(NAMED))
    named = Views(list(BACK.values()), names=list(BACK))
    np.testing.assert_array_equal(model.predict(named), model.labels_)


@pytest.mark.parametrize("kind", [ConcatKMeans, OPMC, BMVC])
def test_every_method_takes_views_by_name(kind):
    fitted = kind(3, random_state=0).fit(NAMED)
    np.testing.assert_array_equal(fitted.predict(BACK), fitted.predict(NAMED))


def test_explanations_and_reports_take_views_by_name(model, tmp_path):
    pytest.importorskip("plotly")
    plain = explain(model, NAMED, leave_out=False)
    again = explain(model, BACK, leave_out=False)
    assert again.view_names == plain.view_names == ("image", "sound", "text")
    assert again.effects == plain.effects
    smelt = {("smell" if k == "text" else k): x for k, x in NAMED.items()}
    with pytest.raises(InputError, match=r"Missing: text\. Not known: smell"):
        model.report(tmp_path / "r.html", smelt)


def test_other_names_are_refused(model):
    other = {("touch" if k == "text" else k): x for k, x in NAMED.items()}
    with pytest.raises(InputError) as caught:
        model.predict(other)
    words = str(caught.value)
    assert "fitted on the views image, sound, text; got image, sound, touch" in words
    assert "Missing: text. Not known: touch." in words
    with pytest.raises(InputError, match="Missing: sound"):
        model.predict({k: x for k, x in NAMED.items() if k != "sound"})


def test_views_without_names_stand_where_they_stand(model):
    np.testing.assert_array_equal(model.predict(list(NAMED.values())), model.labels_)
    unnamed = AnchorSpectral(3, random_state=0).fit(list(NAMED.values()))
    np.testing.assert_array_equal(unnamed.predict(NAMED), unnamed.labels_)


def test_names_of_files_are_matched_but_not_demanded(model, tmp_path):
    def files(*names):
        for name in names:
            np.save(tmp_path / f"{name}.npy", NAMED[name.removeprefix("new_")])
        return load([tmp_path / f"{name}.npy" for name in names])

    mixed = files("text", "image", "sound")
    np.testing.assert_array_equal(model.predict(mixed), model.labels_)
    new = files("new_image", "new_sound", "new_text")
    np.testing.assert_array_equal(model.predict(new), model.labels_)
    with pytest.raises(InputError, match="got sound, new_image, text"):
        model.predict(files("sound", "new_image", "text"))


def test_columns_are_taken_by_name_in_any_order(of_tables):
    mixed = [t[list(reversed(t.columns))] for t in tables()]
    np.testing.assert_array_equal(of_tables.predict(mixed), of_tables.labels_)
    sparse = Views(
        [sp.csr_array(t.to_numpy()) for t in mixed],
        feature_names=[list(t.columns) for t in mixed],
    )
    np.testing.assert_array_equal(of_tables.predict(sparse), of_tables.labels_)


def test_columns_on_disk_are_taken_by_name(of_tables, tmp_path):
    h5py = pytest.importorskip("h5py")
    mixed = [t[list(reversed(t.columns))] for t in tables()]
    names = [list(t.columns) for t in mixed]
    np.save(tmp_path / "first.npy", mixed[0].to_numpy())
    with h5py.File(tmp_path / "rest.h5", "w") as file:
        arrays = [np.load(tmp_path / "first.npy", mmap_mode="r")]
        arrays += [
            file.create_dataset(f"v{i}", data=t.to_numpy())
            for i, t in enumerate(mixed[1:])
        ]
        found = of_tables.predict(Views(arrays, feature_names=names))
    np.testing.assert_array_equal(found, of_tables.labels_)


def test_dask_columns_and_views_are_taken_by_name(of_tables, model):
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    mixed = [dd.from_pandas(t[list(reversed(t.columns))], 2) for t in tables()]
    np.testing.assert_array_equal(of_tables.predict(mixed), of_tables.labels_)
    chunks = {k: da.from_array(x, chunks=(45, -1)) for k, x in BACK.items()}
    np.testing.assert_array_equal(model.predict(chunks), model.labels_)


def test_other_columns_are_refused(of_tables):
    first, *rest = tables()
    renamed = first.rename(columns={"a": "A", "c": "C"})
    with pytest.raises(InputError) as caught:
        of_tables.predict([renamed, *rest])
    words = str(caught.value)
    assert "columns of view 'view0' are not those of the fit" in words
    assert "Missing: a, c. Not known: A, C." in words
    with pytest.raises(InputError, match=r"Not known: more"):
        of_tables.predict([first.assign(more=1.0), *rest])
    twice = first.set_axis(list("aabb"), axis=1)
    with pytest.raises(InputError, match=r"Missing: c, d"):
        of_tables.predict(
            Views(
                [twice.to_numpy(), *rest],
                feature_names=[list("aabb"), *(list(t.columns) for t in rest)],
            )
        )


def test_columns_without_names_stand_where_they_stand(of_tables):
    np.testing.assert_array_equal(of_tables.predict(DATA), of_tables.labels_)
    numbered = [pd.DataFrame(x) for x in DATA.arrays]
    np.testing.assert_array_equal(of_tables.predict(numbered), of_tables.labels_)
    plain = AnchorSpectral(3, random_state=0).fit(numbered)
    np.testing.assert_array_equal(plain.predict(tables()), plain.labels_)


def test_one_table_goes_by_scikit_learns_rule():
    """Its order must be that of the fit; see sklearn's check of feature names."""
    table = tables()[0]
    fitted = AnchorSpectral(3, random_state=0).fit(table)
    with pytest.raises(InputError, match="same order"):
        fitted.predict(table[list("dcba")])
    with pytest.raises(InputError, match="unseen at fit time"):
        fitted.predict(table.rename(columns={"a": "A"}))


def test_names_survive_a_model_file(model, of_tables, tmp_path):
    again = load_model(model.save(tmp_path / "m.manyview"))
    np.testing.assert_array_equal(again.predict(BACK), model.labels_)
    other = load_model(of_tables.save(tmp_path / "t.manyview"))
    mixed = [t[list(reversed(t.columns))] for t in tables()]
    np.testing.assert_array_equal(other.predict(mixed), of_tables.labels_)
