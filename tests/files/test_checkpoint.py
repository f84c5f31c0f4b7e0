"""Checkpoints: resuming at the last finished round, refusals, whole files."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC, selection
from manyview.baselines import ConcatKMeans
from manyview.datasets import make_views
from manyview.engine.contract import NO_CHECKPOINT, lowered
from manyview.errors import FileError, InputError, InputTypeError
from manyview.files.checkpoint import Checkpoint
from manyview.metrics import ari
from manyview.running import progress

SMALL = {"n_anchors": 60, "max_iter": 4, "random_state": 0}
FITS = {
    "graph": (S2MVTC(4, n_graph_anchors=200, **SMALL), "Round 3"),
    "none": (SequenceS2MVTC(4, smoothing_weight=0.0, **SMALL), "Round 3"),
    "sequence": (SequenceS2MVTC(4, n_low=20, **SMALL), "Round 3"),
    "both": (
        SequenceS2MVTC(4, graph=True, n_low=20, n_graph_anchors=200, **SMALL),
        "Round 3",
    ),
    # So many frequencies that Y_v is kept in place of a basis.
    "wide": (SequenceS2MVTC(4, n_low=300, **SMALL), "Round 3"),
    "spectral": (AnchorSpectral(4, n_graph_anchors=200, random_state=0), "Embedding"),
    "kmeans": (ConcatKMeans(4, n_init=1, random_state=0), "Clustering"),
}


@pytest.fixture
def views():
    rng = np.random.default_rng(0)
    groups = rng.integers(0, 4, 700)
    return [
        2 * rng.normal(size=(4, d))[groups] + 2 * rng.normal(size=(700, d))
        for d in (6, 9, 4)
    ]


def fit(model, views, stop=None, after=0):
    """Titles of the passes; Ctrl-C when the named one begins for the nth time."""
    titles = []

    def listener(title, done, total):
        if done == 0:
            titles.append(title)
            if title == stop and titles.count(stop) > after:
                raise KeyboardInterrupt

    with progress.listen(listener):
        model.fit(views)
    return titles


@pytest.mark.filterwarnings("ignore::manyview.errors.OrderWarning")
@pytest.mark.parametrize("name", FITS)
def test_a_stopped_fit_resumes_and_gives_the_same(views, tmp_path, name):
    model, stop = FITS[name]
    whole = model.set_params(checkpoint=None)
    everything = fit(whole, views)
    labels = whole.labels_.copy()
    weights = getattr(whole, "view_weights_", None)
    if weights is not None:
        del whole.view_weights_  # the resumed fit must set it again
    model.set_params(checkpoint=tmp_path / "saved")
    with pytest.raises(KeyboardInterrupt):
        fit(model, views, stop, after=int(name == "kmeans"))
    rest = fit(model, views)
    np.testing.assert_array_equal(model.labels_, labels)
    if weights is not None:
        np.testing.assert_array_equal(model.view_weights_, weights)
    assert len(rest) < len(everything)
    assert not {"Round 1", "Round 2", "Anchor graph", "Anchor features"} & set(rest)


@pytest.mark.filterwarnings("ignore::manyview.errors.OrderWarning")
@pytest.mark.parametrize("name", sorted(FITS.keys() - {"kmeans"}))
@pytest.mark.parametrize("there", ["before", "after", "before and after"])
def test_a_fit_resumes_on_a_device_what_was_begun_on_any(views, tmp_path, name, there):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    model, stop = FITS[name]
    wanted = model.set_params(checkpoint=None).fit(views).labels_
    model.set_params(checkpoint=tmp_path / "saved")
    tensors = [torch.as_tensor(x) for x in views]
    with pytest.raises(KeyboardInterrupt):
        fit(model, tensors if "before" in there else views, stop)
    rest = fit(model, tensors if "after" in there else views)
    assert ari(wanted, np.asarray(model.labels_)) >= 0.999
    assert not {"Round 1", "Round 2", "Anchor graph", "Anchor features"} & set(rest)


def test_rounds_and_objective_are_those_of_an_undisturbed_fit(views, tmp_path):
    model, stop = FITS["graph"]
    model.set_params(checkpoint=None).fit(views)
    objective, n_rounds = model.objective_, len(model._passes.rounds)
    new = model.predict(views)
    model.set_params(checkpoint=tmp_path / "saved")
    with pytest.raises(KeyboardInterrupt):
        fit(model, views, stop)
    model.fit(views)
    np.testing.assert_allclose(model.objective_, objective, rtol=1e-12)
    assert len(model._passes.rounds) == n_rounds
    np.testing.assert_array_equal(model.predict(views), new)


def test_without_a_seed_the_first_one_is_kept(views, tmp_path):
    model = AnchorSpectral(4, n_graph_anchors=200, checkpoint=tmp_path / "saved")
    first = model.fit(views).labels_
    np.testing.assert_array_equal(model.fit(views).labels_, first)


@pytest.mark.usefixtures("few_candidates")
@pytest.mark.parametrize("kind", [S2MVTC, SequenceS2MVTC, AnchorSpectral])
def test_the_number_of_clusters_found_at_first_is_kept(tmp_path, monkeypatch, kind):
    data = make_views(200, (6, 5), 4, noise=0.5, random_state=0)
    model = kind("auto", random_state=0, checkpoint=tmp_path / "saved", n_init=1)
    with pytest.raises(KeyboardInterrupt), lowered(exact_rows=100):
        fit(model, data, "Clustering")
    assert model.n_clusters_ == 4
    monkeypatch.setattr(selection, "decide", finds(7))
    with lowered(exact_rows=100):
        model.fit(data)
    assert model.n_clusters_ == model.choice_.n_clusters == 4
    assert len(model._passes.centres.points) == 4


@pytest.mark.usefixtures("few_candidates")
def test_a_number_found_on_other_data_is_not_kept(tmp_path):
    data, other = (
        make_views(200, (6, 5), k, noise=0.5, random_state=0) for k in (3, 5)
    )
    model = AnchorSpectral(
        "auto", random_state=0, checkpoint=tmp_path / "saved", n_init=1
    )
    # The surveys that look for the number come before the fit's own.
    title = "Surveying the views"
    plain = AnchorSpectral("auto", random_state=0, n_init=1)
    n_before = fit(plain, data).count(title) - 1
    with pytest.raises(KeyboardInterrupt):
        fit(model, data, title, after=n_before)
    assert model.n_clusters_ == 3
    assert model.fit(other).n_clusters_ == 5
    with pytest.raises(InputError, match="other data"):
        model.fit(data)


def finds(number):
    """A verdict that is always the same."""

    def decide(counts, gap, stability, silhouette):
        verdict = (number, number, "clear", counts, gap, stability, silhouette, gap)
        return selection.Choice(*verdict)

    return decide


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"n_clusters": 5}, "n_clusters=4, this fit has 5"),
        ({"n_init": 2}, "n_init=1, this fit has 2"),
        ({"random_state": 1}, "random_state=0, this fit has 1"),
    ],
)
def test_other_settings_are_refused(views, tmp_path, change, match):
    model = ConcatKMeans(4, n_init=1, random_state=0, checkpoint=tmp_path / "saved")
    model.fit(views)
    with pytest.raises(InputError, match=match):
        model.set_params(**change).fit(views)


def test_another_method_is_refused(views, tmp_path):
    ConcatKMeans(4, random_state=0, checkpoint=tmp_path / "saved").fit(views)
    with pytest.raises(InputError, match="method='ConcatKMeans'"):
        AnchorSpectral(4, random_state=0, checkpoint=tmp_path / "saved").fit(views)


def one_value(x):
    x[123, 1] += 1.0
    return x


@pytest.mark.parametrize(
    "change", [lambda x: x[::-1], lambda x: x[:-1], one_value, lambda x: 2 * x]
)
def test_other_data_are_refused(views, tmp_path, change):
    model = ConcatKMeans(4, random_state=0, checkpoint=tmp_path / "saved").fit(views)
    with pytest.raises(InputError, match="other data"):
        model.fit([change(x.copy()) for x in views])


@pytest.mark.filterwarnings("ignore::manyview.errors.OrderWarning")
def test_another_order_is_refused(views, tmp_path):
    model = SequenceS2MVTC(4, checkpoint=tmp_path / "saved", **SMALL)
    model.fit(views, order=np.arange(700))
    with pytest.raises(InputError, match="order="):
        model.fit(views, order=np.arange(700)[::-1])


def test_where_a_fit_runs_may_change(views, tmp_path):
    model = AnchorSpectral(4, n_graph_anchors=200, random_state=0)
    labels = model.fit(views).labels_
    model.set_params(checkpoint=tmp_path / "saved").fit(views)
    model.set_params(memory_limit="1GB", verbose=True).fit(views)
    np.testing.assert_array_equal(model.labels_, labels)


def test_a_foreign_folder_and_a_file_are_refused(views, tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(FileError, match="holds other files"):
        ConcatKMeans(4, checkpoint=tmp_path).fit(views)
    with pytest.raises(FileError, match="no folder"):
        ConcatKMeans(4, checkpoint=tmp_path / "notes.txt").fit(views)
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize("name", ["kmeans-1.zip", "fit.json", "data-0.zip"])
def test_damage_is_named(views, tmp_path, name):
    model = ConcatKMeans(4, n_init=1, random_state=0, checkpoint=tmp_path / "saved")
    with pytest.raises(KeyboardInterrupt):
        fit(model, views, "Clustering", after=1)
    path = tmp_path / "saved" / name
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(FileError, match=name):
        model.fit(views)


def test_damaged_rows_say_what_to_remove(views, tmp_path):
    model = S2MVTC(3, random_state=0, checkpoint=tmp_path).fit(views)
    (rows,) = tmp_path.glob("rounds-*.npy")
    rows.write_bytes(rows.read_bytes()[:-8])
    value = rows.with_name(rows.name.replace("B_bar.npy", "zip"))
    with pytest.raises(FileError, match="Remove it to start") as told:
        clone(model).fit(views)
    assert str(told.value).startswith(f"The checkpoint {value} is damaged: {rows.name}")
    value.unlink()
    assert (clone(model).fit(views).labels_ == model.labels_).all()


def test_an_interrupted_write_leaves_the_value_before(tmp_path, monkeypatch):
    saved = Checkpoint(tmp_path / "saved", ConcatKMeans(2))
    saved.save("kmeans", (np.arange(3), 1.0), number=1)

    def torn(file, array, **options):
        file.write(b"half a file")
        raise OSError("no room")

    monkeypatch.setattr(np.lib.format, "write_array", torn)
    with pytest.raises(FileError, match=r"was not written: no room"):
        saved.save("kmeans", (np.arange(4), 2.0), number=2)
    monkeypatch.undo()
    again = Checkpoint(tmp_path / "saved", ConcatKMeans(2))
    found, value = again.load("kmeans")
    np.testing.assert_array_equal(found, np.arange(3))
    assert value == 1.0


def test_only_the_last_value_stays(tmp_path):
    saved = Checkpoint(tmp_path / "saved", ConcatKMeans(2))
    for number in (1, 2, 10):
        saved.save("kmeans", number, number=number)
    assert saved.load("kmeans") == 10
    assert [p.name for p in (tmp_path / "saved").glob("kmeans*")] == ["kmeans-10.zip"]


def test_rows_left_by_a_kill_between_two_removals_go_with_the_next_value(tmp_path):
    saved = Checkpoint(tmp_path / "saved", ConcatKMeans(2))
    (tmp_path / "saved" / "rounds-3.B_bar.npy").write_bytes(b"")
    saved.save("rounds", 1, number=4)
    assert [p.name for p in (tmp_path / "saved").glob("r*")] == ["rounds-4.zip"]


def test_no_checkpoint_keeps_nothing():
    NO_CHECKPOINT.save("kmeans", 1)
    assert NO_CHECKPOINT.load("kmeans") is None
    assert NO_CHECKPOINT.keep("seed", 5) == 5


def test_a_fit_without_a_checkpoint_makes_none(views, monkeypatch):
    monkeypatch.setattr(Checkpoint, "__init__", None)
    AnchorSpectral(4, n_graph_anchors=200, random_state=0).fit(views)
    with pytest.raises(TypeError):
        AnchorSpectral(4, random_state=0, checkpoint="never").fit(views)


def test_what_is_no_path_is_a_sentence():
    for nothing in (3, b"x", object(), ["a"]):
        with pytest.raises(InputTypeError, match=r"checkpoint=.*is no path"):
            Checkpoint(nothing, None)


def test_a_fit_killed_before_its_first_save_starts_again(views, tmp_path, monkeypatch):
    def killed(part, target):
        raise KeyboardInterrupt

    folder = tmp_path / "saved"
    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", killed)
        patch.setattr(Path, "unlink", lambda *args, **options: None)
        with pytest.raises(KeyboardInterrupt):
            AnchorSpectral(3, random_state=0, checkpoint=folder).fit(views)
    assert [p.name[0] for p in folder.iterdir()] == ["."]
    model = AnchorSpectral(3, random_state=0, checkpoint=folder).fit(views)
    assert model.labels_.shape == (700,)


def test_settings_that_are_arrays_are_told_apart_by_content(tmp_path):
    one, other = np.arange(3.0), np.array([0.0, 1.0, 3.0])
    model = ConcatKMeans(2, random_state=0)
    Checkpoint(tmp_path / "saved", model, order=one)
    Checkpoint(tmp_path / "saved", model, order=list(one))
    with pytest.raises(InputError, match=r"was made with order=.*Use the same"):
        Checkpoint(tmp_path / "saved", model, order=other)


def test_a_model_is_no_checkpoint(tmp_path):
    saved = Checkpoint(tmp_path / "saved", ConcatKMeans(2))
    x = np.arange(8.0).reshape(4, 2)
    model = AnchorSpectral(2, random_state=0).fit([x, x])
    model.save(tmp_path / "saved" / "kmeans-1.zip")
    with pytest.raises(FileError, match=r"entry named 'model\.json'\. Remove it to"):
        saved.load("kmeans")
