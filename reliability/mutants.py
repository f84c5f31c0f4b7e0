"""Changed code must be noticed: mutmut on the modules the numbers and files rest on.

mutmut works on a copy of the package and of the tests in ``build/mutants``. There it
keeps what it found: while a module stays as it is, a second run only tries the mutants
that lived, against the tests of the day. The reasons why a mutant may live are listed
in ``survivors.toml``.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from .record import ROOT, Part, timed

# Share of mutants that tests must notice; the rest changes words, not results.
WANTED = 0.85
FOLDER = ROOT / "build" / "mutants"
MUTMUT = [sys.executable, "-m", "mutmut"]
# Slow tests are left out where there are any: each mutant would wait for them.
# So is a test that names the caller's frame, which mutmut's own stand before.
SLOW = "not comes_back_whole and not setting_comes_back"
QUICK = ("-m", "not slow", "-k", f"{SLOW} and not saved_and_that_is_said")
MODULES = {
    "metrics": ["tests/test_metrics.py", "-m", "not slow"],
    "stages/sequence": ["tests/stages/test_sequence.py"],
    "stages/ridge": ["tests/stages/test_ridge.py"],
    "files/container": ["tests/files/test_model_file.py", *QUICK],
    "files/model_file": [
        "tests/files/test_model_file.py",
        "tests/views/test_preparing.py",
        *QUICK,
    ],
}
REASONS = Path(__file__).parent / "survivors.toml"
CAUGHT = ("killed", "timeout", "suspicious", "segfault")
CONFIG = """
[tool.mutmut]
source_paths = ["src/"]
only_mutate = ["src/manyview/{module}.py"]
also_copy = ["tests", "pyproject.toml"]
pytest_add_cli_args_test_selection = {tests}
pytest_add_cli_args = [
    "-p", "no:cacheprovider", "-p", "no:xdist", "--hypothesis-profile", "mutants"
]
"""


def measure() -> Part:
    """Run mutmut on every module with the module's own tests."""
    part = Part("mutants")
    with timed(part):
        for module, tests in MODULES.items():
            add(part, module, run_mutmut(module, tests))
    return part


def add(part: Part, module: str, states: Mapping[str, str]) -> None:
    """A module's line of the table, and its survivors with their reasons."""
    reasons = tomllib.loads(REASONS.read_text(encoding="utf-8"))
    lived = sorted(name for name, state in states.items() if state not in CAUGHT)
    killed = len(states) - len(lived)
    unexplained = [name for name in lived if _short(name) not in reasons]
    part.rows.append(
        {
            "module": module,
            "mutants": len(states),
            "killed": killed,
            "share": f"{killed / len(states):.1%}",
            "survivors without a reason": len(unexplained),
        }
    )
    if killed < WANTED * len(states):
        share = f"{killed} of {len(states)}"
        part.losses.append(f"{module}: only {share} mutants killed")
    part.notes += _explain(lived, reasons)


def _short(name: str) -> str:
    """``manyview.stages.ridge.x_solve__mutmut_3`` as ``stages.ridge.solve``."""
    module, _, function = name.removeprefix("manyview.").rpartition(".")
    return f"{module}.{function.removeprefix('x_').partition('__mutmut_')[0]}"


def _explain(lived: list[str], reasons: dict[str, str]) -> list[str]:
    """Survivors by function, each with the reason why it may live."""
    found = Counter(_short(name) for name in lived)
    return [
        f"* `{name}`, {count}: {reasons.get(name, 'no reason found yet')}"
        for name, count in sorted(found.items())
    ]


def run_mutmut(module: str, tests: list[str]) -> dict[str, str]:
    """The state of every mutant of the module, by its name."""
    folder = FOLDER / module
    lived = _prepare(folder, module, tests)
    subprocess.run([*MUTMUT, "run", "--max-children", "1", *lived], cwd=folder)
    return _states(folder)


def _prepare(folder: Path, module: str, tests: list[str]) -> list[str]:
    """Copy what mutmut needs; the mutants to try again, none where all are new."""
    source = Path("src", "manyview", f"{module}.py")
    known = folder / source
    if not known.is_file() or known.read_bytes() != (ROOT / source).read_bytes():
        shutil.rmtree(folder, ignore_errors=True)
    for part in ("src", "tests", "reliability"):
        skip = shutil.ignore_patterns("__pycache__")
        target = folder / part
        shutil.copytree(ROOT / part, target, ignore=skip, dirs_exist_ok=True)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    config = CONFIG.format(module=module, tests=repr(tests).replace("'", '"'))
    (folder / "pyproject.toml").write_text(project + config, encoding="utf-8")
    if not (folder / "mutants").is_dir():
        return []
    return [name for name, state in _states(folder).items() if state not in CAUGHT]


def _states(folder: Path) -> dict[str, str]:
    said = subprocess.run(
        [*MUTMUT, "results", "--all", "true"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = (line.strip().rpartition(": ") for line in said.stdout.splitlines())
    return {mutant: state for mutant, colon, state in lines if colon}
