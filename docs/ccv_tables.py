"""The tables and figures of the page on CCV, and the table of the README.

    MANYVIEW_DATA=... manyview reproduce --data CCV --seeds 5 --jobs 2 --out ccv
    python docs/ccv_tables.py ccv

takes them from the folder that the first command has written.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path

DOCS = Path(__file__).parent
FOLDER = DOCS / "measured"
README = DOCS.parent / "README.md"
TABLES = (
    *("compare-CCV-file.md", "compare-CCV-shuffled.md", "compare-CCV-shuffled.csv"),
    *("orders-CCV.md", "ablation-CCV-published.md", "ablation-CCV-default.md"),
)
FIGURES = (
    "sensitivity-CCV-lam-beta-file.png",
    "sensitivity-CCV-n_anchors-n_low-file.png",
    "process-CCV-file.png",
)
IN_README = (
    *("ConcatKMeans", "BMVC", "FPMVSCAG", "FSMSC", "LMTC", "SMERAMVC"),
    *("AnchorSpectral", "S2MVTC", "S2MVTC as published"),
)
COLUMNS = ("method", "ACC file", "ACC shuffled", "NMI file", "NMI shuffled")


def readme_table(markdown: str) -> str:
    """Some rows and columns of the table of both row orders."""
    lines = [x.strip("|").split("|") for x in markdown.splitlines() if x[:1] == "|"]
    head, rule, *rows = ([cell.strip() for cell in line] for line in lines)
    by_method = {row[0]: row for row in rows}
    kept = [head, rule, *(by_method[m] for m in IN_README)]
    places = [head.index(c) for c in COLUMNS]
    return "\n".join(f"| {' | '.join(row[i] for i in places)} |" for row in kept)


def main(made: Path) -> None:
    """Copy what the page shows, under names in small letters; fill the README."""
    sources = [made / "tables" / name for name in TABLES]
    sources += [made / "figures" / name for name in FIGURES]
    for source in sources:
        shutil.copyfile(source, FOLDER / source.name.lower())
    table = readme_table((FOLDER / "orders-ccv.md").read_text("utf-8"))
    text = README.read_text("utf-8")
    text = re.sub(r"^\| method \|.*?(?=\n\n)", table, text, flags=re.M | re.S)
    README.write_text(text, "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
