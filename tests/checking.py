"""An engine that holds every pass to the contract; all tests' fits run on it.

Around any engine, it hands a step only the fields that existed when the pass began
and that `touches` declares, lets nothing be written into, and looks at what every
block gives back. Steps are checked where they run, on workers too.
"""

import dataclasses
import re
from collections.abc import Mapping

import numpy as np
import scipy.sparse as sp

from manyview.engine import local

plain_open_engine = local.open_engine
is_on = True  # a fixture in conftest.py switches it off where a test asks for it


def open_engine(*args, **kwargs):
    """The engine asked for, its passes checked while that is switched on."""
    engine = plain_open_engine(*args, **kwargs)
    return CheckingEngine(engine) if is_on else engine


class CheckingEngine:
    """Any engine, its passes held to the contract."""

    def __init__(self, inner):
        self.inner = inner
        self.fields = frozenset()  # by what was put, made, replaced and dropped

    def __getattr__(self, name):
        if name in ("inner", "fields"):  # while it is unpickled
            raise AttributeError(name)
        return getattr(self.inner, name)

    def run(self, step, small=None, *, title, views=True):
        checked = CheckedStep(step, self.fields)
        totals, notes = self.inner.run(checked, small, title=title, views=views)
        made = {seen.made for seen in notes}
        assert len(made) == 1, f"{title}: blocks made different fields: {made}"
        replaced = {seen.replaced for seen in notes}
        assert len(replaced) == 1, f"{title}: blocks replaced different fields"
        names = {name for name, _, _ in made.pop()}
        self.fields = (self.fields - replaced.pop()) | names
        return totals, [seen.note for seen in notes]

    def put(self, name, values):
        self.inner.put(name, values)
        self.fields |= {name}

    def drop(self, name):
        self.inner.drop(name)
        self.fields -= {name}

    def read(self, name):
        assert name in self.fields, f"{name} is read, but there is none"
        return self.inner.read(name)


@dataclasses.dataclass(frozen=True)
class Seen:
    """A block's own note, and the fields that its step has made and replaced."""

    note: object
    made: frozenset
    replaced: frozenset


class CheckedStep:
    """A step that is given what it declares, read-only, and no more."""

    def __init__(self, step, fields):
        self.step, self.fields = step, fields
        self.name = getattr(step, "__name__", repr(step))
        declared = hasattr(step, "reads") and hasattr(step, "writes")
        assert declared, f"{self.name} does not declare the fields it touches"

    def __call__(self, block, state, small):
        assert set(state) == self.fields, (
            f"{self.name} is shown {sorted(state)}; {sorted(self.fields)} existed "
            "when the pass began"
        )
        tensors = list(all_tensors((block.views, block.present, dict(state), small)))
        before = [t._version for t in tensors]
        guarded = DeclaredState(state, self.step.reads, self.name)
        views, present = read_only((block.views, block.present))
        block = dataclasses.replace(block, views=views, present=present)
        result = self.step(block, guarded, read_only(small))
        after = [t._version for t in tensors]
        assert after == before, f"{self.name} writes into a tensor it was given"
        self.check(result)
        made = frozenset(
            (name, tuple(values.shape[1:]), str(values.dtype))
            for name, values in result.state.items()
        )
        replaced = frozenset(result.replaces.values())
        return dataclasses.replace(result, note=Seen(result.note, made, replaced))

    def check(self, result):
        """Are only declared fields made, and only such replaced that there were?"""
        for name in result.state:
            assert is_declared(name, self.step.writes), (
                f"{self.name} makes {name}, which it does not declare"
            )
        for new, old in result.replaces.items():
            assert new in result.state, f"{self.name} replaces {old} by nothing"
            assert old in self.fields, f"{self.name} replaces {old}: there is none"
            assert old not in result.state, f"{self.name} makes and replaces {old}"
        olds = list(result.replaces.values())
        assert len(set(olds)) == len(olds), f"{self.name} replaces a field twice"


class DeclaredState(Mapping):
    """A block's state; asking for a field that is not declared is an error."""

    def __init__(self, state, reads, step_name):
        self._state, self._reads, self._step_name = state, reads, step_name

    def __getitem__(self, name):
        self._require(name)
        return read_only(self._state[name])

    def __contains__(self, name):
        self._require(name)
        return name in self._state

    def get(self, name, default=None):
        return self[name] if name in self else default

    def __iter__(self):
        return (name for name in self._state if is_declared(name, self._reads))

    def __len__(self):
        return sum(1 for _ in self)

    def _require(self, name):
        assert is_declared(name, self._reads), (
            f"{self._step_name} asks for {name}, which it does not declare"
        )


def is_declared(name, declared):
    """Is the field among the declared ones, with the number of its view or not?"""
    return name in declared or re.sub(r"\d+$", "", name) in declared


def read_only(value):
    """The same value; its NumPy arrays, however deep, as views that cannot be written.

    Torch has no such views: tensors stay as they are.
    """
    if isinstance(value, np.ndarray):
        guarded = value.view()
        guarded.flags.writeable = False
        return guarded
    if sp.issparse(value) and hasattr(value, "indptr"):
        parts = (value.data, value.indices, value.indptr)
        return type(value)(read_only(parts), shape=value.shape, copy=False)
    if isinstance(value, tuple):
        return getattr(value, "_make", type(value))([read_only(v) for v in value])
    if isinstance(value, list):
        return [read_only(v) for v in value]
    if isinstance(value, dict):
        return {name: read_only(v) for name, v in value.items()}
    if is_record(value):
        own = {f.name: read_only(getattr(value, f.name)) for f in record_fields(value)}
        return dataclasses.replace(value, **own)
    return value


def all_tensors(value):
    """All torch tensors in a value, however deep."""
    if hasattr(value, "_version"):
        yield value
    elif isinstance(value, (tuple, list)):
        for part in value:
            yield from all_tensors(part)
    elif isinstance(value, dict):
        yield from all_tensors(list(value.values()))
    elif is_record(value):
        yield from all_tensors([getattr(value, f.name) for f in record_fields(value)])


def is_record(value):
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def record_fields(value):
    return [f for f in dataclasses.fields(value) if f.init]
