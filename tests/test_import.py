"""What ``import manyview`` loads, and what it offers."""

import json
import subprocess
import sys

import pytest

import manyview

HEAVY = {
    "torch", "dask", "distributed", "matplotlib", "plotly", "h5py", "pandas", "polars",
    "pyarrow", "narwhals", "typer", "rich", "openTSNE", "zarr", "mudata", "anndata",
    "jinja2", "markupsafe", "filelock",
}  # fmt: skip
FOUNDATION = "import numpy, scipy, sklearn.cluster, sklearn.metrics, array_api_compat"

# Between two names the package, and nothing else, is forgotten.
ONE_BY_ONE = """
import json, sys
found = []
for name in names:
    for loaded in [m for m in sys.modules if m.partition(".")[0] == "manyview"]:
        del sys.modules[loaded]
    import manyview
    found.append(getattr(manyview, name).__name__)
print(json.dumps(found))
"""


def loaded_after(code: str) -> set[str]:
    script = f"{code}\nimport json, sys\nprint(json.dumps(list(sys.modules)))"
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in json.loads(run.stdout.splitlines()[-1])}


@pytest.fixture(scope="module")
def foundation() -> set[str]:
    """What the four libraries load by themselves (scikit-learn tries a few)."""
    return loaded_after(FOUNDATION)


@pytest.mark.parametrize(
    "code",
    [
        "import manyview; manyview.S2MVTC; manyview.Views; manyview.all_methods()",
        "import manyview.datasets, manyview.metrics, manyview.running.progress\n"
        "manyview.plot",
        "import numpy as np; from manyview import S2MVTC\n"
        "S2MVTC(2).fit([np.random.default_rng(0).normal(size=(40, 3))])",
        "import manyview.cli",
    ],
)
def test_nothing_heavy_is_loaded(code: str, foundation: set[str]) -> None:
    assert not (loaded_after(code) - foundation) & HEAVY


@pytest.mark.parametrize(
    "code",
    [
        "import manyview, manyview.errors; manyview.ManyviewError",
        "from manyview.cli import main; main(['--help'])",
        "from manyview.cli import main; main(['fit', '--help'])",
        "from manyview.cli import main; main(['fit'])",
    ],
)
def test_nothing_waits_for_libraries_that_it_does_not_use(code: str) -> None:
    libraries = {"numpy", "scipy", "sklearn", "pandas", "torch"}
    assert not loaded_after(code) & libraries


@pytest.mark.parametrize("name", manyview.__all__)
def test_public_names_resolve(name: str) -> None:
    assert getattr(manyview, name) is not None
    assert name in dir(manyview) or name == "__version__"


def test_parts_resolve() -> None:
    """Each where nothing else of the package has been loaded."""
    names = sorted(set(dir(manyview)) - set(manyview.__all__))
    code = f"{FOUNDATION}\nnames = {names}\n{ONE_BY_ONE}"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    assert len(found) == len(names) and all(n.startswith("manyview.") for n in found)


def test_no_other_part_is_promised() -> None:
    assert set(dir(manyview)) - set(manyview.__all__) == {
        "baselines", "checks", "containers", "datasets", "errors", "explain",
        "growing", "metrics", "outliers", "plot", "report", "sc", "selection", "views",
    }  # fmt: skip


def test_unknown_name() -> None:
    with pytest.raises(AttributeError, match="No manyview attribute S3MVTC"):
        _ = manyview.S3MVTC


def test_parts_are_reachable_from_the_package() -> None:
    assert manyview.datasets.load is not None
    assert manyview.metrics.clustering_scores is not None
