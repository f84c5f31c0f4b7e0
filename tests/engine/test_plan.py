"""Memory limits: reading them, planning by them, keeping them."""

import numpy as np
import pytest

from manyview import S2MVTC, AnchorSpectral
from manyview.engine.scratch import Budget, parse_memory
from manyview.engine.plan import Need, make_plan
from manyview.engine.contract import worth_keeping
from manyview.errors import InputError, InputTypeError, ResourceError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (None, None),
        (2 * 10**9, 2 * 10**9),
        ("2GB", 2 * 10**9),
        ("1.5 gb", 15 * 10**8),
        ("1GiB", 2**30),
        ("700m", 7 * 10**8),
        ("1TB", 10**12),
    ],
)
def test_amounts_of_memory(text, expected):
    assert parse_memory(text) == expected


@pytest.mark.parametrize("text", ["much", "GB", "1.2.3GB", "-2GB", ".", "5MB", 1000])
def test_no_amount_of_memory_is_a_sentence(text):
    with pytest.raises(InputError, match="memory_limit"):
        parse_memory(text)


@pytest.mark.parametrize("value", [2.5, True, [1]])
def test_memory_of_another_type_is_a_sentence(value):
    with pytest.raises(InputTypeError, match="memory_limit"):
        parse_memory(value)


@pytest.fixture
def budget():
    made = Budget(10**9, 1000, 0)
    made.fixed = 4 * 10**8
    return made


def test_budget_gives_until_it_is_empty(budget):
    assert budget.takes(5 * 10**8)
    assert not budget.takes(2 * 10**8)
    budget.gives(5 * 10**8)
    assert budget.takes(2 * 10**8)


def test_no_limit_takes_everything():
    assert Budget(None, 1000, 0).takes(10**15)


def test_places(budget):
    assert budget.place(10**6, None) == "memory"
    assert budget.place(10**9, None) == "disk"
    assert budget.place(10**9, remake_seconds=1e-3) == "again"
    assert budget.place(10**9, remake_seconds=1e3) == "disk"


def test_what_does_not_pay_is_not_kept(budget):
    assert budget.place(10**6, 1.0, pays=False) == "again"
    assert budget.place(10**6, 1.0, pays=True) == "memory"
    assert budget.place(10**6, None, pays=True) == "memory"


def test_without_a_limit_no_more_than_the_machine_has(monkeypatch):
    monkeypatch.setattr("manyview.engine.plan.physical_memory", lambda: 10**9)
    free = Budget(None, 1000, 0)
    assert free.place(4 * 10**8, remake_seconds=1e9) == "memory"
    assert free.place(6 * 10**8, remake_seconds=1e9) == "again"


def test_keeping_pays_for_wide_views_and_many_passes():
    narrow, wide = 2.0 * 1000 * 16, 2.0 * 1000 * 500
    assert not worth_keeping(4000.0, narrow, 2)
    assert worth_keeping(4000.0, wide, 2)
    assert worth_keeping(4000.0, narrow, 9)
    assert not worth_keeping(4000.0, wide, 1)


def test_no_room_anywhere_is_a_sentence(budget):
    assert budget.place(10**17, remake_seconds=1e17) == "again"
    with pytest.raises(ResourceError, match="TMPDIR"):
        budget.place(10**17, None)


def test_plan_places_every_need_in_turn(budget):
    needs = [Need("first", 5e5), Need("second", 2e5), Need("third", 1e3)]
    plan = make_plan(
        needs,
        budget,
        block_rows=10,
        passes=9,
        reads=4,
        data_bytes=1e6,
        flops=1e9,
        touched=1e6,
        threads=1,
    )
    assert plan.places == {"first": "memory", "second": "disk", "third": "memory"}
    assert plan.peak_bytes == 4e8 + 5e8 + 1e6
    text = str(plan)
    assert "second: 0.20 GB, spilled to a scratch file" in text
    assert "at most 9 passes, 4 of them over the views" in text


@pytest.mark.parametrize("model", [S2MVTC(4), S2MVTC(4, smoothing="sequence")])
def test_plan_of_a_model_leaves_it_unfitted(three_views, model):
    plan = model.plan(three_views[0])
    assert set(plan.places.values()) <= {"memory", "again"}
    assert plan.n_samples == 300 and plan.limit is None
    assert not hasattr(model, "n_views_")


def test_plan_counts_at_least_the_passes_of_a_fit(three_views):
    from manyview.running import progress

    titles = set()
    for model in (S2MVTC(4, random_state=0), AnchorSpectral(4, random_state=0)):
        count = []
        with progress.listen(lambda t, d, n, c=count: c.append(t) if d == 0 else None):
            model.fit(three_views[0])
        assert len(count) <= model.plan(three_views[0]).passes
        titles.update(count)
    assert "Anchor graph" in titles


@pytest.mark.parametrize(
    "setting", [{}, {"smoothing": "sequence"}, {"smoothing": None, "lam": 5.0}]
)
def test_limit_changes_nothing_but_where_things_lie(
    three_views, monkeypatch, setting, tmp_path
):
    views = []
    for v, x in enumerate(three_views[0]):
        np.save(tmp_path / f"{v}.npy", x)
        views.append(np.load(tmp_path / f"{v}.npy", mmap_mode="r"))
    model = S2MVTC(4, random_state=0, block_rows=70, **setting)
    plain = model.fit(views)
    embedding, labels = plain.embedding_, plain.labels_
    monkeypatch.setattr("manyview.engine.plan.Budget.room", 0.0)
    for pays in (True, False):
        monkeypatch.setattr("manyview.engine.plan.worth_keeping", lambda *_, p=pays: p)
        monkeypatch.setattr("manyview.engine.local.CORE_RATE", 1e-12)
        model.set_params(memory_limit="1GB").fit(views)
        assert isinstance(model.embedding_, np.memmap)
        np.testing.assert_array_equal(model.labels_, labels)
        np.testing.assert_allclose(model.embedding_, embedding, atol=1e-8)
