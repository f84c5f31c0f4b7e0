"""What the rounds start from, found once and kept with a checkpoint; all small."""

from typing import Any, NamedTuple

import numpy as np

from manyview.arrays.ops import Matrix
from manyview.engine.contract import Engine
from manyview.stages.anchor_graph import Spectrum, spread_basis
from manyview.stages.ridge import Ridge
from manyview.stages.rounds import Carried, GraphStart, graph_start_step
from manyview.stages.start import DirectionStart, direction_start_step

NO_CONFLICTS = np.empty(0, dtype=np.intp)  # nothing was known of any row


class Setup(NamedTuple):
    """Anchors, ridges, graph and start; what the first round needs.

    `partition` are labels of the drawn rows that k-means goes on from, or that few
    rows keep, `explained` the share of the start that every view explains, and
    `conflicts` the rows that these labels hold although the data speak against it.
    """

    anchors: tuple[Matrix, ...]
    ridges: tuple[Ridge, ...]
    spectrum: Any
    start: GraphStart | DirectionStart
    first: Carried
    partition: Matrix | None
    explained: Matrix
    conflicts: Matrix = NO_CONFLICTS


def enter(
    engine: Engine, spectrum: Spectrum | None, start: GraphStart | DirectionStart
) -> None:
    """The set-up's state of every row, from its small values."""
    if spectrum is not None:
        spread_basis(engine, spectrum)
    step: Any = graph_start_step
    if isinstance(start, DirectionStart):
        step = direction_start_step
    engine.run(step, start, title="Start")
