"""What a run's own process does, called in this one."""

import json
from dataclasses import replace

import numpy as np
import pytest

from manyview.experiments import estimators
from manyview.experiments.data_set import DataSet
from manyview.experiments.planned_run import Run
from manyview.experiments.task_worker import work


@pytest.fixture
def ends(tmp_path):
    """What the process says at the end of every run."""

    def say(*runs, **places):
        told = {"labels_to": str(tmp_path / "labels.npy")} | places
        task = {"memory_limit": None, "runs": [r.to_json() | told for r in runs]}
        said = list(work(json.loads(json.dumps(task))))
        assert all(json.dumps(message) for message in said)
        started = [m["key"] for m in said if m["event"] == "start"]
        ended = [m for m in said if m["event"] == "end"]
        assert [m["key"] for m in ended] == [r.key for r in runs]
        assert not started or started == [r.key for r in runs]
        return ended

    return say


@pytest.fixture
def without_labels(tmp_path):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "plain.npz", x1=rng.normal(size=(20, 3)))
    return DataSet.of(tmp_path / "plain.npz")


@pytest.mark.parametrize("order", ["file", "shuffled"])
def test_labels_come_back_in_the_order_of_the_file(ends, small, order, tmp_path):
    run = Run(small, order, "ConcatKMeans", {}, 0)
    (end,) = ends(run, labels_to=str(tmp_path / "deep" / "labels.npy"))
    assert end["status"] == "ok" and end["scores"]["ACC"] == 1.0
    assert (end["rows"], end["n_features"], end["n_clusters"]) == (90, [4, 5], 3)
    labels, truth = np.load(tmp_path / "deep" / "labels.npy"), small.load().labels
    assert len(set(zip(labels.tolist(), truth.tolist(), strict=True))) == 3


def test_data_that_cannot_be_read_fails_every_run(ends, small):
    lost = replace(small, kind="stored", source="/nowhere/at/all.npz")
    for end in ends(*(Run(lost, "file", "ConcatKMeans", {}, s) for s in (0, 1))):
        assert end["status"] == "failed" and "all.npz" in end["error"]


def test_a_failing_run_does_not_stop_the_next(ends, small):
    bad, good = ends(
        Run(small, "file", "ConcatKMeans", {"n_init": 0}, 0),
        Run(small, "file", "ConcatKMeans", {}, 0),
    )
    assert bad["status"] == "failed" and "n_init" in bad["error"] and bad["where"]
    assert good["status"] == "ok"


def test_the_number_of_clusters_may_be_set_and_labels_may_be_absent(
    ends, without_labels
):
    run = Run(without_labels, "file", "ConcatKMeans", {"n_clusters": 2}, 0)
    (end,) = ends(run)
    assert end["status"] == "ok" and end["n_clusters"] == 2 and "scores" not in end


def test_the_oracle_takes_the_best_view_and_needs_labels(ends, small, without_labels):
    (end,) = ends(Run(small, "shuffled", estimators.ORACLE, {}, 0))
    assert end["status"] == "ok" and end["best_view"] in small.load().names
    (end,) = ends(Run(without_labels, "file", estimators.ORACLE, {}, 0))
    assert end["status"] == "failed" and "labels" in end["error"]


def test_classes_that_do_not_count_are_clustered_but_not_scored(ends, tmp_path):
    # Two clear groups, and rows of a third class spread over both.
    labels = np.array([0, 1, 2] * 20)
    x = np.where(labels == 2, np.arange(60) % 2, labels)[:, None] * 9.0
    x = x + np.random.default_rng(0).normal(size=(60, 2))
    np.savez(tmp_path / "three.npz", view0=x, labels=labels)
    source = str(tmp_path / "three.npz")
    data = DataSet("three", source, unscored_classes=(2,))
    for method in ("ConcatKMeans", estimators.ORACLE):
        (end,) = ends(Run(data, "shuffled", method, {}, 0))
        assert end["scores"]["ACC"] == 1.0 and end["rows"] == 60
    (end,) = ends(Run(DataSet("three", source), "shuffled", "ConcatKMeans", {}, 0))
    assert end["n_clusters"] == 3 and end["scores"]["ACC"] < 1.0


def test_rows_without_a_class_are_clustered_but_not_scored(ends, small, tmp_path):
    views = small.load()
    labels = np.where(np.arange(90) % 9 == 0, np.nan, views.labels)
    named = {f"view{v}": x for v, x in enumerate(views.arrays)}
    np.savez(tmp_path / "few.npz", labels=labels, **named)
    data = DataSet.of(tmp_path / "few.npz")
    for order in ("file", "sorted", "shuffled"):
        (end,) = ends(Run(data, order, "ConcatKMeans", {}, 0))
        assert (end["status"], end["rows"], end["n_clusters"]) == ("ok", 90, 3)
        assert end["scores"]["ACC"] == 1.0


def test_on_our_scaling_a_feature_of_large_scale_does_not_decide(ends, tmp_path):
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    x = np.column_stack([5 * np.eye(3)[labels], 1e4 * rng.normal(size=60)])
    x[:, :3] += rng.normal(size=(60, 3))
    np.savez(tmp_path / "loud.npz", view0=x, labels=labels)
    data = DataSet.of(tmp_path / "loud.npz")
    names, plain = ("SNF", "SNF" + estimators.ON_OUR_SCALING), {"scaling": None}
    given, ours = ends(*(Run(data, "shuffled", name, plain, 0) for name in names))
    assert given["scores"]["ACC"] < 0.6 < 0.8 < ours["scores"]["ACC"]


def test_traced_rows_are_kept_where_asked(ends, small, tmp_path):
    method = estimators.PUBLISHED
    run = Run(small, "file", method, {"n_anchors": 20}, 0, {"trace": 1000})
    (end,) = ends(run, trace_to=str(tmp_path / "trace.npz"))
    assert end["status"] == "ok" and end["n_iter_"] == 7
    with np.load(tmp_path / "trace.npz", allow_pickle=False) as trace:
        assert trace["rows"].shape == (90,)
        assert trace["round7_B_bar"].shape[0] == 90


def test_cells_that_share_features_give_what_single_runs_give(ends, small):
    settings = [{"lam": 0.1, "beta": 1.0}, {"lam": 0.1, "beta": 0.01}]
    method = estimators.PUBLISHED
    shared = [Run(small, "file", method, s, 0, {"share": True}) for s in settings]
    single = [Run(small, "file", method, s, 0) for s in settings]
    for one, other in zip(ends(*shared), ends(*single), strict=True):
        assert one["status"] == other["status"] == "ok"
        assert one["scores"] == other["scores"]
