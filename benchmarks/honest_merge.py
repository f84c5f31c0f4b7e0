"""Add methods that ran apart to the figures of the honest benchmark.

    python benchmarks/honest.py --out turtle --methods TURTLE --no-ablation --data ...
    python benchmarks/honest_merge.py benchmarks/results turtle

Means and ranks are made anew from both files of figures. The agreement between seeds,
which only the labels of the runs tell, is taken over.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from honest import GROUPS, shuffled_tables, write_page
from honest_pictures import summary
from manyview.experiments.seed_summary import Summary
from ranking import better_preparations, standing

Content = dict[str, Any]


def joined(old: Content, new: Content) -> Content:
    """The figures of both; where they have the same run, the new ones."""
    entries = {_what(e): e for c in (old, new) for e in c["shuffled"]}
    content = old | {"shuffled": list(entries.values())}
    found = summaries(content)
    groups = {g: names for g in GROUPS if (names := old["groups"].get(g))}
    for part, kept in (("standing", found), ("better", better_preparations(found))):
        known = {_who(r): r["agreement"] for c in (old, new) for r in c[part]}
        rows = standing(kept, None, groups)
        content[part] = [r | {"agreement": known.get(_who(r))} for r in rows]
    return content


def summaries(content: Content) -> list[Summary]:
    """The runs on shuffled rows."""
    return [summary(entry) for entry in content["shuffled"]]


def _what(entry: Content) -> str:
    return json.dumps([entry[name] for name in ("data", "method", "setting")])


def _who(row: Content) -> tuple[str, str]:
    return row["group"], row["method"]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="the benchmark that grows")
    parser.add_argument("other", type=Path, help="the one with other methods")
    args = parser.parse_args()
    texts = ((f / "honest.json").read_text("utf-8") for f in (args.folder, args.other))
    content = joined(*map(json.loads, texts))
    rows, better = content["standing"], content["better"]
    tables = shuffled_tables(rows, better, summaries(content))
    write_page(args.folder, tables, content)


if __name__ == "__main__":
    main()
