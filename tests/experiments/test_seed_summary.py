import numpy as np
import pytest

from manyview.experiments.results_file import Results
from manyview.experiments.seed_summary import agreement, average_ranks, summarise


def test_seeds_are_put_together_settings_are_not(record):
    records = [record(seed=0), record(seed=1), record(seed=0, setting={"n_init": 3})]
    assert [len(s.records) for s in summarise(records)] == [2, 1]


def test_mean_and_standard_deviation(record):
    (both,) = summarise([record(seed=0, acc=0.2), record(seed=1, acc=0.4)])
    assert both.mean("ACC") == pytest.approx(0.3)
    assert both.show("ACC") == "0.300 ± 0.141"
    assert both.mean("cpu_s") == 1.0
    (one,) = summarise([record(acc=0.25)])
    assert one.show("ACC") == "0.250"
    (none,) = summarise([record(status="failed", error="no")])
    assert (none.show("ACC"), none.error) == ("–", "no")


def test_agreement_is_the_mean_ari_of_pairs(record, tmp_path):
    results = Results(tmp_path)
    (tmp_path / "arrays").mkdir()
    records = [record(seed=s, key=f"k{s}") for s in range(3)]
    labels = [[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]]
    for r, x in zip(records, labels, strict=True):
        np.save(tmp_path / "arrays" / f"{r['key']}.npy", np.array(x))
    (summary,) = summarise(records)
    assert agreement(summary, results) == pytest.approx((1.0 - 0.5 - 0.5) / 3)
    (single,) = summarise(records[:1])
    assert agreement(single, results) is None


def test_average_ranks_put_failures_last(record):
    records = [
        record("A", acc=0.9, data="one"),
        record("B", acc=0.5, data="one"),
        record("C", acc=0.5, data="one"),
        record("A", acc=0.1, data="two"),
        record("B", acc=0.5, data="two"),
        record("C", data="two", status="failed", error="x"),
    ]
    ranks = average_ranks(summarise(records), "ACC")
    assert ranks == {"A": (1.5, 2), "B": (1.75, 2), "C": (2.75, 2)}
