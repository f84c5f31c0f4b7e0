"""Ten million rows on disk with one gigabyte of memory.

    TMPDIR=/a/large/disk python benchmarks/disk.py --out disk.json   # < 40 minutes
    python benchmarks/disk.py --quick

Three views of 32 float32 features (3.8 GB); every pass reads the file once.
"""

from __future__ import annotations

import argparse
import json

import figures
import growth


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--limit", default="1GB")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--docs", action="store_true")
    parser.add_argument("--job", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        growth.fit(json.loads(options.job))
        return
    rows, clusters = (900, 4) if options.quick else (options.rows, 20)
    table = growth.measure(rows, (32, 32, 32), clusters, [options.limit], __file__)
    found = {"machine": figures.machine(), "results": table}
    figures.save(options.out, found)
    if options.docs:
        text = [figures.describe(found["machine"]), figures.table(table)]
        figures.fill("disk", "\n\n".join(text))


if __name__ == "__main__":
    main()
