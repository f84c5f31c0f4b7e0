"""Small generated data and finished runs shared by the tests of the experiments."""

import pytest

from manyview.experiments.data_set import DataSet
from manyview.experiments.execute import Limits, execute
from manyview.experiments.planned_run import Run
from manyview.experiments.results_file import Results


@pytest.fixture(scope="session")
def small() -> DataSet:
    """90 clear rows in 3 groups."""
    return DataSet.generated(
        "small", n_samples=90, n_features=[4, 5], n_clusters=3, random_state=0
    )


@pytest.fixture
def record():
    """A finished run as it stands in a results file."""

    def make(method="ConcatKMeans", seed=0, acc=0.5, **fields):
        scores = ("ACC", "NMI", "Purity", "F-score", "Precision", "Recall", "ARI")
        return {
            "key": f"{method}{seed}{fields}",
            "data": "CCV",
            "order": "file",
            "method": method,
            "setting": {},
            "seed": seed,
            "extras": {},
            "status": "ok",
            "scores": dict.fromkeys(scores, acc),
            "wall_s": 2.0,
            "cpu_s": 1.0,
            "peak_bytes": 100_000_000,
        } | fields

    return make


@pytest.fixture(scope="session")
def executed(small, tmp_path_factory):
    """Two seeds of k-means and of a method that fails, really run."""
    results = Results(tmp_path_factory.mktemp("executed"))
    runs = [Run(small, "shuffled", "ConcatKMeans", {}, seed) for seed in (0, 1)]
    runs.append(Run(small, "file", "ConcatKMeans", {"n_init": 0}, 0))
    return execute(runs, results, Limits(jobs=2)), runs, results
