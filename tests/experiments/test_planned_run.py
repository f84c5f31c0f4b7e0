import shutil
import subprocess
import sys
from dataclasses import replace

import pytest

from manyview.experiments import planned_run
from manyview.experiments.data_set import DataSet
from manyview.experiments.planned_run import NOT_RUN, PACKAGE, Run, code_digest, group


def test_the_key_changes_with_all_that_matters(small, monkeypatch):
    base = Run(small, "file", "OPMC", {"n_init": 2}, 0)
    other = DataSet.generated("other", n_samples=91, n_features=[4], n_clusters=3)
    changed = [
        replace(base, order="shuffled"),
        replace(base, method="LMTC"),
        replace(base, setting={"n_init": 3}),
        replace(base, seed=1),
        replace(base, extras={"trace": 5}),
        replace(base, data=other),
    ]
    assert len({r.key for r in [base, *changed]}) == 7
    assert Run(small, "file", "OPMC", {"n_init": 2}, 0).key == base.key
    monkeypatch.setattr(planned_run, "__version__", "999")
    assert replace(base).key != base.key


@pytest.fixture
def copy(tmp_path):
    """The package's modules, to be changed."""
    only = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(PACKAGE, tmp_path / "manyview", ignore=only)


def test_results_of_earlier_code_are_not_those_of_this(small, copy, monkeypatch):
    before = Run(small, "file", "OPMC").key
    module = copy / "kmeans" / "lloyd.py"
    module.write_text(module.read_text("utf-8") + "\n# another rule\n", "utf-8")
    monkeypatch.setattr(planned_run, "PACKAGE", copy)
    assert Run(small, "file", "OPMC").key != before
    assert Run(small, "file", "OPMC").describe()["code"] == code_digest(copy)


def test_code_is_the_same_elsewhere_with_other_line_ends_and_commands(copy):
    for module in copy.rglob("*.py"):
        module.write_bytes(module.read_bytes().replace(b"\n", b"\r\n"))
    (copy / "cli" / "app.py").write_text("raise SystemExit\n")
    assert code_digest(copy) == code_digest(PACKAGE)


def test_a_module_that_moves_is_other_code(copy):
    (copy / "kmeans" / "lloyd.py").rename(copy / "kmeans" / "steps.py")
    assert code_digest(copy) != code_digest(PACKAGE)


def test_no_run_loads_what_its_key_leaves_out():
    code = """
import sys
import manyview.experiments.task_worker
from manyview import all_methods
all_methods()
print(*(name.split(".")[1] for name in sys.modules if name.startswith("manyview.")))
"""
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = set(ran.stdout.split())
    assert {"stages", "baselines", "datasets"} <= loaded
    assert not loaded & NOT_RUN


def test_seeds_share_a_process_settings_do_not(small):
    runs = [
        Run(small, "file", "OPMC", {"n_init": n}, seed)
        for n in (1, 2)
        for seed in (0, 1)
    ]
    tasks = group([*runs, *runs])
    assert [[(r.setting["n_init"], r.seed) for r in t.runs] for t in tasks] == [
        [(1, 0), (1, 1)],
        [(2, 0), (2, 1)],
    ]


def test_cells_of_a_surface_share_a_process(small):
    runs = [Run(small, "file", "X", {"lam": x}, 0, {"share": "s"}) for x in (1, 2, 3)]
    assert [len(t.runs) for t in group(runs)] == [3]
