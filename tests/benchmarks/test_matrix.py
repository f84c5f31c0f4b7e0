"""The matrix: its cells cover what they should, its verdicts can fail, and a selection
of cells holds on small rows with the thresholds lowered."""

import dataclasses
import functools
import itertools
import json
import warnings

import pytest

pytest.importorskip("covertable", reason="covertable is not installed")

from benchmarks.matrix import __main__ as command
from benchmarks.matrix import cells, inputs, page, running, verdict, work
from benchmarks.matrix.cells import INPUTS, KILLED, PLACES, ROWS, USES, Cell
from manyview import all_methods
from manyview.engine.contract import lowered
from manyview.engine.scratch import Budget

METHODS = [method.name for method in all_methods() if method.is_installed]
HERE = [place for place, needs in PLACES.items() if "device" not in needs]
FACTORS = ("estimator", "place", "input", "rows", "use")

# Both sides of every threshold: rows of a block, rows that are sampled, and state that
# stays in memory, is spilled (wide views) or made again (narrower ones).
FEW_ROWS, MANY_ROWS = 300, 600
LOW = {"block_rows": 128, "sampled_rows": 500, "state_room": 160_000}
WIDTHS = {
    "narrow dense": (6, 8),
    "wide dense": (450, 460),
    "sparse": (60, 70),
    "float64": (6, 7),
    "missing views": (6, 8),
    "empty rows": (40, 50),
}
SMALL = {"n_anchors": 60, "n_init": 3, "max_iter": 2}
SETTINGS = {
    "S2MVTC": {**SMALL, "n_graph_anchors": 200},
    "SequenceS2MVTC": SMALL,
    "AnchorSpectral": {"n_graph_anchors": 200, "n_init": 3},
    "ConcatKMeans": {"n_init": 3},
}
SELECTED = cells.choose([*SETTINGS, "BestViewKMeans"], HERE, rows=(FEW_ROWS, MANY_ROWS))


class Stopped(BaseException):
    """What takes the place of a kill within this process."""


def stop():
    raise Stopped


def pairs(cell):
    levels = [(name, getattr(cell, name)) for name in FACTORS]
    return set(itertools.combinations(levels, 2))


def is_taken(combination):
    estimator = combination[0]
    return all(cells.takes(estimator, level) for level in combination[1:])


@pytest.mark.parametrize("on_gpu", [False, True])
def test_every_pair_that_methods_take_is_covered(on_gpu):
    whole = [c for c in cells.all_cells() if ("device" in PLACES[c.place]) == on_gpu]
    places = {c.place for c in whole}
    levels = (METHODS, places, INPUTS, ROWS, USES)
    wanted = set()
    for combination in filter(is_taken, itertools.product(*levels)):
        wanted |= pairs(Cell(*combination))
    found = set().union(*(pairs(c) for c in whole if is_taken(list(vars(c).values()))))
    assert wanted - found == set()


def test_methods_for_few_rows_get_no_others():
    of = {c.estimator: set() for c in cells.all_cells()}
    for c in cells.all_cells():
        of[c.estimator].add(c.rows)
    few = cells.FOR_FEW_ROWS & of.keys()
    assert all(of[name] == {ROWS[0]} for name in few)
    assert all(of[name] == set(ROWS) for name in of.keys() - few)


def test_roads_are_covered_three_by_three():
    found = {(c.place, c.input, c.rows) for c in cells.all_cells()}
    assert set(itertools.product(HERE, INPUTS, ROWS)) <= found


def test_no_cell_twice_and_every_refusal_asked_for():
    whole = cells.all_cells()
    assert len({c.key for c in whole}) == len(whole)
    asked = [*HERE, *INPUTS, *USES]
    for method, level in itertools.product(METHODS, asked):
        if not cells.takes(method, level):
            assert any(
                c.estimator == method and level in vars(c).values() for c in whole
            )


