"""Model files: class, parameters and fitted values of an estimator, safe to share.

The class is looked up in the list of methods, values in the tables of
`manyview.files.schema`; nothing else in a file can name anything. Files hold no
name that is private to the code, and those of earlier versions are translated.
"""

import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from manyview import __version__
from manyview.arrays.ops import Matrix
from manyview.errors import FileError, InputTypeError, UnsavedWarning
from manyview.files.atomic import require_free
from manyview.files.codec import Encoder, decode
from manyview.files.container import read_container, write_container
from manyview.files.migrations import VERSION, migrate
from manyview.files.schema import ATTRIBUTES, PLACE, attribute_name, is_public
from manyview.views.arguments import check_path
from manyview.views.preparing import Preparation, Step

FindClass = Callable[[str], type[Any] | None]


def write_model(model: Any, path: str | os.PathLike[str], *, overwrite: bool) -> Path:
    """Write a fitted model, whole or not at all; the file's path."""
    model._check_fitted()
    target = check_path(path, "The file of a model")
    require_free(target, overwrite=overwrite)
    kind = type(model)
    if not kind.__module__.startswith("manyview."):
        raise InputTypeError(
            f"{kind.__name__} is no method of this package, so its models cannot be "
            "saved in model files. Keep what you need of it in arrays."
        )
    encoder = Encoder()
    params = model.get_params(deep=False)
    kept = {k: v for k, v in params.items() if k not in PLACE}
    content = {
        "version": VERSION,
        "manyview": __version__,
        "class": kind.__name__,
        "rows kept": getattr(model, "n_rows_kept_", 0),
        "params": {k: encoder.encode(v, f"parameter {k}") for k, v in kept.items()},
        "fitted": {
            _name_in_file(k): encoder.encode(v, k)
            for k, v in _without_foreign(vars(model)).items()
            if k not in params and not k.startswith("_skl")
        },
    }
    write_container(target, "model", content, encoder.arrays)
    return target


def _without_foreign(values: dict[str, Any]) -> dict[str, Any]:
    """All but transformers of other libraries, which only a pickle could hold."""
    kept = {
        name: value
        for name, value in values.items()
        if not isinstance(value, Preparation)
        or not any(isinstance(step, Step) for step in value.steps.values())
    }
    if len(kept) < len(values):
        warnings.warn(
            "The transformers of the views are not saved with the model: only pickles "
            "could hold them, and model files have none. Keep the ViewTransformer "
            "yourself, and give predict what it makes of new rows.",
            UnsavedWarning,
            stacklevel=4,  # the caller's line, beyond write_model and save
        )
    return kept


def _name_in_file(attribute: str) -> str:
    name = attribute_name(attribute)
    if name is None:
        raise InputTypeError(
            f"The model cannot be saved: {attribute} is no fitted value that model "
            "files know. Remove it first, or give it a name that ends in _."
        )
    return name


def read_model(
    path: str | os.PathLike[str],
    find_class: FindClass,
    *,
    memory_limit: int | float | str | None = None,
    **place: Any,
) -> Any:
    """The fitted estimator of a file; see `manyview.load_model`."""
    source = check_path(path, "The file of a model")
    written, arrays = read_container(source, "model", memory_limit)
    try:
        return _made(migrate(written), arrays, find_class, place)
    except FileError as error:
        raise FileError(f"{source.name}: {error}") from error


def _made(
    content: dict[str, Any], arrays: Sequence[Matrix], find_class: FindClass, place: Any
) -> Any:
    """The estimator of what a file says, once its form is that of this release."""
    if not all(isinstance(content.get(part), dict) for part in ("params", "fitted")):
        raise FileError(
            "The model file is refused: it has no parameters or values. Save it again."
        )
    kind = find_class(str(content.get("class")))
    if kind is None:
        raise FileError(
            f"The model is of the method {content.get('class')!r}, which this release "
            f"does not have. Load it with manyview {content.get('manyview')}."
        )
    _refuse_strange_names(content, kind)
    model = kind(**{k: decode(v, arrays) for k, v in content["params"].items()})
    model.set_params(**place)
    for name, value in content["fitted"].items():
        setattr(model, ATTRIBUTES.get(name, name), decode(value, arrays))
    return model


def _refuse_strange_names(content: dict[str, Any], kind: type[Any]) -> None:
    """Only parameters of the class, and values that cannot hide anything of it."""
    known = set(kind().get_params(deep=False))
    hidden = {n for n in content["fitted"] if is_public(n) and hasattr(kind, n)}
    unknown = {n for n in content["fitted"] if not is_public(n) and n not in ATTRIBUTES}
    strange = (set(content["params"]) - known) | hidden | unknown
    if strange:
        raise FileError(
            f"The model file is refused: {content['class']} has nothing named "
            f"{', '.join(sorted(strange)[:5])}. It was written by manyview "
            f"{content.get('manyview')}; save the model again."
        )
