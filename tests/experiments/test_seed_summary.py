import pytest

from manyview.experiments.seed_summary import cells, figure_cells, summarise


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
    assert (none.show("ACC"), none.failure) == ("–", "failed: no")
    assert one.failure is None


def test_seeds_that_failed_beside_others_are_counted(record):
    late = record(seed=1, status="failed", error="TimeLimit: too long\nmore")
    (summary,) = summarise([record(), late, record(seed=2)])
    assert summary.failure == "failed with 1 of 3 seeds: TimeLimit: too long"


def test_the_best_of_a_row_stands_out_and_gaps_stay_gaps(record):
    low, high = summarise([record("A", acc=0.1), record("B", acc=0.2)])
    found = cells([low, None, high], "ACC")
    assert [c.text for c in found] == ["0.100", "–", "0.200"]
    assert [c.mark for c in found] == ["second", None, "best"]
    costs = figure_cells([2.0, None, 1.0], ".1f", lowest=True)
    assert [c.text for c in costs] == ["2.0", "–", "1.0"]
    assert [c.mark for c in costs] == ["second", None, "best"]
