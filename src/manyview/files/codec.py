"""Fitted values as JSON and plain arrays, and back; nothing else can pass.

A value is None, a bool, a number, a string, or one JSON object with a single
key that says what it is: ``{"array": 3}``, ``{"tuple": […]}``,
``{"record": ["kernel", {…}]}``. A duration becomes its text in seconds. Records are
those of the fixed table in `manyview.files.schema`: no file can name another class.
"""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any

import numpy as np
import scipy.sparse as sp
from array_api_compat import is_array_api_obj

from manyview.arrays.ops import Matrix, to_host
from manyview.errors import FileError, InputTypeError
from manyview.files.schema import RECORDS, record_name
from manyview.stages.durations import duration_text

# Kinds of numbers and text that a npy file holds without pickling anything.
KINDS = "fiubU"
_BROKEN = (AttributeError, IndexError, KeyError, RecursionError, TypeError, ValueError)
# All of NumPy's own; none is looked up by another name.
GENERATORS = ("PCG64", "PCG64DXSM", "Philox", "SFC64", "MT19937")


class Encoder:
    """Turns values into JSON; arrays are gathered in `arrays`, each once."""

    def __init__(self) -> None:
        self.arrays: list[Matrix] = []
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []  # an id is only unique while its object lives

    def encode(self, value: Any, name: str) -> Any:
        """The JSON form of one value; `name` is for the error message."""
        if value is None or isinstance(value, (bool, str)):
            return value
        if type(value) is int or (isinstance(value, float) and np.isfinite(value)):
            return value
        if isinstance(value, float):
            return {"float": repr(float(value))}
        if isinstance(value, (timedelta, np.timedelta64)):
            return duration_text(value)
        if isinstance(value, np.generic):
            return {"scalar": self._array(np.asarray(value), name, value)}
        if isinstance(value, type) and issubclass(value, np.generic):
            return {"dtype": np.dtype(value).str}
        if isinstance(value, np.dtype):
            return {"dtype": value.str}
        if (record := record_name(value)) is not None:
            fields = RECORDS[record].fields.items()
            coded = {f: self.encode(getattr(value, own), name) for f, own in fields}
            return {"record": [record, coded]}
        if type(value) in (tuple, list):
            return {type(value).__name__: [self.encode(v, name) for v in value]}
        if isinstance(value, dict) and all(isinstance(k, str) for k in value):
            return {"dict": {k: self.encode(v, name) for k, v in value.items()}}
        if isinstance(value, np.random.Generator):
            return {"generator": self.encode(dict(value.bit_generator.state), name)}
        if sp.issparse(value):
            return {"csr": self._csr(value, name)}
        if _is_names(value):
            return {"names": value.tolist()}
        if is_array_api_obj(value):
            return {"array": self._array(to_host(value), name, value)}
        raise _unsaveable(name, value)

    def _array(self, host: Matrix, name: str, value: Any) -> int:
        if host.dtype.kind not in KINDS:
            raise _unsaveable(name, host)
        if id(value) not in self._numbers:
            self._numbers[id(value)] = len(self.arrays)
            self._kept.append(value)
            self.arrays.append(host)
        return self._numbers[id(value)]

    def _csr(self, matrix: Any, name: str) -> Any:
        rows = matrix.tocsr()
        parts = [self.encode(a, name) for a in (rows.data, rows.indices, rows.indptr)]
        return [*parts, list(map(int, rows.shape))]


def _is_names(value: Any) -> bool:
    """An array of str objects, scikit-learn's ``feature_names_in_``."""
    if not isinstance(value, np.ndarray) or value.dtype != object or value.ndim != 1:
        return False
    return all(type(name) is str for name in value)


def _unsaveable(name: str, value: Any) -> InputTypeError:
    is_array = isinstance(value, np.ndarray)
    seen = f"an array of {value.dtype}" if is_array else f"a {type(value).__name__}"
    return InputTypeError(
        f"The model cannot be saved: {name} holds {seen}, and model files hold "
        "numbers, text and plain arrays only. Set it to a plain value first."
    )


def decode(value: Any, arrays: Sequence[Matrix]) -> Any:
    """The value of its JSON form; anything unknown is refused."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if not isinstance(value, dict) or len(value) != 1:
        raise _strange("a value without a kind")
    kind, content = next(iter(value.items()))
    if kind not in _DECODERS:
        raise _strange(f"a value of kind {kind!r}")
    try:
        return _DECODERS[kind](content, arrays)
    except _BROKEN as error:
        raise _strange(f"a broken value of kind {kind!r}") from error


def _strange(seen: str) -> FileError:
    return FileError(
        f"The model file is refused: it holds {seen}. It was damaged, or written by "
        "another release; save the model again."
    )


def _pick(number: Any, arrays: Sequence[Matrix]) -> Matrix:
    if type(number) is not int or not 0 <= number < len(arrays):
        raise _strange("the number of an array that is not there")
    return arrays[number]


def _dtype(text: Any, arrays: Sequence[Matrix]) -> np.dtype[Any]:
    kind = np.dtype(str(text))
    if kind.kind not in KINDS:
        raise _strange(f"the data type {text!r}")
    return kind


def _record(content: Any, arrays: Sequence[Matrix]) -> Any:
    name, fields = content
    if name not in RECORDS:
        raise _strange(f"a record named {name!r}")
    known = RECORDS[name].fields
    strange = sorted(set(fields) - set(known))
    if strange:
        raise _strange(f"a {name} with a field named {strange[0]!r}")
    given = {known[f]: decode(v, arrays) for f, v in fields.items()}
    return RECORDS[name].find_class()(**given)


def _csr(content: Any, arrays: Sequence[Matrix]) -> Any:
    data, indices, indptr = (decode(part, arrays) for part in content[:3])
    matrix = sp.csr_array((data, indices, indptr), shape=tuple(content[3]))
    matrix.check_format(full_check=True)
    return matrix


def _generator(content: Any, arrays: Sequence[Matrix]) -> np.random.Generator:
    state = decode(content, arrays)
    if state["bit_generator"] not in GENERATORS:
        raise _strange("an unknown random generator")
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return np.random.Generator(bits)


_DECODERS: dict[str, Callable[[Any, Sequence[Matrix]], Any]] = {
    "array": _pick,
    "csr": _csr,
    "dict": lambda c, arrays: {str(k): decode(v, arrays) for k, v in c.items()},
    "dtype": _dtype,
    "float": lambda c, _: {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}[c],
    "generator": _generator,
    "list": lambda c, arrays: [decode(v, arrays) for v in c],
    "names": lambda c, _: np.array([str(name) for name in c], dtype=object),
    "record": _record,
    "scalar": lambda c, arrays: _pick(c, arrays)[()],
    "tuple": lambda c, arrays: tuple(decode(v, arrays) for v in c),
}
