"""Memory limits: reading them, planning by them, keeping them."""

import numpy as np
import pytest

from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC, Views
from manyview.engine.contract import lowered, worth_keeping
from manyview.engine.local import LocalEngine
from manyview.engine.plan import Need, Work, make_plan
from manyview.engine.scratch import Budget, parse_memory
from manyview.errors import InputError, InputTypeError, ResourceError
from manyview.running import progress


@pytest.mark.parametrize(
    ("text", "expected"),
    [
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
    made = Budget(10**9, 0)
    made.fixed = 4 * 10**8
    return made


def test_budget_gives_until_it_is_empty(budget):
    assert budget.takes(5 * 10**8)
    assert not budget.takes(2 * 10**8)
    assert budget.used == 5 * 10**8
    assert budget.takes(-(4 * 10**8))
    assert budget.takes(2 * 10**8)


def test_places(budget):
    assert budget.place(10**6, None) == "memory"
    assert budget.place(10**9, None) == "disk"
    assert budget.place(10**9, remake_seconds=1e-3) == "again"
    assert budget.place(10**9, remake_seconds=1e3) == "disk"


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


def work_on(n_samples):
    return Work(
        n_samples=n_samples,
        block_rows=10,
        passes=9,
        reads=4,
        data_bytes=1e6,
        block_bytes=0,
        flops=1e9,
        touched=1e6,
    )


def test_plan_places_every_need_in_turn(monkeypatch):
    monkeypatch.setattr("manyview.engine.scratch.resident_bytes", lambda: 0)
    monkeypatch.setattr("manyview.engine.plan.resident_bytes", lambda: 0)
    needs = [
        Need("first", 5e5),
        Need("second", 2e5),
        Need("third", 1e3),
        Need("fourth", 2e5, remake_flops=1.0, uses=9),
    ]
    plan = make_plan(needs, work_on(1000), 10**9)
    places = {"first": "memory", "second": "disk", "third": "memory"}
    assert plan.places == {**places, "fourth": "again"}
    assert plan.peak_bytes == 4e8 + 5e8 + 1e6
    text = str(plan)
    assert "second: 0.20 GB, spilled to a scratch file" in text
    assert "fourth: 0.20 GB, made again in every pass" in text
    assert "at most 9 passes, 4 of them over the views" in text


def test_without_a_limit_no_more_than_the_machine_has(monkeypatch):
    monkeypatch.setattr("manyview.engine.plan.physical_memory", lambda: 10**9)
    monkeypatch.setattr("manyview.engine.local.MEMORY", 10**9)
    engine = LocalEngine(Views([np.ones((1000, 1))]), np.float64)
    for row_bytes, place in ((4e5, "memory"), (6e5, "again")):
        needs = [Need("features", row_bytes, remake_flops=1e12, uses=9)]
        assert make_plan(needs, work_on(1000), None).places["features"] == place
        assert engine.keeps(row_bytes, 1e12, 9) == (place == "memory")


def test_what_does_not_pay_is_not_kept():
    needs = [Need("features", 4000.0, remake_flops=1e6, uses=n) for n in (1, 9)]
    engine = LocalEngine(Views([np.ones((1000, 1))]), np.float64)
    for need, place in zip(needs, ("again", "memory"), strict=True):
        for limit in (None, 10**10):
            plan = make_plan([need], work_on(1000), limit)
            assert plan.places == {"features": place}
        kept = engine.keeps(need.bytes_per_row, need.remake_flops, need.uses)
        assert kept == (place == "memory")


@pytest.mark.parametrize("model", [S2MVTC(4), SequenceS2MVTC(4)])
def test_plan_of_a_model_leaves_it_unfitted(three_views, model):
    plan = model.plan(three_views[0])
    assert set(plan.places.values()) <= {"memory", "again"}
    assert plan.n_samples == 300 and plan.limit is None
    assert not hasattr(model, "n_views_")


def test_plan_counts_at_least_the_passes_of_a_fit(three_views):
    titles = set()
    for model in (S2MVTC(4, random_state=0), AnchorSpectral(4, random_state=0)):
        count = []
        with progress.listen(lambda t, d, n, c=count: c.append(t) if d == 0 else None):
            model.fit(three_views[0])
        assert len(count) <= model.plan(three_views[0]).passes
        titles.update(count)
    assert "Anchor graph" in titles


@pytest.mark.parametrize(
    "model",
    [
        S2MVTC(4, random_state=0),
        SequenceS2MVTC(4, random_state=0),
        SequenceS2MVTC(4, smoothing_weight=0.0, lam=5.0, random_state=0),
    ],
)
@pytest.mark.parametrize("kept", [True, False])
def test_limit_changes_nothing_but_where_things_lie(
    three_views, monkeypatch, model, kept, tmp_path
):
    views = []
    for v, x in enumerate(three_views[0]):
        np.save(tmp_path / f"{v}.npy", x)
        views.append(np.load(tmp_path / f"{v}.npy", mmap_mode="r"))
    with lowered(block_rows=70):
        plain = model.fit(views)
        embedding, labels = plain.embedding_, plain.labels_
        # More than the process may hold, as if it were full already.
        monkeypatch.setattr("manyview.engine.scratch.DRIVER", 10**12)
        monkeypatch.setattr("manyview.engine.local.worth_keeping", lambda *_: kept)
        monkeypatch.setattr("manyview.engine.local.CORE_RATE", 1e-12)
        model.set_params(memory_limit="1GB").fit(views)
    assert model._passes.start.features.keep is kept
    assert isinstance(model.embedding_, np.memmap)
    np.testing.assert_array_equal(model.labels_, labels)
    np.testing.assert_allclose(model.embedding_, embedding, atol=1e-8)
    model.set_params(memory_limit=None)


def test_data_to_come_is_planned_by_its_shape(three_views):
    model = S2MVTC(4)
    views = Views.of(three_views[0])
    there = model.plan(three_views[0])
    to_come = model.plan((len(views), list(views.n_features)))
    assert there.passes == to_come.passes and there.places == to_come.places
    with pytest.raises(InputError, match="number of rows"):
        model.plan((0, [3]))
    with pytest.raises(InputError, match="columns"):
        model.plan((10, [3, -1]))
    with pytest.raises(InputError, match="n_clusters=8 is more than the 5 rows"):
        S2MVTC(8).plan((5, [3]))


def test_more_workers_take_less_time_and_memory_and_more_traffic():
    shape = (10**9, [64, 64, 64])
    few, many = (S2MVTC(20).plan(shape, workers=n) for n in (50, 200))
    assert many.seconds < few.seconds and many.peak_bytes < few.peak_bytes
    assert few.traffic_bytes < many.traffic_bytes < 4 * few.traffic_bytes
    # A worker's rows, their F, B_bar and labels, and what no rows change.
    rows = 10**9 / 50
    own = 3 * 64 * 4 + 2 * 40 * 4 + 8
    assert few.peak_bytes == pytest.approx(rows * own + 8e8, rel=0.05)
    assert "50 workers of one core" in str(few) and "a worker" in str(few)
    assert S2MVTC(20).plan(shape).workers == 0


def test_rows_read_from_files_neither_travel_nor_stay(
    three_views, tmp_path, monkeypatch
):
    monkeypatch.setattr("manyview.engine.plan.product_rate", lambda: 1e11)
    paths = []
    for v, x in enumerate(three_views[0]):
        paths.append(str(tmp_path / f"{v}.npy"))
        np.save(paths[-1], x)
    model = S2MVTC(4)
    held, read = (model.plan(rows, workers=2) for rows in (three_views[0], paths))
    n_bytes = sum(x.nbytes for x in three_views[0])
    assert held.traffic_bytes - read.traffic_bytes == pytest.approx(n_bytes / 2)
    assert held.peak_bytes - read.peak_bytes == pytest.approx(n_bytes / 2)
    assert held.seconds >= read.seconds


def test_set_up_counts_where_rows_are_few():
    """Searches, the graph's vectors and the ridge take most of a small fit."""
    model, columns = S2MVTC(20), [64, 64, 64]
    small, large = (model.plan((n, columns)).seconds for n in (5_000, 500_000))
    assert small > large / 40


def test_a_scratch_file_that_memory_can_hold_is_read_as_fast_as_it_is_copied(
    monkeypatch,
):
    """The system keeps it in its cache; of a larger one it asks the disk."""
    model = S2MVTC(20, memory_limit="2GB")
    # On another machine making the rows again may be faster than any disk.
    for room in ("plan", "scratch"):
        monkeypatch.setattr(f"manyview.engine.{room}.n_cores", lambda: 2)
    monkeypatch.setattr("manyview.engine.plan.product_rate", lambda: 1e11)

    def seconds(memory):
        monkeypatch.setattr("manyview.engine.plan.physical_memory", lambda: memory)
        plan = model.plan((10**6, [512, 512]))
        assert "disk" in plan.places.values()
        return plan.seconds

    assert seconds(2**36) + 10 < seconds(2**31)
