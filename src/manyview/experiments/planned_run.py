"""`Run`: one fit to be measured, and the key its result is found by."""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import manyview
from manyview import __version__
from manyview.experiments.data_set import DataSet

Record = dict[str, Any]

PACKAGE = Path(manyview.__file__).parent
# No run passes through these: who changes them keeps the results there are.
NOT_RUN = frozenset(
    ["cli", "report", "__main__", "checks", "explain", "order_audit", "sc"]
)


@dataclass(frozen=True)
class Run:
    """A method with a setting on a data set in a row order with a seed.

    `setting` are the parameters that differ from the default. `extras` say what else
    to do: ``trace`` so many rows, or ``share`` the set-up with the other runs.
    """

    data: DataSet
    order: str
    method: str  # a name that `estimators.build` knows
    setting: dict[str, Any] = field(default_factory=dict)
    seed: int = 0
    extras: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def key(self) -> str:
        """Equal for equal work on equal rows by the same code."""
        what = [self.method, self.setting, _checksum_of(self.data), self.order]
        code = [__version__, code_digest(PACKAGE)]
        return _digest(_sorted([*what, self.seed, self.extras, *code]))

    def to_json(self) -> Record:
        """What the process is told."""
        return asdict(self) | {"key": self.key}

    def describe(self) -> Record:
        """The fields of a record that say what was run."""
        data = {"data": self.data.name, "checksum": _checksum_of(self.data)}
        code = {"version": __version__, "code": code_digest(PACKAGE)}
        return self.to_json() | data | code


@cache
def code_digest(package: Path) -> str:
    """Digest of the modules that runs pass through, the same for any line ends."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py"), key=Path.as_posix):
        module = path.relative_to(package).with_suffix("")
        if module.parts[0] not in NOT_RUN:
            own = hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n"))
            digest.update(f"{module.as_posix()} {own.hexdigest()}\n".encode())
    return digest.hexdigest()[:20]


@cache
def _checksum_of(data: DataSet) -> str:
    return data.checksum()


def _sorted(content: list[Any]) -> str:
    return json.dumps(content, sort_keys=True)


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:20]


class Task(NamedTuple):
    """Runs that share one process, because they share data, order and method."""

    runs: tuple[Run, ...]

    @property
    def key(self) -> str:
        return _digest("".join(r.key for r in self.runs))


def group(runs: Iterable[Run]) -> list[Task]:
    """Seeds of one setting together; runs that share their set-up all together."""
    groups: dict[str, dict[str, Run]] = {}
    for r in runs:
        own = r.seed if r.extras.get("share") else r.setting
        what = [asdict(r.data), r.order, r.method, r.extras, own]
        groups.setdefault(_sorted(what), {})[r.key] = r
    return [Task(tuple(g.values())) for g in groups.values()]
