import pytest

from manyview.errors import InputError
from manyview.experiments import growth_of_cost
from manyview.experiments.growth_of_cost import Sizes


def test_steps_change_one_size_only():
    runs = growth_of_cost.runs("anchors", steps=(10, 20))
    assert [r.setting["n_anchors"] for r in runs] == [10, 20]
    assert len({r.data for r in runs}) == 1
    views = growth_of_cost.runs("views", steps=(1, 2))
    assert '"n_features": [64, 64]' in views[1].data.source


def test_an_unknown_size_is_refused():
    with pytest.raises(InputError, match=r"'rows', 'anchors', .* 'rounds'"):
        growth_of_cost.runs("columns")


def test_the_claims_of_the_paper():
    base = Sizes(rows=1000, views=2, anchors=10, components=5, rounds=3)
    assert base.claimed_time() == 5 * 10 * 1000 * 3
    assert base._replace(anchors=1000).claimed_time() == 1000**3 * 3
    assert base.claimed_memory() == 10 * 1000
    assert base._replace(views=4).claimed_memory() == 5 * 4 * 1000


@pytest.fixture
def measured(record):
    def at(rows, cpu):
        setting = {"n_anchors": 500, "n_components": 64, "max_iter": 7}
        return record(
            "S2MVTC", data=f"d{rows}", rows=rows, n_features=[64] * 3, setting=setting,
            cpu_s=cpu,
        )  # fmt: skip

    return [at(40_000, 8.0), at(10_000, 2.0), at(20_000, 4.0)]


def test_the_table_sets_the_claim_beside_the_measurement(measured):
    (table,) = growth_of_cost.tables("rows", measured)
    lines = [[c.text for c in row] for row in table.rows]
    assert [x[0] for x in lines] == ["10000", "20000", "40000"]
    assert [x[3] for x in lines] == ["1.00", "2.00", "4.00"]
    assert [x[4] for x in lines] == ["1.00", "2.00", "4.00"]


def test_the_figure_names_slope_and_claim(measured):
    pytest.importorskip("matplotlib")
    figure = growth_of_cost.figures("rows", measured)["scaling-rows"]
    texts = [t.get_text() for t in figure.axes[0].get_legend().get_texts()]
    assert texts == ["wall (slope 0.00)", "CPU (slope 1.00)", "the paper's claim"]
    assert growth_of_cost.figures("rows", measured[:1]) == {}
