from dataclasses import replace

from manyview.experiments import planned_run
from manyview.experiments.data_set import DataSet
from manyview.experiments.planned_run import Run, group


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
