import numpy as np
import pytest

from benchmarks.ranking import (
    agreement,
    average_ranks,
    better_preparations,
    score_tables,
    standing,
    standing_tables,
)
from manyview.experiments.results_file import Results
from manyview.experiments.seed_summary import SCORES, summarise


def record(method, acc=0.5, data="one", **fields):
    """A finished run as it stands in a results file."""
    what = {"data": data, "order": "shuffled", "method": method, "setting": {}}
    scores = dict.fromkeys(SCORES, acc)
    return {"key": method + data, "status": "ok", "scores": scores} | what | fields


@pytest.fixture
def records():
    return [
        record("A", 0.9),
        record("B", 0.5),
        record("A", 0.1, "two"),
        record("B", data="two", status="failed", error="x"),
    ]


def test_score_tables_have_data_down_and_methods_across(records):
    tables = score_tables(summarise(records), "s", "Shuffled")
    assert len(tables) == 7
    rows = [[c.text for c in row] for row in tables[0].rows]
    assert rows == [["one", "0.900", "0.500"], ["two", "0.100", "–"]]
    assert tables[0].rows[0][1].mark == "best"


def test_standing_counts_groups_apart(records, tmp_path):
    groups = {"first": ("one",), "all": ("one", "two")}
    rows = standing(summarise(records), Results(tmp_path), groups)
    found = {(r["group"], r["method"]): r for r in rows}
    assert found["all", "A"]["means"]["ACC"] == 0.5
    assert found["all", "A"]["ranks"]["ACC"] == 1.0
    assert (found["all", "B"]["n_ok"], found["all", "B"]["n_data"]) == (1, 2)
    assert found["first", "B"]["ranks"]["NMI"] == 2.0
    first, everything = standing_tables(rows, "standing")
    assert first.notes == []
    assert everything.notes[0].startswith("A method that failed")
    assert everything.rows[1][-1].text == "1/2"
    assert [row[8].mark for row in first.rows] == ["best", "second"]


def test_agreement_is_the_mean_ari_of_pairs(tmp_path):
    results = Results(tmp_path)
    (tmp_path / "arrays").mkdir()
    seeds = [record("A", seed=s, key=f"k{s}") for s in range(3)]
    labels = [[0, 0, 1, 1], [1, 1, 0, 0], [0, 1, 0, 1]]
    for r, x in zip(seeds, labels, strict=True):
        np.save(tmp_path / "arrays" / f"{r['key']}.npy", np.array(x))
    (summary,) = summarise(seeds)
    assert agreement(summary, results) == pytest.approx((1.0 - 0.5 - 0.5) / 3)
    (single,) = summarise(seeds[:1])
    assert agreement(single, results) is None


def test_average_ranks_put_failures_last():
    records = [
        record("A", acc=0.9),
        record("B", acc=0.5),
        record("C", acc=0.5),
        record("A", acc=0.1, data="two"),
        record("B", acc=0.5, data="two"),
        record("C", data="two", status="failed", error="x"),
    ]
    ranks = average_ranks(summarise(records), "ACC")
    assert ranks == {"A": (1.5, 2), "B": (1.75, 2), "C": (2.75, 2)}


def test_the_better_preparation_of_each_method_stays():
    other = " on our scaling"
    records = [
        *(record("A", 0.5), record("A" + other, 0.6)),
        *(record("B", 0.5), record("B" + other, 0.5), record("S", 0.1)),
        # Only where both have finished: C's own is ahead there.
        *(record("C", 0.5), record("C" + other, 0.4)),
        record("C", data="two", status="failed", error="x"),
        record("C" + other, 0.9, data="two"),
    ]
    kept = [s.method for s in better_preparations(summarise(records))]
    assert kept == ["A" + other, "B", "S", "C", "C"]
