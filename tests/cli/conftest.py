from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from manyview.cli import main


class Outcome(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def manyview(capsys: pytest.CaptureFixture[str]) -> Callable[..., Outcome]:
    """Run a command in this process."""

    def run(*args: object) -> Outcome:
        code = main([str(arg) for arg in args])
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, three_views) -> Path:
    """The current folder, with a.npy, b.npy, c.npy and y.txt of 300 rows."""
    views, labels = three_views
    for name, view in zip("abc", views, strict=True):
        np.save(tmp_path / f"{name}.npy", view)
    np.savetxt(tmp_path / "y.txt", labels, fmt="%d")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MANYVIEW_DATA", raising=False)
    return tmp_path
