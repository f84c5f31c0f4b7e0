import numpy as np
import pytest

from manyview.baselines import ConcatKMeans

KMEANS = ("--method", "concat-kmeans", "-k", 4, "--out", "run")


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        (("--engine", "spark"), "choose local or dask"),
        (("--engine", "dask"), "go together"),
        (("--scheduler", "tcp://127.0.0.1:1"), "go together"),
        (("--engine", "dask", "--scheduler", "nowhere:1:2"), "No Dask scheduler"),
    ],
)
def test_options_that_do_not_fit(manyview, folder, options, seen) -> None:
    if "nowhere:1:2" in options:
        pytest.importorskip("distributed", reason="Dask is not installed")
    code, _, err = manyview("fit", "a.npy", *KMEANS, *options)
    assert code != 0
    assert seen in " ".join(err.split())
    assert not (folder / "run").exists()


def test_a_method_without_engines_says_so(manyview, folder) -> None:
    code, _, err = manyview(
        "fit", "a.npy", "--method", "bmvc", "-k", 4, "-o", "run", "--checkpoint", "c"
    )
    assert code != 0
    assert "no parameter 'checkpoint'" in " ".join(err.split())


def test_checkpoint_is_kept_and_used(manyview, folder) -> None:
    options = ("a.npy", "b.npy", *KMEANS, "--checkpoint", "saved", "--force")
    assert manyview("fit", *options).code == 0
    assert (folder / "saved" / "fit.json").is_file()
    assert manyview("fit", *options).code == 0
    views = [np.load("a.npy"), np.load("b.npy")]
    expected = ConcatKMeans(4, random_state=0).fit_predict(views)
    np.testing.assert_array_equal(np.load("run/labels.npy"), expected)
    code, _, err = manyview("fit", *options, "--seed", 1)
    assert code != 0
    assert "random_state=0, this fit has 1" in " ".join(err.split())
