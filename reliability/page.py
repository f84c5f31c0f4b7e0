"""``docs/reliability.md`` from the results of the last runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import record
from .promises import PROMISES, Promise
from .record import Part

PAGE = record.ROOT / "docs" / "reliability.md"
TITLES = {
    "kills": "Kills",
    "faults": "Other faults",
    "fuzz": "Damaged files",
    "numbers": "Hard numbers",
    "load": "Many fits in one process",
    "coverage": "Coverage",
    "mutants": "Mutants",
}
INTRO = """# Reliability

Bad data gives an error and not a wrong answer; long work is never lost. This page
lists every promise, the tests that keep it, and what the last run of the harness
found. `make test` runs all tests named here, with a short form of the harness. `make
reliability` runs the harness with scaled counts, `make reliability-full` with the full
ones, coverage and mutants included. Both write this page, and neither takes the place
of the other's figures: where a part was run both ways, both are shown.

What is and is not safe to load: see `SECURITY.md` in the repository.
"""
ABOUT = {
    "kills": "A command is started, killed by SIGKILL and started again until it "
    "finishes. After every kill all that is left on disk is read; at the end the "
    "result is compared, byte for byte, with that of an undisturbed run, and no "
    "temporary file may be left. *States hit* counts the different degrees of "
    "completion the kills met.",
    "faults": "Each fault is followed by a look at what is left and, where it is a "
    "command that failed, by a second start that must bring the undisturbed result.",
    "fuzz": "Bytes are flipped, files cut and pieces repeated. A file counts as sound "
    "if its shapes and types agree and all of it can be used; where the format has "
    "checksums of ours (data folders, models), only the original content counts.",
    "numbers": "A fit counts as lost if it raises anything but an error of ours, gives "
    "labels or embeddings that are not valid, or puts nearly all rows into one cluster "
    "without a warning.",
    "load": "All methods in turn, and fits with mapped data, checkpoints, saved models "
    "and refused input. Growth compares the resident size in the last fifth of the "
    "fits with the first fifth after a tenth of them.",
    "coverage": "Of `src/`, by the test suite, subprocesses included.",
    "mutants": "One change at a time to the code (another operator, another constant); "
    "the module's own tests must fail.",
}


Runs = Mapping[str, Sequence[Part]]


def render(runs: Runs) -> str:
    """The whole page."""
    out = [INTRO, "## Promises\n", _promises(runs)]
    for name, title in TITLES.items():
        if runs.get(name):
            out.append(f"## {title}\n\n{ABOUT[name]}\n")
            out += map(_section, runs[name])
    return "\n".join(out)


def _promises(runs: Runs) -> str:
    rows = [
        {
            "promise": p.text,
            "kept by": "<br>".join(f"`{test}`" for test in p.tests) or "–",
            "last run": _figure(p, runs),
        }
        for p in PROMISES
    ]
    return table(rows)


def _figure(promise: Promise, runs: Runs) -> str:
    if promise.figure is None:
        return "in every run of the tests"
    said = []
    for full in (True, False):
        parts = {name: p for name, run in runs.items() for p in run if p.full == full}
        try:
            said.append(f"{promise.figure(parts)} ({_counts(full)})")
        except KeyError:
            continue
    return "<br>".join(said) or "not measured yet"


def _counts(full: bool) -> str:
    return "full counts" if full else "scaled counts"


def _section(part: Part) -> str:
    """One run of a part."""
    versions = ", ".join(f"{k} {v}" for k, v in part.machine.items() if k != "date")
    took = f"{part.seconds / 60:.1f} minutes"
    when = f"{part.machine['date']}, {_counts(part.full)}, {took}; {versions}."
    lines = [table(part.rows), f"{when}\n", *(f"{note}\n" for note in part.notes)]
    if part.losses:
        lines.append("Not kept:\n")
        lines += [f"* {_one_line(loss)}" for loss in part.losses]
        lines.append("")
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]


def table(rows: Sequence[Mapping[str, Any]]) -> str:
    """A Markdown table of rows with the same keys."""
    if not rows:
        return "No rows.\n"
    header = list(rows[0])
    lines = ["| " + " | ".join(header) + " |", "| " + " | ".join("---" for _ in header)]
    lines[1] += " |"
    for row in rows:
        lines.append("| " + " | ".join(_cell(row[name]) for name in header) + " |")
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value).replace("|", "\\|").replace("\n", " ")


def write(folder: Path = record.FOLDER, page: Path = PAGE) -> None:
    """Write the page from what the folder holds."""
    runs = {name: record.load(name, folder) for name in TITLES}
    page.write_text(render(runs), encoding="utf-8")