def test_every_refusal_is_by_name_and_before_any_work(tmp_path):
    views = {
        kind: inputs.make_values(kind, 60, WIDTHS[kind])
        for kind in ("narrow dense", "missing views")
    }
    refused = cells.refusals(METHODS, PLACES, rows=60)
    assert len(refused) > 50
    for cell in refused:
        done = work.attempt(cell, views[cell.input], tmp_path, alone=False)
        assert verdict.judge(cell, done, work.Done()).outcome == "refused", cell


@pytest.fixture(scope="module")
def opened(tmp_path_factory):
    """What a user hands over, by kind and number of rows."""
    folder = tmp_path_factory.mktemp("inputs")
    found = {}

    def views(kind, n_rows):
        if (kind, n_rows) not in found:
            own = folder / f"{len(found)}"
            own.mkdir()
            values = INPUTS[kind]
            inputs.write(own, kind, inputs.make_values(values, n_rows, WIDTHS[values]))
            found[kind, n_rows] = inputs.open_input(own, kind)
        return found[kind, n_rows]

    return views


@pytest.fixture(scope="module")
def workers():
    """Two workers of Dask for all cells: threads of this process."""
    distributed = pytest.importorskip("distributed", reason="Dask is not installed")
    asked = {"n_workers": work.N_WORKERS, "threads_per_worker": 1, "memory_limit": 0}
    with (
        distributed.LocalCluster(**asked, processes=False, dashboard_address=":0") as c,
        distributed.Client(c) as client,
    ):
        client.run(warnings.filterwarnings, **work.STRICT)
        yield client


@pytest.fixture(scope="module")
def plain(opened):
    """The plain fit in memory, by cell."""
    found = {}

    def fit(cell):
        if cell.plain not in found:
            views = opened(cell.plain.input, cell.rows)
            found[cell.plain] = work.refer(cell.plain, views, SETTINGS)
        return found[cell.plain]

    return fit


@pytest.fixture
def to_one_more(few_candidates, monkeypatch):
    """What ``n_clusters="auto"`` tries goes to one more than there are."""
    tried = range(2, inputs.N_CLUSTERS + 2)
    monkeypatch.setattr("manyview.selection.CANDIDATES", tried)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::manyview.errors.ManyviewWarning")
@pytest.mark.parametrize("cell", SELECTED, ids=lambda cell: cell.key)
@pytest.mark.usefixtures("to_one_more")
def test_selection(cell, opened, plain, tmp_path, request, monkeypatch):
    if "engine" in PLACES[cell.place]:
        there = request.getfixturevalue("workers")
        monkeypatch.setattr(work, "_cluster", lambda cell, alone: there.as_current())
    for kind, library in {"Zarr": "zarr", "Parquet": "pyarrow"}.items():
        if cell.input == kind:
            pytest.importorskip(library, reason=f"{library} is not installed")
    views = opened(cell.input, cell.rows)
    how = {"alone": False, "settings": SETTINGS}
    with lowered(**LOW):
        if cell.use == KILLED:
            assert die_often(cell, views, tmp_path, how) > 0
        done = work.attempt(cell, views, tmp_path, **how)
        found = verdict.judge(cell, done, plain(cell))
    assert found.outcome != verdict.FAILED, found.said


def die_often(cell, views, folder, how):
    """How many times a fit could be stopped; a refusal counts as well."""
    for kills in range(running.N_KILLS):
        try:
            done = work.attempt(cell, views, folder, die=stop, **how)
        except Stopped:
            continue
        return kills + (done.refusal is not None)
    return running.N_KILLS


