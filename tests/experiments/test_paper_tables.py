from manyview.experiments import paper_tables
from manyview.stages.sequence_settings import PUBLISHED


def test_all_rows_of_the_papers_table_are_there():
    rows = paper_tables.results()
    assert len(rows) == 60
    assert {data for data, _ in rows} == set(PUBLISHED)
    ccv = rows["CCV", "S2MVTC as published"]
    assert ccv.scores["ACC"] == 0.5479
    assert ccv.scores["Recall"] == 0.6260
    assert ccv.cpu_s == 1.61


def test_marked_cells_are_really_impossible():
    rows = paper_tables.results()
    copied = rows["Caltech102", "FMVACC"]
    assert copied.scores == rows["Caltech102", "SFMC"].scores
    assert len(copied.suspicious) == 7
    kmeans = rows["Caltech102", "ConcatKMeans"]
    assert kmeans.scores["F-score"] < kmeans.scores["Precision"]
    assert kmeans.scores["Precision"] == kmeans.scores["Recall"]
    fsmsc = rows["Cifar-10", "FSMSC"]
    assert fsmsc.scores["Purity"] < fsmsc.scores["ACC"]
    assert sum(bool(r.suspicious) for r in rows.values()) == 3


def test_the_ablation_is_in_shares():
    table = paper_tables.ablation()
    assert set(table) == set(PUBLISHED)
    assert table["CCV"]["without smoothing"] == 0.1549
