"""``python -m reliability [PART...] [--full]``: measure, save, write the page.

Exit code 1 if a promise was not kept.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

from . import coverage, faults, fuzz, kills, load, mutants, numbers, page, record
from .record import Part

# With scaled counts, and with those that the page calls full.
PARTS: dict[str, tuple[Callable[[], Part], Callable[[], Part]]] = {
    "kills": (lambda: kills.measure(10, 5), lambda: kills.measure(100, 20)),
    "faults": (lambda: faults.measure(5), lambda: faults.measure(20)),
    "fuzz": (lambda: fuzz.measure(1000), lambda: fuzz.measure(20_000)),
    "numbers": (lambda: numbers.measure(10), lambda: numbers.measure(50)),
    "load": (lambda: load.measure(400), lambda: load.measure(2000)),
    "coverage": (coverage.measure, coverage.measure),
    "mutants": (mutants.measure, mutants.measure),
}
ONLY_FULL = ("coverage", "mutants")  # the latter from an environment of its own


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m reliability")
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS, "page"])
    parser.add_argument("--full", action="store_true", help="the full counts")
    asked = parser.parse_args()
    wanted = asked.parts or [
        p for p in PARTS if p not in ONLY_FULL or (asked.full and p == "coverage")
    ]
    n_lost = 0
    for name in wanted:
        if name == "page":
            continue
        part = PARTS[name][asked.full]()
        part.full = asked.full or name in ONLY_FULL
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
