import pytest

from manyview.experiments import ablation
from manyview.experiments.data_set import DataSet
from manyview.experiments.estimators import PUBLISHED
from manyview.experiments.execute import execute
from manyview.experiments.results_file import Results
from manyview.experiments.seed_summary import summarise


def test_published_variants_in_both_orders_default_ones_shuffled(small):
    runs = ablation.runs([small], n_seeds=1)
    published = [r for r in runs if r.method == PUBLISHED]
    assert [r.order for r in published].count("file") == 4
    assert [r.order for r in published].count("shuffled") == 4
    rest = [r for r in runs if r.method != PUBLISHED]
    assert {r.order for r in rest} == {"shuffled"}
    assert len(rest) == 4
    assert {r.method for r in rest} == {"S2MVTC", "SequenceS2MVTC", "AnchorSpectral"}


def test_the_tables_line_variants_up_with_the_papers(record):
    variants = ablation.PUBLISHED_VARIANTS
    records = [
        record(method, 0, 0.1 * (i + 1), setting=setting)
        for i, (method, setting) in enumerate(variants.values())
    ]
    published, default = ablation.tables(records)
    assert published.columns[2:] == list(variants)
    ours, paper = published.rows[0], published.rows[-1]
    assert [c.text for c in ours[2:]] == ["0.100", "0.200", "0.300", "0.400"]
    assert [c.text for c in paper[2:]] == ["0.544", "0.155", "0.473", "0.548"]
    assert ours[-1].mark == "best"
    assert {c.text for row in default.rows for c in row[1:]} == {"–"}


@pytest.mark.slow
@pytest.mark.data
@pytest.mark.usefixtures("tasks_here")
def test_ccv_shows_the_papers_pattern_as_filed_and_none_shuffled(data_dir, tmp_path):
    # Those near 0.1 spread by 0.02 and get one seed; the means of the others are near
    # each other.
    low = [("file", {"smoothing_weight": 0.0}), ("shuffled", {})]
    high = [("file", {"beta": 0.0}), ("file", {"kernel": "linear"}), ("file", {})]
    runs = [
        r
        for r in ablation.runs([DataSet.of("CCV")], n_seeds=2)
        if r.method == PUBLISHED
        and (r.order, r.setting) in (high if r.seed else low + high)
    ]
    assert len(runs) == 8
    found = summarise(execute(runs, Results(tmp_path)))
    acc = {(s.order, *s.setting): s.mean("ACC") for s in found}
    full = acc[("file",)]
    assert acc[("file", "smoothing_weight")] <= 0.20
    assert acc[("file", "beta")] == pytest.approx(full, abs=0.05)
    assert acc[("file", "kernel")] < full
    assert acc[("shuffled",)] <= 0.20
