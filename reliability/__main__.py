"""``python -m reliability [PART...] [--full]``: measure, save, write the page.

Exit code 1 if a promise was not kept.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable

from . import coverage, faults, fuzz, kills, load, mutants, numbers, page, record
from .record import Part

# With scaled counts, and with those that the page calls full.
PARTS: dict[str, tuple[Callable[[float], Part], Callable[[float], Part]]] = {
    "kills": (
        lambda seconds: kills.measure(10, 5, seconds=seconds),
        lambda seconds: kills.measure(100, 20, seconds=seconds),
    ),
    "faults": (lambda _: faults.measure(5), lambda _: faults.measure(20)),
    "fuzz": (
        lambda seconds: fuzz.measure(1000, seconds),
        lambda seconds: fuzz.measure(20_000, seconds),
    ),
    "numbers": (lambda _: numbers.measure(10), lambda _: numbers.measure(50)),
    "load": (lambda _: load.measure(400), lambda _: load.measure(2000)),
    "coverage": (
        lambda _: coverage.measure(slow=False),
        lambda _: coverage.measure(slow=True),
    ),
    "mutants": (lambda _: mutants.measure(), lambda _: mutants.measure()),
}
ONLY_FULL = ("coverage", "mutants")  # the latter from an environment of its own


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m reliability")
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS, "page"])
    parser.add_argument("--full", action="store_true", help="the full counts")
    limit = "stop kills and damaged files, each, after so many minutes"
    parser.add_argument("--minutes", type=float, default=math.inf, help=limit)
    asked = parser.parse_args()
    wanted = asked.parts or [
        p for p in PARTS if p not in ONLY_FULL or (asked.full and p == "coverage")
    ]
    n_lost = 0
    for name in wanted:
        if name == "page":
            continue
        part = PARTS[name][asked.full](60 * asked.minutes)
        part.full = (asked.full or name == "mutants") and not part.short
        if part.short:
            part.notes.append(f"Stopped after {asked.minutes:g} minutes.")
        record.save(part)
        page.write()
        n_lost += len(part.losses)
        print(f"{name}: {len(part.losses)} losses, {part.seconds:.0f} s", flush=True)
        for loss in part.losses[:20]:
            print(f"  {loss}", flush=True)
    page.write()
    return min(n_lost, 1)


if __name__ == "__main__":
    raise SystemExit(main())
