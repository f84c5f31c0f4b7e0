"""Ten million rows on disk with one gigabyte of memory, and wide rows with two.

    TMPDIR=/a/large/disk python benchmarks/disk.py --out disk.json   # < 40 minutes
    TMPDIR=/a/large/disk python benchmarks/disk.py --wide --out wide.json
    python benchmarks/disk.py --quick

Three views of 32 float32 features (3.8 GB); every pass reads the file once. `--wide`:
a million rows of two views of 512 features (4.1 GB), whose features are spilled, beside
the same in memory.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import figures
import growth

WIDE_ROWS = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--limit", default="1GB")
    parser.add_argument("--wide", action="store_true", help="two views of 512 features")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--read", help="what --out wrote: measure nothing")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        growth.fit(json.loads(options.job))
        return
    rows, clusters = (900, 4) if options.quick else (options.rows, 20)
    widths, limits, name = (32, 32, 32), [options.limit], "disk"
    if options.wide:
        rows = min(rows, WIDE_ROWS)
        widths, limits, name = (512, 512), [None, "2GB"], "wide disk"
    if options.read:
        found = json.loads(Path(options.read).read_text(encoding="utf-8"))
    else:
        table = growth.measure(rows, widths, clusters, limits, __file__)
        found = {"machine": figures.machine(), "results": table}
    figures.save(options.out, found)
    if options.docs:
        text = [figures.describe(found["machine"]), figures.table(found["results"])]
        figures.fill(name, "\n\n".join(text))


if __name__ == "__main__":
    main()
