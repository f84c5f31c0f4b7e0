import numpy as np
import pytest

from manyview.baselines import FSMSC, ConcatKMeans
from manyview.errors import FileError, InputError
from manyview.files.run_folder import MODEL, Run, writing
from manyview.report.subject import cluster_means, of_model, of_run


def test_a_model_tells_all_it_knows(evil_model, evil_views) -> None:
    subject = of_model(evil_model, evil_views, timings={"fitting": 2.0})
    np.testing.assert_array_equal(subject.labels, evil_model.labels_)
    np.testing.assert_array_equal(subject.certainty, evil_model.certainty_)
    np.testing.assert_array_equal(subject.known, evil_views.labels)
    np.testing.assert_array_equal(subject.influence.overall, evil_model.view_influence_)
    assert list(subject.objective) == pytest.approx(list(evil_model.objective_))
    assert subject.reads_order is False
    assert subject.settings["n_clusters"] == 3


def test_given_labels_win_over_those_of_the_views(evil_model, evil_views) -> None:
    mine = np.arange(150) % 5
    np.testing.assert_array_equal(of_model(evil_model, evil_views, mine).known, mine)


def test_a_method_without_embedding_has_no_certainty(evil_views) -> None:
    model = ConcatKMeans(3, random_state=0).fit(evil_views)
    subject = of_model(model, evil_views)
    assert subject.embedding is None and subject.certainty is None
    assert subject.influence.overall.sum() == pytest.approx(1)


def test_other_rows_are_refused(evil_model, evil_views) -> None:
    with pytest.raises(InputError, match="150 rows; 140 were given"):
        of_model(evil_model, evil_views[:140])
    with pytest.raises(InputError, match="one entry per row"):
        of_model(evil_model, evil_views, np.zeros(3))


@pytest.fixture
def run_folder(tmp_path, evil_model, evil_views):
    run = Run(
        labels=evil_model.labels_, method="S2MVTC", settings=evil_model.get_params(),
        data={"origin": "here"}, timings={"fitting": 1.0},
        embedding=evil_model.embedding_, row_names=evil_views.row_names,
        certainty=evil_model.certainty_,
    )  # fmt: skip
    with writing(tmp_path / "run", run) as folder:
        evil_model.save(folder / MODEL)
    return tmp_path / "run"


def test_a_run_tells_the_same_as_its_model(run_folder, evil_model, evil_views) -> None:
    run, model = of_run(run_folder, evil_views), of_model(evil_model, evil_views)
    for name in ("labels", "embedding", "certainty", "known"):
        np.testing.assert_array_equal(getattr(run, name), getattr(model, name))
    np.testing.assert_allclose(run.influence.overall, model.influence.overall)
    assert list(run.row_names) == list(evil_views.row_names)
    assert run.objective == pytest.approx(model.objective)
    assert (run.method, run.source, run.reads_order) == ("S2MVTC", "here", False)


def test_a_run_without_views_and_model_still_has_certainty(run_folder) -> None:
    (run_folder / MODEL).unlink()
    subject = of_run(run_folder)
    assert subject.influence is None and subject.known is None
    assert ((subject.certainty >= 0) & (subject.certainty <= 1)).all()
    assert subject.reads_order is None


@pytest.mark.parametrize(
    ("method", "settings", "reads"),
    [
        ("SequenceS2MVTC", {}, True),
        ("S2MVTC", {"smoothing": "graph+sequence"}, True),
        ("S2MVTC", {}, None),
    ],
)
def test_names_tell_whether_a_run_without_model_reads_the_order(
    method, settings, reads, tmp_path
) -> None:
    run = Run(labels=np.arange(6) % 2, method=method, settings=settings, data={},
              timings={})  # fmt: skip
    with writing(tmp_path / "run", run):
        pass
    assert of_run(tmp_path / "run").reads_order is reads


def test_a_damaged_run_is_named(run_folder) -> None:
    (run_folder / "labels.npy").write_bytes(b"nothing")
    with pytest.raises(FileError, match=r"labels\.npy could not be read"):
        of_run(run_folder)


def test_means_are_exact(evil_model, evil_views) -> None:
    subject = of_model(evil_model, evil_views)
    B, labels = subject.embedding, subject.labels
    means = np.stack([B[labels == j].mean(axis=0) for j in range(3)])
    np.testing.assert_allclose(cluster_means(B, labels), means, rtol=1e-6)


def test_the_second_choice_is_the_next_likely(evil_model, evil_views) -> None:
    likely = np.array(evil_model.labels_proba_)
    likely[np.arange(150), evil_model.labels_] = 0
    second = of_model(evil_model, evil_views).second
    np.testing.assert_array_equal(second, likely.argmax(axis=1))


def test_a_method_that_does_not_predict_is_judged_by_its_embedding(evil_views) -> None:
    model = FSMSC(3, random_state=0).fit(evil_views)
    subject = of_model(model, evil_views)
    assert ((subject.certainty > 1 / 3) & (subject.certainty <= 1)).all()
    assert (subject.second != subject.labels).all()
    assert set(subject.second) <= set(range(3))
