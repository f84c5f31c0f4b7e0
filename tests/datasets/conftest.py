"""Shared by the tests of the readers: small data and ways to read it back."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from manyview.datasets.isolated.sandbox import Sandbox
from manyview.datasets.one_file import read_file
from manyview.datasets.raw_data import RawData, Request, in_memory

N = 12


@pytest.fixture
def parts() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two views of 12 rows and their labels."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 3)), rng.normal(size=(N, 5)), np.arange(N) % 3


@pytest.fixture
def read() -> Callable[..., RawData]:
    """Read a file in this process, every lazy view made an array."""

    def run(path: Path, views=None, labels=None, memory_limit=2**30) -> RawData:
        names = None if views is None else tuple(views)
        with ExitStack() as stack:
            raw = read_file(path, Request(names, labels, memory_limit), stack)
            return replace(raw, views=[in_memory(v) for v in raw.views])

    return run


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox(time_limit=60) as shared:
        yield shared


@pytest.fixture
def data_folder() -> Path:
    folder = os.environ.get("MANYVIEW_DATA")
    if not folder:
        pytest.skip("MANYVIEW_DATA is not set: no real data sets to read")
    return Path(folder)


def assert_parts(raw: RawData, parts) -> None:
    """The two views and the labels, exactly."""
    first, second, labels = parts
    assert [v.shape for v in raw.views] == [first.shape, second.shape]
    np.testing.assert_array_equal(raw.views[0], first)
    np.testing.assert_array_equal(raw.views[1], second)
    np.testing.assert_array_equal(raw.labels, labels)
