"""Model files: whole state back, nothing hostile in."""

import hashlib
import io
import json
import pickle
import re
import subprocess
import sys
import zipfile
from datetime import timedelta

import numpy as np
import pandas as pd
import pytest

import manyview
from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC
from manyview.checks import example_views
from manyview.errors import (
    FileError,
    InputTypeError,
    NotFittedError,
    OutsideWarning,
    ResourceError,
    UnsupportedError,
)
from manyview.files import container
from manyview.files.schema import PLACE
from manyview.methods import all_methods
from manyview.stages.durations import seconds
from reliability.numbers import FEW_STEPS

VERSION = re.escape(manyview.__version__)


@pytest.fixture(scope="module")
def fitted():
    return AnchorSpectral(3, random_state=0).fit(example_views())


@pytest.fixture
def saved(fitted, tmp_path):
    return fitted.save(tmp_path / "three.manyview")


def sealed(parts, tmp_path, *, compression=zipfile.ZIP_STORED):
    """A file with a valid checksum around whatever entries are given."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in parts:
            archive.writestr(name, content)
        archive.comment = container.COMMENT + b"0" * container.DIGEST_BYTES
    body = out.getvalue()[: -container.DIGEST_BYTES]
    path = tmp_path / "hostile.manyview"
    path.write_bytes(body + hashlib.sha256(body).hexdigest().encode())
    return path


def assert_refused(path, sentence):
    """Loading must fail in a sentence that names the file and what is wrong with it."""
    with pytest.raises(FileError, match=sentence) as caught:
        manyview.load_model(path)
    assert str(caught.value).count(path.name) == 1


def parts_of(path):
    with zipfile.ZipFile(path) as archive:
        return [(name, archive.read(name)) for name in archive.namelist()]


def npy(array, **options):
    out = io.BytesIO()
    np.save(out, array, **options)
    return out.getvalue()


@pytest.mark.parametrize("method", all_methods(), ids=lambda m: m.name)
def test_every_method_comes_back_whole(method, tmp_path):
    if not method.is_installed:
        pytest.skip(f"{method.name} needs a library that is not installed")
    views = example_views()
    few_steps = FEW_STEPS.get(method.name, {})
    model = method.estimator(n_clusters=3, random_state=0, **few_steps).fit(views)
    again = manyview.load_model(model.save(tmp_path / "m.manyview"))
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert np.array_equal(again.labels_, model.labels_)
    assert set(vars(again)) == set(vars(model))
    if hasattr(model, "predict"):
        assert np.array_equal(again.predict(views), model.predict(views))
    if hasattr(model, "transform"):
        assert np.array_equal(again.transform(views), model.transform(views))


@pytest.mark.filterwarnings("ignore::manyview.errors.OrderWarning")
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (SequenceS2MVTC, {"smoothing_weight": 0.0}),
        (SequenceS2MVTC, {"kernel": "linear", "assign": "correlation", "n_low": 4}),
        (SequenceS2MVTC, {"start": "directions", "row_norm": "zscore", "n_low": 4}),
        (SequenceS2MVTC, {"graph": True, "n_low": 4}),
        (S2MVTC, {"scaling": "root"}),
        (S2MVTC, {"lam": 1.0, "max_iter": 3}),
        (S2MVTC, {"random_state": np.random.default_rng(4)}),
        (S2MVTC, {"anchors": [np.eye(4), np.eye(6), np.eye(3)], "dtype": np.float32}),
    ],
)
def test_every_setting_comes_back(kind, options, tmp_path):
    views = [np.abs(x) for x in example_views()]
    model = kind(3, **{"random_state": 0, **options}).fit(views)
    again = manyview.load_model(model.save(tmp_path / "m.manyview"))
    assert np.array_equal(again.predict(views), model.predict(views))
    assert np.array_equal(again.certainty_, model.certainty_)


@pytest.mark.slow
def test_another_process_predicts_the_same(fitted, saved, tmp_path):
    views = example_views()
    np.savez(tmp_path / "views.npz", *views)
    code = (
        "import sys, numpy as np, manyview\n"
        "views = list(np.load(sys.argv[2]).values())\n"
        "print(manyview.load_model(sys.argv[1]).predict(views).tolist())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(saved), str(tmp_path / "views.npz")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(run.stdout) == fitted.predict(views).tolist()


def test_feature_names_of_a_table_come_back(tmp_path):
    table = pd.DataFrame(example_views()[0], columns=list("abcd"))
    model = AnchorSpectral(3, random_state=0).fit(table)
    again = manyview.load_model(model.save(tmp_path / "m.manyview"))
    assert again.feature_names_in_.tolist() == list("abcd")
    assert np.array_equal(again.predict(table), model.labels_)


def test_where_it_ran_is_not_saved(tmp_path):
    model = AnchorSpectral(3, random_state=0, verbose=True).fit(example_views())
    path = model.save(tmp_path / "m.manyview")
    assert manyview.load_model(path).verbose is False
    assert manyview.load_model(path, verbose=True).verbose is True


@pytest.mark.parametrize("value", [object(), len, {1: 2}, np.array([object()]), {3}])
def test_other_values_are_refused_when_saving(value, tmp_path):
    model = AnchorSpectral(3, random_state=0).fit(example_views())
    model.note_ = value
    with pytest.raises(InputTypeError, match="cannot be saved: note_ holds"):
        model.save(tmp_path / "m.manyview")
    assert list(tmp_path.iterdir()) == []


def test_a_parameter_that_cannot_be_saved_is_named(tmp_path):
    model = AnchorSpectral(3, random_state=0).fit(example_views())
    model.n_init = object()
    with pytest.raises(InputTypeError, match="cannot be saved: parameter n_init holds"):
        model.save(tmp_path / "m.manyview")


def test_a_foreign_estimator_or_an_unfitted_one_is_refused(tmp_path):
    class Mine(AnchorSpectral):
        pass

    said = r"Mine is no method of this package.* files\. Keep .* in arrays\.$"
    with pytest.raises(InputTypeError, match=said):
        Mine(3, random_state=0).fit(example_views()).save(tmp_path / "m.manyview")
    with pytest.raises(NotFittedError):
        AnchorSpectral(3).save(tmp_path / "m.manyview")


def test_a_folder_that_is_not_there_gets_a_sentence(fitted, tmp_path):
    with pytest.raises(FileError, match="not written"):
        fitted.save(tmp_path / "nowhere" / "m.manyview")
    with pytest.raises(FileError, match="could not be read"):
        manyview.load_model(tmp_path / "nothing.manyview")


def test_what_is_no_path_is_said_of_the_file_of_a_model(fitted):
    said = "^The file of a model must be a path; got int"
    with pytest.raises(InputTypeError, match=said):
        fitted.save(3)
    with pytest.raises(InputTypeError, match=said):
        manyview.load_model(3)


def test_a_hidden_value_that_files_do_not_know_is_refused(tmp_path):
    model = AnchorSpectral(3, random_state=0).fit(example_views())
    model._note = 1
    said = r"cannot be saved: _note is no fitted .* know\. Remove it .* ends in _\.$"
    with pytest.raises(InputTypeError, match=said):
        model.save(tmp_path / "m.manyview")


def test_a_failed_save_leaves_the_old_file(saved, monkeypatch):
    before = saved.read_bytes()

    def fail(*args, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np.lib.format, "write_array", fail)
    with pytest.raises(FileError, match="No space left"):
        other = AnchorSpectral(3, random_state=1).fit(example_views())
        other.save(saved, overwrite=True)
    assert saved.read_bytes() == before
    assert [p.name for p in saved.parent.iterdir()] == [saved.name]


def test_a_file_is_replaced_on_request_alone(saved):
    other, before = AnchorSpectral(3).fit(example_views()), saved.read_bytes()
    with pytest.raises(FileError, match=r"exists already.*overwrite=True"):
        other.save(saved)
    assert saved.read_bytes() == before
    assert np.array_equal(
        manyview.load_model(other.save(saved, overwrite=True)).labels_, other.labels_
    )


def test_a_flipped_byte_anywhere_is_refused(saved):
    whole = saved.read_bytes()
    places = np.random.default_rng(0).integers(0, len(whole), 60).tolist()
    for place in [0, 5, 30, len(whole) - 1, len(whole) - 70, len(whole) - 100, *places]:
        changed = bytearray(whole)
        changed[place] ^= 1
        saved.write_bytes(changed)
        with pytest.raises(FileError, match=r"damaged|no model file"):
            manyview.load_model(saved)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.5, 0.999])
def test_a_truncated_file_is_refused(saved, share):
    whole = saved.read_bytes()
    saved.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(FileError, match="no model file"):
        manyview.load_model(saved)


def test_a_zip_bomb_is_refused(saved, tmp_path):
    parts = [*parts_of(saved), ("arrays/999.npy", npy(np.zeros(10**6)))]
    bomb = sealed(parts, tmp_path, compression=zipfile.ZIP_DEFLATED)
    assert_refused(bomb, "it holds compressed entries, which could grow without end.")


def test_a_header_that_promises_too_much_is_refused(saved, tmp_path):
    huge = npy(np.zeros(2)).replace(b"(2,)", b"(9999999999999,)")
    parts = [(n, huge if n == "arrays/0.npy" else c) for n, c in parts_of(saved)]
    assert_refused(
        sealed(parts, tmp_path), r"arrays/0\.npy in .*(damaged|no valid npy)"
    )


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/passwd", "arrays/../../x.npy", "arrays/00.npy", "x.py"]
)
def test_other_entries_are_refused(saved, tmp_path, name):
    hostile = sealed([*parts_of(saved), (name, b"1")], tmp_path)
    assert_refused(hostile, "it holds an entry named")


def test_doubled_and_missing_entries_are_refused(saved, tmp_path):
    parts = parts_of(saved)
    for wrong in (
        [*parts, ("arrays/77.npy", npy(np.zeros(1)))],
        parts[:-2] + parts[-1:],
    ):
        assert_refused(sealed(wrong, tmp_path), "it holds missing or doubled entries.")


def test_a_pickled_array_is_refused(saved, tmp_path):
    class Evil:
        def __reduce__(self):
            return (print, ("this must never run",))

    bad = npy(np.array([Evil()], dtype=object), allow_pickle=True)
    parts = [(n, bad if n == "arrays/0.npy" else c) for n, c in parts_of(saved)]
    assert_refused(sealed(parts, tmp_path), "pickled")
    path = tmp_path / "plain.manyview"
    path.write_bytes(pickle.dumps(Evil()))
    with pytest.raises(FileError, match="no model file"):
        manyview.load_model(path)


def changed(saved, tmp_path, change):
    parts = parts_of(saved)
    meta = json.loads(parts[0][1])
    change(meta)
    return sealed([(parts[0][0], json.dumps(meta)), *parts[1:]], tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda m: m.update(version=99), "version 99"),
        (lambda m: m.update(format="other"), "describes no model"),
        (lambda m: m.update({"class": "os.system"}), "does not have"),
        (lambda m: m.update(fitted=[]), "no parameters"),
        (lambda m: m["fitted"].update(predict=None), "nothing named predict"),
        (lambda m: m["fitted"].update(certainty_=None), "nothing named certainty_"),
        (lambda m: m["fitted"].update({"a b": None}), "nothing named a b"),
        (lambda m: m["params"].update(evil=1), "nothing named evil"),
        (lambda m: m["fitted"].update(x_={"array": 10**6}), "not there"),
        (lambda m: m["fitted"].update(x_={"array": "0"}), "not there"),
        (lambda m: m["fitted"].update(x_={"code": "1"}), "kind 'code'"),
        (lambda m: m["fitted"].update(x_={"record": ["Popen", {}]}), "'Popen'"),
        (lambda m: m["fitted"].update(x_={"record": ["piece", {"a": 1}]}), "named 'a'"),
        (lambda m: m["fitted"].update(x_={"record": ["piece", {"view": 1}]}), "broken"),
        (lambda m: m["fitted"].update(x_={"record": [["piece"], {}]}), "broken"),
        (lambda m: m["fitted"].update(_centres=None), "nothing named _centres"),
        (lambda m: m["fitted"].update(x=None), "nothing named x"),
        (lambda m: m["fitted"].update(x_=[1]), "without a kind"),
        (lambda m: m["fitted"].update(x_={"dtype": "O"}), "data type"),
    ],
)
def test_a_file_that_describes_something_else_is_refused(
    saved, tmp_path, change, sentence
):
    assert_refused(changed(saved, tmp_path, change), sentence)


def test_nesting_without_end_is_refused(saved, tmp_path):
    deep = b"[" * 200_000 + b"]" * 200_000
    assert_refused(sealed([("model.json", deep)], tmp_path), "no JSON")


def test_values_nested_without_end_are_refused(saved, tmp_path):
    (_, text), *rest = parts_of(saved)
    deep = b'{"list": [' * 3000 + b"null" + b"]}" * 3000
    for version in (b"1", b"2", b"3", b"4", b"5"):
        text = re.sub(rb'"version": \d', b'"version": ' + version, text)
        hostile = text.replace(b'"fitted": {', b'"fitted": {"x_": ' + deep + b", ")
        path = sealed([("model.json", hostile), *rest], tmp_path)
        assert_refused(path, r"broken|no JSON")


def test_a_file_beyond_the_limit_is_not_read(saved):
    with pytest.raises(ResourceError, match="more than the limit"):
        manyview.load_model(saved, memory_limit=1000)


def test_the_file_says_what_it_is(fitted, saved):
    (name, text), *arrays = parts_of(saved)
    assert name == "model.json"
    meta = json.loads(text)
    assert meta["format"] == "manyview model" and meta["version"] == 6
    assert meta["manyview"] == manyview.__version__
    assert meta["class"] == "AnchorSpectral"
    assert meta["rows kept"] == 0
    known = {"format", "version", "manyview", "class", "rows kept", "params", "fitted"}
    assert set(meta) == known
    assert meta["params"]["n_clusters"] == 3
    assert not set(meta["params"]) & set(PLACE)
    assert "labels_" in meta["fitted"]
    assert not [name for name in meta["fitted"] if name.startswith("_")]
    numbered = [f"arrays/{i}.npy" for i in range(len(arrays))]
    assert [name for name, _ in arrays] == numbered


def test_the_same_model_gives_the_same_bytes(fitted, saved, tmp_path):
    """No date, no place and no chance in a file: it can be compared by its bytes."""
    again = fitted.save(tmp_path / "again.manyview")
    assert again == tmp_path / "again.manyview"
    assert again.read_bytes() == saved.read_bytes()
    with zipfile.ZipFile(saved) as archive:
        dates = {info.date_time for info in archive.infolist()}
        kinds = {info.compress_type for info in archive.infolist()}
        assert archive.comment.startswith(b"manyview-sha256:")
    assert dates == {(1980, 1, 1, 0, 0, 0)}
    assert kinds == {zipfile.ZIP_STORED}


def test_the_file_says_how_many_rows_it_holds(tmp_path):
    model = AnchorSpectral(3, random_state=0).partial_fit(example_views())
    saved = model.save(tmp_path / "m.manyview")
    assert model.n_rows_kept_ == len(example_views()[0])
    assert json.loads(parts_of(saved)[0][1])["rows kept"] == model.n_rows_kept_


def test_what_scikit_learn_hides_in_an_estimator_is_not_saved(tmp_path):
    model = AnchorSpectral(3, random_state=0).fit(example_views())
    model._sklearn_note = model._skl_note = object()
    again = manyview.load_model(model.save(tmp_path / "m.manyview"))
    assert not [name for name in vars(again) if name.startswith("_skl")]


@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_several_megabytes_come_back(tmp_path, order):
    model = AnchorSpectral(3, random_state=0).fit(example_views())
    model.note_ = np.asarray(np.arange(600_000.0).reshape(1000, 600), order=order)
    path = model.save(tmp_path / "m.manyview")
    back = manyview.load_model(path).note_
    assert np.array_equal(back, model.note_)
    assert back.flags.writeable and back.flags.owndata
    assert back.flags.c_contiguous == (order == "C")
    whole = bytearray(path.read_bytes())
    whole[3_000_000] ^= 1
    path.write_bytes(whole)
    with pytest.raises(FileError, match="damaged"):
        manyview.load_model(path)


def test_an_array_without_entries_comes_back(tmp_path):
    model = AnchorSpectral(3, random_state=0).fit(example_views())
    model.note_ = np.zeros((0, 4), dtype="f4")
    back = manyview.load_model(model.save(tmp_path / "m.manyview")).note_
    assert back.shape == (0, 4) and back.dtype == np.float32


def test_a_home_folder_is_found(fitted, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    assert fitted.save("~/m.manyview") == tmp_path / "m.manyview"
    assert np.array_equal(manyview.load_model("~/m.manyview").labels_, fitted.labels_)


def test_the_limit_is_the_size_of_the_file(saved):
    size = saved.stat().st_size
    assert manyview.load_model(saved, memory_limit=size).n_clusters == 3
    with pytest.raises(ResourceError, match=rf"model {saved.name} would need"):
        manyview.load_model(saved, memory_limit=size - 1)


def test_a_description_beyond_its_limit_is_not_read(saved, monkeypatch):
    with zipfile.ZipFile(saved) as archive:
        size = archive.getinfo("model.json").file_size
    monkeypatch.setattr(container, "MOST_JSON_BYTES", size)
    manyview.load_model(saved)
    monkeypatch.setattr(container, "MOST_JSON_BYTES", size - 1)
    assert_refused(saved, "it holds entries that claim more bytes than there are.")


def test_an_archive_that_is_none_is_refused(tmp_path):
    body = b"PK no archive at all" + container.COMMENT
    path = tmp_path / "m.manyview"
    path.write_bytes(body + hashlib.sha256(body).hexdigest().encode())
    assert_refused(path, r"refused: it is no plain zip .*Save the model again\.$")


def test_an_entry_twice_is_refused(saved, tmp_path):
    parts = parts_of(saved)
    with pytest.warns(UserWarning, match="Duplicate name"):
        path = sealed([*parts[:-1], parts[-2]], tmp_path)
    assert_refused(path, "missing or doubled")


def test_every_refusal_names_the_file_and_what_to_do(saved, tmp_path):
    whole = saved.read_bytes()
    saved.write_bytes(whole[:-1])
    with pytest.raises(FileError, match=r"^three\.manyview is no model .*cut short\.$"):
        manyview.load_model(saved)
    saved.write_bytes(whole[:50] + b"?" + whole[51:])
    with pytest.raises(FileError, match=r"^three\.manyview is damaged.*it again\.$"):
        manyview.load_model(saved)
    saved.write_bytes(whole)
    strange = sealed([*parts_of(saved), ("x" * 300, b"1")], tmp_path)
    with pytest.raises(FileError, match=r"named 'x{80}'\. Only load files that save"):
        manyview.load_model(strange)
    old = changed(saved, tmp_path, lambda meta: meta.update(version=0, manyview="0.9"))
    with pytest.raises(
        FileError, match=r"version 0 .*reads versions 1 to 6.*manyview 0\.9"
    ):
        manyview.load_model(old)
    gone = {"class": "Gone", "manyview": "0.9"}
    other = changed(saved, tmp_path, lambda meta: meta.update(gone))
    with pytest.raises(FileError, match=r"'Gone', .*Load it with manyview 0\.9\.$"):
        manyview.load_model(other)
    with pytest.raises(FileError, match=r"could not be read: Is a directory\. Give a"):
        manyview.load_model(tmp_path)


@pytest.mark.parametrize("text", [b"{", b"[1]", b'"manyview model"', b"{}"])
def test_other_descriptions_are_refused(saved, tmp_path, text):
    parts = [("model.json", text), *parts_of(saved)[1:]]
    hostile = sealed(parts, tmp_path)
    assert_refused(hostile, r"a model\.json that (is no JSON|describes no model)\.")


@pytest.mark.parametrize("name", ["params", "fitted"])
@pytest.mark.parametrize("value", [None, [], "x"])
def test_parameters_and_values_must_be_there(saved, tmp_path, name, value):
    path = changed(saved, tmp_path, lambda meta: meta.update({name: value}))
    assert_refused(path, r"it has no parameters or values\. Save it again\.$")


@pytest.mark.parametrize("name", ["n_clusters", "fit", "1st", "a.b"])
def test_a_value_cannot_take_the_place_of_something_else(saved, tmp_path, name):
    path = changed(saved, tmp_path, lambda meta: meta["fitted"].update({name: 1}))
    with pytest.raises(FileError, match=f"nothing named {name}.*by manyview"):
        manyview.load_model(path)


def test_five_strange_names_are_listed(saved, tmp_path):
    names = {f"p{i}": 1 for i in range(7)}
    path = changed(saved, tmp_path, lambda meta: meta["params"].update(names))
    by = rf"named p0, p1, p2, p3, p4\. It was written by manyview {VERSION};"
    with pytest.raises(FileError, match=by):
        manyview.load_model(path)


def test_a_file_of_version_2_knows_no_reach(saved, fitted, tmp_path):
    def older(meta):
        meta.update(version=2)
        del meta["fitted"]["reach"]

    model = manyview.load_model(changed(saved, tmp_path, older))
    far = [x + 1e6 for x in example_views()]
    assert not hasattr(model, "_reach")
    assert np.array_equal(model.predict(example_views()), fitted.labels_)
    assert not model.place(far).outside.any()
    again = manyview.load_model(model.save(tmp_path / "again.manyview"))
    assert np.array_equal(again.labels_, fitted.labels_)


def test_a_file_of_version_5_knows_no_probabilities(saved, fitted, tmp_path):
    def older(meta):
        meta.update(version=5)
        del meta["fitted"]["passes"]["record"][1]["asked"]

    model = manyview.load_model(changed(saved, tmp_path, older))
    assert not hasattr(model, "certainty_")
    with pytest.raises(UnsupportedError, match="earlier release"):
        model.predict_proba(example_views())
    placed = model.place(example_views())
    assert np.array_equal(placed.labels, fitted.labels_)
    assert np.isnan(placed.certainty).all()


def test_how_far_the_rows_reach_comes_back(saved, fitted):
    again = manyview.load_model(saved)
    far = [x + 1e6 for x in example_views()]
    with pytest.warns(OutsideWarning):
        assert again.place(far).outside.all()
    assert again._reach.radii == fitted._reach.radii


@pytest.mark.parametrize(
    "length", ["3s", timedelta(seconds=3), np.timedelta64(3000, "ms")]
)
def test_a_duration_comes_back(length, tmp_path):
    rows = np.arange(len(example_views()[0]))
    times = np.datetime64("2024-01-01") + rows.astype("m8[s]")
    model = SequenceS2MVTC(3, min_duration=length, random_state=0)
    saved = model.fit(example_views(), order=times).save(tmp_path / "m.manyview")
    again = manyview.load_model(saved)
    assert seconds(again.min_duration) == 3.0
    same = again.fit(example_views(), order=times)
    assert np.array_equal(same.labels_, model.labels_)


def test_a_parameter_that_is_an_array_comes_back(tmp_path):
    model = AnchorSpectral(3, random_state=np.int64(5)).fit(example_views())
    again = manyview.load_model(model.save(tmp_path / "m.manyview"))
    assert type(again.random_state) is np.int64 and again.random_state == 5
