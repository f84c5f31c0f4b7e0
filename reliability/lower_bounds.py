"""The lowest versions that ``pyproject.toml`` allows, as constraints for pip.

``python reliability/lower_bounds.py > lowest.txt``; ``make test-min`` installs them
and runs the tests. Tools that only run the tests are left at their newest.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
BOUND = re.compile(r"([A-Za-z0-9_.-]+)(?:\[[^]]*\])?>=([0-9.]+)")


def lower_bounds() -> list[str]:
    """``name==version`` of every dependency and extra."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"]]
    for extra in project["optional-dependencies"].values():
        wanted += extra
    matches = (BOUND.fullmatch(entry.replace(" ", "")) for entry in wanted)
    return [f"{m[1]}=={m[2]}" for m in matches if m]


if __name__ == "__main__":
    print("\n".join(lower_bounds()))
