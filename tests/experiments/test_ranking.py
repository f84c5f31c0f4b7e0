from manyview.experiments.ranking import score_tables, standing, standing_tables
from manyview.experiments.results_file import Results
from manyview.experiments.seed_summary import summarise


def records_of(record):
    return [
        record("A", acc=0.9, data="one"),
        record("B", acc=0.5, data="one"),
        record("A", acc=0.1, data="two"),
        record("B", data="two", status="failed", error="x"),
    ]


def test_score_tables_have_data_down_and_methods_across(record):
    tables = score_tables(summarise(records_of(record)), "s", "Shuffled")
    assert len(tables) == 7
    rows = [[c.text for c in row] for row in tables[0].rows]
    assert rows == [["one", "0.900", "0.500"], ["two", "0.100", "–"]]
    assert tables[0].rows[0][1].mark == "best"


def test_standing_counts_groups_apart(record, tmp_path):
    groups = {"first": ("one",), "all": ("one", "two")}
    rows = standing(summarise(records_of(record)), Results(tmp_path), groups)
    found = {(r["group"], r["method"]): r for r in rows}
    assert found["all", "A"]["means"]["ACC"] == 0.5
    assert found["all", "A"]["ranks"]["ACC"] == 1.0
    assert (found["all", "B"]["n_ok"], found["all", "B"]["n_data"]) == (1, 2)
    assert found["first", "B"]["ranks"]["NMI"] == 2.0
    first, everything = standing_tables(rows, "standing")
    assert first.notes == []
    assert everything.notes[0].startswith("A method that failed")
    assert everything.rows[1][-1].text == "1/2"
