"""The scripts of the benchmarks, run in this process: what one imports serves all."""

import importlib
import json
import sys
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """A script by its name, imported as it is when it runs."""
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module


@pytest.fixture
def run(script, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Run a script with options, none of its warnings an error."""

    def main(name: str, *options: object) -> None:
        monkeypatch.setattr(sys, "argv", [f"{name}.py", *map(str, options)])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            script(name).main()

    return main


@pytest.fixture
def children_here(run, script, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What `child.run` would start in a process of its own runs in this one."""

    def run_here(path: str, job: dict[str, object]) -> dict[str, object]:
        answer = tmp_path / "answer.json"
        run(Path(path).stem, "--job", json.dumps(job | {"answer": str(answer)}))
        return json.loads(answer.read_text(encoding="utf-8"))

    child = script("child")
    monkeypatch.setattr(child, "run", run_here)
    monkeypatch.setattr(child, "matrix_rate", partial(child.matrix_rate, 64))
