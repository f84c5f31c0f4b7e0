"""Known holes and licences of the locked packages: ``make lint`` runs this.

What cannot be looked up (no network, no pip-audit) is said and skipped.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata

from .record import ROOT

LOCK = ROOT / "requirements-ci.txt"
SECONDS = 60
FREE = re.compile(
    r"\b(MIT|BSD|Apache|ISC|PSF|Python Software Foundation|MPL|Mozilla|HPND|zlib|"
    r"Unlicense|CC0|0BSD|Zope|Historical Permission)",
    re.IGNORECASE,
)


def locked() -> dict[str, str]:
    """Names and versions in the lock file."""
    lines = LOCK.read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if "==" in line)
    return dict(pairs)


def audit() -> tuple[list[str], str | None]:
    """Known holes, and why they could not be looked up, if so."""
    options = ["--no-deps", "--disable-pip", "--timeout", "10", "-f", "json"]
    command = [sys.executable, "-m", "pip_audit", "-r", str(LOCK), *options]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        found = json.loads(run.stdout)["dependencies"]
    except subprocess.TimeoutExpired:
        return [], f"no answer within {SECONDS} s"
    except (ValueError, KeyError):
        return [], (run.stderr.strip().splitlines() or ["pip-audit said nothing"])[-1]
    known = [d for d in found if "skip_reason" not in d]
    holes = [f"{d['name']}: {v['id']}" for d in known for v in d["vulns"]]
    return holes, None if known else "no service with known holes can be reached"


def licence_of(about: PackageMetadata) -> str:
    """All a package says about its licence."""
    named = [about.get("License-Expression", ""), (about.get("License") or "")[:200]]
    classifiers = about.get_all("Classifier") or []
    return " ".join(named + [c for c in classifiers if c.startswith("License")])


def unfree() -> tuple[list[str], list[str]]:
    """Installed packages whose licence is not known to be permissive; the absent."""
    strange, absent = [], []
    for name in locked():
        try:
            about = metadata(name)
        except PackageNotFoundError:
            absent.append(name)
            continue
        said = licence_of(about)
        if not FREE.search(said):
            strange.append(f"{name}: {said.strip() or 'no licence named'}")
    return strange, absent


def main() -> int:
    """Say what was found; 1 for a hole or a licence that has to be looked at."""
    holes, skipped = audit()
    print(
        f"audit skipped: {skipped}" if skipped else f"audit: {len(holes)} known holes"
    )
    strange, absent = unfree()
    print(f"licences: {len(locked()) - len(absent)} looked at, {len(strange)} strange")
    for line in [*holes, *strange]:
        print(f"  {line}")
    return int(bool(holes or strange))


if __name__ == "__main__":
    raise SystemExit(main())
