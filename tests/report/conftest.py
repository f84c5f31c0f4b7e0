from pathlib import Path

import numpy as np
import pytest

from manyview import S2MVTC, Views

from .browser import Browser, find_browser

EVIL = "<script>alert(1)</script>"


@pytest.fixture(scope="session")
def evil_views() -> Views:
    """150 rows in 3 groups, two views; every name tries to be markup."""
    rng = np.random.default_rng(3)
    group = rng.permutation(np.arange(150) % 3)
    first = 4.0 * np.eye(3, 5)[group] + rng.normal(size=(150, 5))
    second = 4.0 * np.eye(3, 4)[group] + rng.normal(size=(150, 4))
    return Views(
        {f"{EVIL}a": first, "b & <b>": second},
        feature_names=[[f"{EVIL}{i}" for i in range(5)], list("wxyz")],
        row_names=[f"{EVIL} row {i}" for i in range(150)],
        labels=np.array([f"</script>{EVIL}", "one", "two"])[group],
    )


@pytest.fixture(scope="session")
def evil_model(evil_views: Views) -> S2MVTC:
    return S2MVTC(3, random_state=0, max_iter=3).fit(evil_views)


@pytest.fixture(scope="session")
def evil_page(evil_views, evil_model, tmp_path_factory) -> Path:
    pytest.importorskip("plotly", reason="plotly is not installed")
    path = tmp_path_factory.mktemp("report") / "report.html"
    return evil_model.report(path, evil_views, layout="pca", timings={"fitting": 1.5})


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """One headless browser for all tests."""
    path = find_browser()
    if path is None:
        pytest.skip("no Chromium is installed on this system")
    found = Browser(path, tmp_path_factory.mktemp("profile"))
    yield found
    found.close()
