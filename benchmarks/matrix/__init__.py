"""Every combination at real sizes: a covering array of what can be asked of a fit.

    python -m benchmarks.matrix            # all cells, about an hour on two cores
    python -m benchmarks.matrix --rows 2000

A cell is one place, one kind of input, one number of rows, one estimator and one use.
It gives the labels of the plain fit in memory within its memory limit, or it is refused
by name before any work; anything else fails the command. `cells` chooses the cells,
`inputs` makes the data, `work` does what a cell asks for, `child` does it in a process
of its own, `running` runs them all, and `page` writes the table of the documentation.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "src"))
