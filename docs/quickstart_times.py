"""How long the quick start takes, in a new environment.

    python docs/quickstart_times.py

does what docs/quickstart.md says, step by step, and writes docs/measured/quickstart.md.
Packages come from pip's index or from its cache. Run it on a machine that does nothing
else.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
import venv
from pathlib import Path

from manyview.engine.resources import n_cores
from manyview.present.table import Table

DOCS = Path(__file__).parent
PAGE = DOCS / "measured" / "quickstart.md"
STEP = re.compile(r"^## (?P<title>.+?)\n(?P<body>.*?)(?=^## |\Z)", re.M | re.S)
BLOCK = re.compile(r"^```(?P<kind>python)?\n(?P<code>.*?)^```", re.M | re.S)
# The rows of the pages' table.csv: four groups in eleven columns.
MAKE_TABLE = """
import numpy as np
from manyview.datasets import make_views
data = np.hstack(make_views(300, (6, 5), 4, random_state=0).arrays)
names = ",".join("abcdefghijk")
np.savetxt("table.csv", data, delimiter=",", header=names, comments="")
"""


def steps(text: str) -> dict[str, tuple[str, list[str]]]:
    """By heading: its Python code as one program, and its shell commands."""
    found = {}
    for step in STEP.finditer(text):
        blocks = list(BLOCK.finditer(step["body"]))
        code = "".join(b["code"] for b in blocks if b["kind"])
        lines = [x for b in blocks if not b["kind"] for x in b["code"].splitlines()]
        if code or lines:
            found[step["title"]] = code, [x.partition("#")[0].strip() for x in lines]
    return found


def measure(folder: Path) -> Table:
    """Every step of the page in an environment of its own."""
    venv.create(folder / "env", with_pip=True)
    bin_folder = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    path = {"PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}"}
    place = {"cwd": folder, "env": os.environ | path, "check": True}
    table = Table("quickstart", caption(), ["step", "seconds"])
    before, total = "", 0.0
    for title, (code, lines) in steps((DOCS / "quickstart.md").read_text()).items():
        if any("table.csv" in line for line in lines):
            subprocess.run([bin_folder / "python", "-c", MAKE_TABLE], **place)
        start = time.perf_counter()
        for line in lines:
            command = line.replace('".[', f'"{DOCS.parent}[')
            subprocess.run(command, shell=True, **place)
        if code:
            # One session: later steps start from what earlier ones have made.
            program = f"{before}\nimport time\nbegan = time.perf_counter()\n{code}"
            program += "\nopen('seconds', 'w').write(str(time.perf_counter() - began))"
            subprocess.run([bin_folder / "python", "-c", program], **place)
            seconds = float((folder / "seconds").read_text())
            for made in ("report.html", "digits.manyview"):
                (folder / made).unlink(missing_ok=True)
            before += code
        else:
            seconds = time.perf_counter() - start
        table.add(title, f"{seconds:.0f}")
        total += seconds
    table.add("all", f"{total:.0f}")
    return table


def caption() -> str:
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    return f"The steps of this page on {n_cores()} cores with Python {version}"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        PAGE.write_text(measure(Path(place)).to_markdown(), encoding="utf-8")
    print(PAGE.read_text(encoding="utf-8"))