@pytest.mark.slow
def test_the_selection_keeps_spills_and_remakes(opened, tmp_path, monkeypatch):
    roads = set()
    original = Budget.place

    def place(self, n_bytes, remake_seconds):
        found = original(self, n_bytes, remake_seconds)
        roads.add(found)
        return found

    monkeypatch.setattr(Budget, "place", place)
    monkeypatch.setattr("manyview.engine.local.CORES", 1)  # many remake sooner
    within = [c for c in SELECTED if c.place == "memory limit" and c.use == cells.FIT]
    for room in (LOW["state_room"], 60_000):
        with lowered(**{**LOW, "state_room": room}):
            for cell in within:
                views = opened(cell.input, cell.rows)
                work.perform(cell, views, tmp_path, alone=False, settings=SETTINGS)
    assert roads == {"memory", "disk", "again"}


ASKED = Cell("S2MVTC", "memory limit", "narrow dense", 8, "fit")
PLAIN = work.Done(labels=[0, 0, 0, 0, 1, 1, 1, 1], predicted=[0, 0, 0, 0, 1, 1, 1, 1])


@pytest.mark.parametrize(
    ("done", "outcome"),
    [
        (work.Done(labels=[1, 1, 1, 1, 0, 0, 0, 0], held=9, limit=10), "same labels"),
        (work.Done(labels=[1, 1, 1, 1, 0, 0, 0, 0], held=11, limit=10), "failed"),
        (work.Done(labels=[0, 0, 0, 1, 1, 1, 1, 1]), "failed"),
        (work.Done(labels=[0, 0, 0, 0, 1, 1, 1]), "failed"),
        (work.Done(labels=PLAIN.labels, predicted=[0, 1] * 4), "failed"),
        (work.Done(refusal="memory_limit=1 is too little"), "refused"),
        (work.Done(refusal="memory_limit=1", passes=[verdict.LOOK]), "refused"),
        (work.Done(refusal="memory_limit=1", passes=["Drawing rows"]), "failed"),
        (work.Done(refusal="something else"), "failed"),
    ],
)
def test_verdicts(done, outcome):
    assert verdict.judge(ASKED, done, PLAIN).outcome == outcome


def test_results_of_this_code_are_kept_line_by_line(tmp_path):
    path = tmp_path / "matrix.jsonl"
    first = running.Results(path, "code", "machine")
    first.add(ASKED, {"outcome": "failed"})
    first.add(ASKED, {"outcome": "same labels"})
    running.Results(path, "other code", "machine").add(ASKED, {"outcome": "failed"})
    with path.open("a") as file:
        file.write('{"cell": ')  # a run that was killed while it wrote
    again = running.Results(path, "code", "machine")
    assert again.of(ASKED)["outcome"] == "same labels"
    again.tidy()
    (line,) = path.read_text().splitlines()
    assert json.loads(line)["digest"] == "code"


def test_results_of_other_code_count_where_it_is_named(tmp_path):
    path = tmp_path / "matrix.jsonl"
    other = dataclasses.replace(ASKED, rows=9)
    before = running.Results(path, "before", "machine")
    for cell in (ASKED, other):
        before.add(cell, {"outcome": "failed"})
    running.Results(path, "code", "machine").add(ASKED, {"outcome": "same labels"})
    assert running.Results(path, "code", "machine").of(other) is None
    both = running.Results(path, "code", "machine", ["before"])
    assert both.of(ASKED)["outcome"] == "same labels"
    assert both.of(other)["digest"] == "before"


def test_references_are_those_of_this_code_and_machine(tmp_path):
    found = set()
    for digest, machine in [("code", "one"), ("code", "two"), ("other", "one")]:
        results = running.Results(tmp_path / "matrix.jsonl", digest, machine)
        runner = running.Runner(results, tmp_path / "work", 1, print)
        found |= {runner._plain(c) for c in (ASKED.plain, ASKED)}
    assert len(found) == 6


