"""``python -m benchmarks.matrix``: run the cells that are not known yet; see `main`."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import figures

from . import ROOT
from . import __doc__ as about
from .cells import Cell, all_cells
from .page import PAGE, render
from .running import Results, Runner, digest_of_code
from .verdict import FAILED

RESULTS = ROOT / "benchmarks" / "results" / "matrix.jsonl"


def main() -> int:
    """Run, print and write; 1 if a cell failed or was left out."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--work", type=Path, help="folder for data, to be kept")
    parser.add_argument("--jobs", type=int, default=2, help="cells side by side")
    parser.add_argument("--rows", type=int, nargs="*", help="only so many rows")
    parser.add_argument("--only", default="", help="only cells with this in their key")
    parser.add_argument(
        "--also", nargs="*", default=[], help="digests of code whose results count, too"
    )
    parser.add_argument("--list", action="store_true", help="print the cells")
    parser.add_argument("--docs", action="store_true", help="write the page's table")
    options = parser.parse_args()
    wanted = [
        cell
        for cell in all_cells()
        if options.only in cell.key and (not options.rows or cell.rows in options.rows)
    ]
    if options.list:
        print("\n".join(cell.key for cell in wanted))
        return 0
    digest = digest_of_code()
    here = figures.describe(figures.machine())
    results = Results(options.results, digest, here, options.also)
    usable = [cell for cell in wanted if has_gpu() or not cell.needs_gpu]
    left = [cell for cell in usable if not is_good(results, cell)]
    usual = Path(tempfile.gettempdir()) / f"manyview-matrix-{digest}"
    print(f"{len(left)} of {len(wanted)} cells to run with code {digest}", flush=True)
    start = time.monotonic()
    Runner(results, options.work or usual, options.jobs, say).run(left)
    print(f"{(time.monotonic() - start) / 60:.1f} minutes")
    return conclude(wanted, usable, results, usual, options.docs)


def conclude(
    wanted: list[Cell], usable: list[Cell], results: Results, usual: Path, docs: bool
) -> int:
    """Say how it went; data in the `usual` folder may go when all is well."""
    results.tidy()
    if docs:
        figures.fill("matrix", render(all_cells(), results.by_cell), PAGE)
    elsewhere = [c for c in wanted if c not in usable and not is_good(results, c)]
    if elsewhere:
        print(f"{len(elsewhere)} cells need a GPU, which this machine has not:")
        print("\n".join(f"    {cell.key}" for cell in elsewhere))
    bad = [cell for cell in usable if not is_good(results, cell)]
    print(f"{len(usable) - len(bad)} cells hold, {len(bad)} do not")
    print("\n".join(f"    {cell.key}" for cell in bad))
    if not bad:
        shutil.rmtree(usual, ignore_errors=True)
    return int(bool(bad))


def is_good(results: Results, cell: Cell) -> bool:
    """Has the cell been run with this code, and held?"""
    found = results.of(cell)
    return found is not None and found["outcome"] != FAILED


def has_gpu() -> bool:
    """Does torch see a CUDA GPU?"""
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())


def say(line: str) -> None:
    """At once, also into a file."""
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
