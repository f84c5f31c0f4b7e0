"""The factors, and the cells that cover every pair of their levels.

What a method takes is read off its parameters and tags. Levels that it declares it
takes are covered pair by pair, and place, input and rows three by three, since these
decide which road the code takes. Each level that it does not take is asked for once,
with all else plain: the refusal is the library's own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from itertools import product
from typing import Any

from covertable import make

from manyview import all_methods
from manyview.methods import Method, find_method

# Parameters that take a fit to a place.
PLACES: dict[str, tuple[str, ...]] = {
    "memory": (),
    "memory limit": ("memory_limit",),
    "Dask": ("engine",),
    "Dask, memory limit": ("engine", "memory_limit"),
    "GPU": ("device",),
    "GPU, streamed": ("device", "memory_limit"),
    "Dask on a GPU": ("engine", "device"),
}
# Kinds of input, and whose values they hold: files hold those of arrays.
INPUTS: dict[str, str] = {
    "narrow dense": "narrow dense",
    "wide dense": "wide dense",
    "sparse": "sparse",
    "float64": "float64",
    "missing views": "missing views",
    "empty rows": "empty rows",
    "mapped .npy": "wide dense",
    "HDF5": "narrow dense",
    "Zarr": "wide dense",
    "Parquet": "float64",
}
ROWS = (2_000, 80_000, 400_000)
# Exact neighbours, or n × n: time with the square of the rows.
FOR_FEW_ROWS = frozenset(
    ["KNNLeiden", "SNF", "SpectralJoined", "UMAPHDBSCAN", "SingleCellLeiden", "WNN"]
)
FIT, KILLED, PREDICT = "fit", "killed and resumed", "predict in pieces"
SAVED, EXPLAIN, AUTO = "save and load", "explain", "n_clusters='auto'"
USES = (FIT, KILLED, PREDICT, SAVED, EXPLAIN, AUTO)
MISSING = "missing views"


@dataclass(frozen=True)
class Cell:
    """One combination."""

    estimator: str
    place: str
    input: str
    rows: int
    use: str

    @property
    def key(self) -> str:
        """The cell in one line."""
        return " | ".join(str(level) for level in asdict(self).values())

    @property
    def is_taken(self) -> bool:
        """Does its method declare that it takes all this?"""
        levels = (self.place, self.input, self.use)
        return all(takes(self.estimator, level) for level in levels)

    @property
    def needs_gpu(self) -> bool:
        """Does it need one? A refusal does not."""
        return "device" in PLACES[self.place] and self.is_taken

    @property
    def plain(self) -> Cell:
        """The fit in memory, of the same values, whose labels this one must have."""
        use = AUTO if self.use == AUTO else FIT
        return replace(self, place="memory", input=INPUTS[self.input], use=use)

    @property
    def asked(self) -> set[str]:
        """Words of which a refusal must use one: what is asked for besides a fit."""
        words = {*PLACES[self.place]}
        words |= {"missing"} if self.input == MISSING else set()
        of_use = {KILLED: "checkpoint", PREDICT: "predict", AUTO: "n_clusters"}
        return words | ({of_use[self.use]} if self.use in of_use else set())


@cache
def about(estimator: str) -> tuple[Method, frozenset[str]]:
    """A method, and the names of its parameters."""
    method = find_method(estimator)
    return method, frozenset(method.estimator().get_params())


def takes(estimator: str, level: Any) -> bool:
    """Does the method take this place, input, number of rows or use?"""
    method, parameters = about(estimator)
    if isinstance(level, int):
        return level <= ROWS[0] or estimator not in FOR_FEW_ROWS
    declared = {
        MISSING: method.tags.missing_views,
        KILLED: "checkpoint" in parameters,
        PREDICT: method.tags.predicts,
        AUTO: method.estimator.chooses_n_clusters,
    }
    return declared.get(level, set(PLACES.get(level, ())) <= parameters)


def choose(
    estimators: Sequence[str],
    places: Sequence[str],
    inputs: Sequence[str] = tuple(INPUTS),
    rows: Sequence[int] = ROWS,
    uses: Sequence[str] = USES,
    *,
    threes: bool = True,
) -> list[Cell]:
    """Cells of all pairs that the methods take; with `threes` also of all three of
    place, input and rows."""
    factors = {
        "estimator": list(estimators),
        "place": list(places),
        "input": list(inputs),
        "rows": list(rows),
        "use": list(uses),
    }
    roads = [{"fields": ["place", "input", "rows"], "strength": 3}]
    found = make(
        factors,
        constraints=[_taken(name) for name in ("place", "input", "rows", "use")],
        sub_models=roads if threes else None,
    )
    return [Cell(**row) for row in found]


def _taken(factor: str) -> dict[str, Any]:
    def holds(row: dict[str, Any]) -> bool:
        return takes(row["estimator"], row[factor])

    return {"operator": "fn", "requires": ["estimator", factor], "evaluate": holds}


def refusals(
    estimators: Sequence[str],
    places: Iterable[str],
    inputs: Iterable[str] = tuple(INPUTS),
    rows: int = ROWS[0],
    uses: Iterable[str] = USES,
) -> list[Cell]:
    """Each level that a method does not take, with all else plain."""
    plain = Cell("", "memory", "narrow dense", rows, FIT)
    asked = [("place", p) for p in places]
    asked += [("input", i) for i in inputs] + [("use", u) for u in uses]
    return [
        replace(plain, estimator=estimator, **{factor: level})
        for estimator, (factor, level) in product(estimators, asked)
        if not takes(estimator, level)
    ]


def all_cells() -> list[Cell]:
    """The whole matrix, its cells on a GPU last."""
    names = [method.name for method in all_methods() if method.is_installed]
    on_gpu = [place for place, needs in PLACES.items() if "device" in needs]
    here = [place for place in PLACES if place not in on_gpu]
    able = [name for name in names if takes(name, on_gpu[0])]
    return [
        *choose(names, here),
        *refusals(names, here),
        *choose(able, on_gpu, threes=False),
        *refusals([n for n in names if n not in able], on_gpu[:1], (), uses=()),
    ]