def test_the_command_fails_for_what_failed_or_was_left_out(tmp_path, capsys):
    results = running.Results(tmp_path / "matrix.jsonl", "code", "machine")
    other = dataclasses.replace(ASKED, place="GPU")
    end = functools.partial(command.conclude, results=results, usual=tmp_path / "work")
    assert end([ASKED], [ASKED], docs=False) == 1
    results.add(ASKED, {"outcome": "failed"})
    assert end([ASKED], [ASKED], docs=False) == 1
    results.add(ASKED, {"outcome": "refused"})
    assert end([ASKED, other], [ASKED], docs=False) == 0
    assert "1 cells need a GPU" in capsys.readouterr().out


@pytest.mark.slow
def test_cells_run_in_processes_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "N_KILLS", 1)
    results = running.Results(tmp_path / "matrix.jsonl", "code", "machine")
    killed = Cell("ConcatKMeans", "memory", "narrow dense", 300, KILLED)
    refused = Cell("FMVACC", "memory", "narrow dense", 300, cells.PREDICT)
    broken = Cell("ConcatKMeans", "memory", "narrow dense", 300, "juggle")
    said = []
    runner = running.Runner(results, tmp_path / "work", 2, said.append)
    runner.run([killed, refused, broken])
    found = {c: results.of(c) for c in (killed, refused, broken)}
    assert found[killed]["outcome"] == "same labels"
    assert found[killed]["peak"] > 10**7
    assert found[refused]["outcome"] == "refused"
    assert "predict" in found[refused]["said"]
    assert found[broken]["outcome"] == "failed"
    assert "juggle" in found[broken]["said"]
    assert len([line for line in said if killed.key in line]) == 1


def test_cells_follow_what_they_need_and_many_rows_wait_for_few(tmp_path):
    few = Cell("S2MVTC", "memory limit", "HDF5", 300, "fit")
    long = dataclasses.replace(few, rows=900, use=cells.AUTO)
    many = dataclasses.replace(few, rows=900)
    refused = Cell("FMVACC", "memory", "narrow dense", 900, cells.PREDICT)
    begun = []

    class Recorder(running.Runner):
        def _child(self, kind, cell, folder=None):
            begun.append((kind, cell))
            return {"error": "none of this is run"}

    results = running.Results(tmp_path / "matrix.jsonl", "code", "machine")
    Recorder(results, tmp_path / "work", 1, lambda line: None).run(
        [refused, many, long, few]
    )
    asked = [cell for kind, cell in begun if kind == "cell"]
    assert asked == [few, long, refused, many]
    for cell in (few, long, many):
        at = begun.index(("cell", cell))
        assert begun.index(("plain", cell.plain)) < at
        before = {(c.input, c.rows) for kind, c in begun[:at] if kind == "data"}
        assert {(cell.input, cell.rows), (cell.plain.input, cell.rows)} <= before
    assert begun.index(("plain", many.plain)) > begun.index(("cell", few))


def test_the_page_shows_every_cell():
    other = dataclasses.replace(ASKED, estimator="BMVC")
    third = dataclasses.replace(ASKED, rows=9)
    last = dataclasses.replace(ASKED, place="GPU")
    same = {"outcome": "same labels", "ari": 1.0, "held": 8e8, "limit": 1e9}
    records = {
        ASKED.key: same | {"cpu": 90.0, "machine": "One."},
        other.key: {"outcome": "refused", "said": "BMVC has no parameter. So."},
    }
    records[ASKED.key]["digest"] = "abc"
    records[other.key] |= {"cpu": 30.0, "machine": "One.", "digest": "abc"}
    text = page.render([ASKED, other, third, last], records)
    assert "1 give the labels of the plain fit, 1 are refused by name, 0 fail" in text
    assert "1 more need a GPU and 1 others were not run" in text
    assert "One. 2 cells with code abc took 2 minutes of one core." in text
    assert "| memory limit | 8 | 0.8 | 1 |" in text
    assert "| memory limit | BMVC | … has no parameter |" in text
    assert "| S2MVTC | memory limit | narrow dense | 8 | fit | 1.0000 |" in text
    assert "| 0.80 of 1.00 | 90 | abc | same labels |" in text
