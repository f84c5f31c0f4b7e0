import pytest

from manyview.errors import InputError
from manyview.experiments import compare
from manyview.experiments.estimators import BY_AUTHORS, ORACLE, PUBLISHED


def test_runs_cover_methods_orders_seeds_and_the_oracle(small):
    runs = compare.runs([small], methods=["OPMC"], orders=("file",), n_seeds=2)
    seen = [(r.method, r.order, r.seed) for r in runs]
    assert seen == [(m, "file", s) for m in ("OPMC", ORACLE) for s in (0, 1)]
    everything = {r.method for r in compare.runs([small], n_seeds=1)}
    assert {"S2MVTC", "ConcatKMeans", "LMTC", PUBLISHED, ORACLE} <= everything


def test_methods_run_on_either_preparation_or_both(small):
    def names(preparation):
        given = {"methods": ["OPMC", "S2MVTC"], "n_seeds": 1, "orders": ("file",)}
        return [
            r.method for r in compare.runs([small], preparation=preparation, **given)
        ]

    ours = "OPMC on our scaling"
    assert names("authors") == ["OPMC", "S2MVTC", ORACLE]
    assert names("own") == [ours, ORACLE]
    assert names("both") == ["OPMC", "S2MVTC", ours, ORACLE]
    with pytest.raises(InputError, match="preparation='theirs' is unknown"):
        names("theirs")


def test_the_table_is_exact_on_fixed_records(record):
    records = [
        record("ConcatKMeans", 0, 0.2),
        record("ConcatKMeans", 1, 0.4),
        record("OPMC", 0, 0.5, cpu_s=0.5, wall_s=4.0, peak_bytes=250_000_000),
        record("SFMC", 0, status="failed", error="MemoryError: too large\nmore"),
        record(ORACLE, 0, 0.9),
    ]
    (table,) = compare.tables(records)
    assert table.name == "compare-CCV-file"
    assert table.caption.startswith("CCV, rows as in the file, 2 seeds")
    lines = table.to_markdown().splitlines()[4:]
    score = "<u>0.300 ± 0.141</u>"
    assert lines[0] == (
        f"| ConcatKMeans | {' | '.join([score] * 7)} | **2.00** | <u>1.00</u> | "
        "**100** | 1× |"
    )
    assert lines[1] == (
        "| ConcatKMeans, paper | 0.134 | 0.089 | 0.168 | 0.093 | 0.072 | 0.132 | 0.020 "
        "| – | 1.12 | – | 1× |"
    )
    assert lines[2] == (
        f"| OPMC | {' | '.join(['**0.500**'] * 7)} | <u>4.00</u> | **0.50** | "
        "<u>250</u> | 2× |"
    )
    assert lines[4] == f"| SFMC |{' – |' * 11}"
    assert lines[6] == f"| {ORACLE} | {'0.900 | ' * 7}2.00 | 1.00 | 100 | 1× |"
    assert "SFMC failed: MemoryError: too large" in table.notes


def test_a_mean_of_fewer_seeds_than_asked_says_so(record):
    failed = record("OPMC", 1, status="failed", error="TimeLimit: over 5 s.")
    (table,) = compare.tables([record("OPMC", 0), failed])
    assert "OPMC failed with 1 of 2 seeds: TimeLimit: over 5 s." in table.notes


def test_impossible_cells_of_the_paper_are_marked(record):
    (table,) = compare.tables([record("FSMSC", data="Cifar-10")])
    paper = [c.text for c in table.rows[1]]
    assert paper[:4] == ["FSMSC, paper", "0.995†", "0.970", "0.966†"]
    assert any(note.startswith("†") for note in table.notes)


def test_orders_stand_side_by_side_without_paper_rows_when_shuffled(record):
    records = [
        record("OPMC", 0, 0.5),
        record("OPMC", 0, 0.25, order="shuffled"),
        record("ConcatKMeans", 0, 0.4, order="shuffled"),
    ]
    file, shuffled, both = compare.tables(records)
    assert len(file.rows) == 2
    assert [row[0].text for row in shuffled.rows] == ["OPMC", "ConcatKMeans"]
    assert both.columns[:3] == ["method", "ACC file", "ACC shuffled"]
    assert [c.text for c in both.rows[0][:3]] == ["OPMC", "0.500", "0.250"]
    assert [c.text for c in both.rows[1][:3]] == ["ConcatKMeans", "–", "0.400"]


def test_tables_say_which_protocol_was_used_and_what_is_a_reconstruction(record):
    names = ("SMERAMVC", "SFMC", PUBLISHED, "FSMSC" + BY_AUTHORS)
    shown = [record(n, order=o) for n in names for o in ("file", "shuffled")]
    for table in compare.tables(shown):
        notes = " ".join(table.notes)
        assert "SMERAMVC is a reconstruction" in notes
        assert "1e-15" in notes and "protocol='authors'" in notes
        assert "labels fixed before the rounds" in notes
    (plain,) = compare.tables([record("OPMC")])
    assert not any("reconstruction" in note for note in plain.notes)


def test_both_protocols_are_compared(small):
    methods = {r.method for r in compare.runs([small], n_seeds=1)}
    both = {"FSMSC", "FMVACC", "BMVC", "OPMC", "LMTC", "FPMVSCAG"}
    assert both | {n + BY_AUTHORS for n in both} <= methods
    assert "FastMICE" + BY_AUTHORS not in methods
