"""Tables, text and whatever else people have, made into views of numbers.

Every view goes through a scikit-learn transformer of its own; tables without one
are read by their `TableCode`. What was learned stays with the prepared views and
with a model fitted on them, so that both take new rows as they come.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_is_fitted

from manyview.errors import InputError, InputTypeError
from manyview.views.joining import join_rows
from manyview.views.table_code import TableCode, learn_table
from manyview.views.views import Views

TABLE = "table"  # the name of a single table


class Step(NamedTuple):
    """A fitted transformer, and the columns of the table that it takes, if any."""

    transformer: Any
    columns: Any = None


class Preparation(NamedTuple):
    """What was done to every view, ready to be done to new rows."""

    steps: dict[str, Any]  # a `TableCode`, a `Step`, or None where nothing is done

    @property
    def is_plain(self) -> bool:
        """Is it made of our own codes alone, which a model file can hold?"""
        return not any(isinstance(step, Step) for step in self.steps.values())

    def transform(self, X: Any) -> Views:
        """The views of new rows."""
        raw = raw_views(X)
        made: dict[str, Any] = {}
        for name, step in self.steps.items():
            if isinstance(step, TableCode):
                made |= step.encode(_frame(_item(raw, name), name), name)
            elif isinstance(step, Step):
                given = _item(raw, name, step.columns)
                made[name] = _named(step.transformer.transform(given), step.transformer)
            else:
                made[name] = _named(_item(raw, name))
        return _views(made, raw, self)


class ViewTransformer(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Prepares every view with a scikit-learn transformer of its own.

    Parameters
    ----------
    transformers : dict, optional
        By the name of the view: a transformer (a pipeline, a ``ColumnTransformer``),
        a pair (transformer, columns) that makes a view of some columns of a single
        table, or "passthrough". Tables without one are encoded: numbers stay, dates
        become days since the first, and categories, text and truth values become
        columns of ones in a view of their own; other views stay as they are.

    Attributes
    ----------
    preparation_ : Preparation
        What is done to new rows.

    Examples
    --------
    >>> import polars
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from manyview import S2MVTC, ViewTransformer
    >>> who = {"age": [30, 31, 65, 66], "smokes": ["yes", "yes", "no", "no"]}
    >>> table = polars.DataFrame(who)
    >>> notes = ["coughs at night", "coughs", "knee hurts", "hurts at the knee"]
    >>> prepare = ViewTransformer({"notes": TfidfVectorizer()})
    >>> views = prepare.fit_transform({"patient": table, "notes": notes})
    >>> views.names
    ('patient', 'patient categories', 'notes')
    >>> model = S2MVTC(2, random_state=0).fit(views)
    >>> model.predict({"patient": table[:1], "notes": notes[:1]}) == model.labels_[:1]
    array([ True])
    """

    def __init__(self, transformers: Mapping[str, Any] | None = None) -> None:
        self.transformers = transformers

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn how to prepare the views of `X`; `y` goes to the transformers."""
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> Views:
        """Learn it, and give the prepared views."""
        raw, given = raw_views(X), dict(self.transformers or {})
        chosen = [pair[1] for pair in given.values() if isinstance(pair, tuple)]
        taken = {c for own in chosen for c in ([own] if isinstance(own, str) else own)}
        steps: dict[str, Any] = {}
        made: dict[str, Any] = {}
        for name in [*raw, *(n for n in given if n not in raw)]:
            choice = given.get(name)
            as_it_is = isinstance(choice, str) and choice == "passthrough"
            if choice is None and hasattr(raw[name], "columns"):
                frame = _frame(raw[name], name)
                frame = frame.drop([c for c in taken if c in frame.columns])
                if not frame.columns:
                    continue  # all are in views of their own
                steps[name] = learn_table(frame, name)
                made |= steps[name].encode(frame, name)
            elif choice is None or as_it_is:
                steps[name], made[name] = None, _named(raw[name])
            else:
                own, columns = choice if isinstance(choice, tuple) else (choice, None)
                own = clone(own)
                found = own.fit_transform(_item(raw, name, columns), y)
                steps[name], made[name] = Step(own, columns), _named(found, own)
        self.preparation_ = Preparation(steps)
        return _views(made, raw, self.preparation_)

    def transform(self, X: Any) -> Views:
        """The prepared views of new rows."""
        check_is_fitted(self, "preparation_")
        return self.preparation_.transform(X)


def raw_views(X: Any) -> dict[str, Any]:
    """The views as they were given, by name; tables with their rows in one order."""
    if isinstance(X, Views):
        return dict(zip(X.names, X.arrays, strict=True))
    if isinstance(X, Mapping):
        return _aligned({str(name): item for name, item in X.items()})
    if isinstance(X, (list, tuple)):
        return _aligned({f"view{v}": item for v, item in enumerate(X)})
    if hasattr(X, "columns"):
        return {TABLE: X}
    raise InputTypeError(
        f"Views to prepare must be a dict, a list or one table; got {type(X).__name__}."
    )


def _item(raw: Mapping[str, Any], name: str, columns: Any = None) -> Any:
    """A raw view; some columns of it, or of the only table there is."""
    source = TABLE if columns is not None and name not in raw else name
    if source not in raw:
        raise InputError(
            f"There is no view named {name!r} to prepare; there are "
            f"{', '.join(raw)}. Name the views as in the fit, in a dict; to take "
            "columns of a single table, give a pair (transformer, columns)."
        )
    if columns is None:
        return raw[source]
    frame = _frame(raw[source], source)
    lost = {columns} if isinstance(columns, str) else set(columns)
    if lost := lost - set(frame.columns):
        raise InputError(
            f"The table has no columns {', '.join(sorted(lost))}; it has "
            f"{', '.join(map(str, frame.columns[:8]))}. Name columns of the table."
        )
    return frame[columns].to_native()


def _frame(item: Any, name: str) -> Any:
    import narwhals as nw

    try:
        return nw.from_native(item, eager_only=True)
    except TypeError as error:
        raise InputTypeError(
            f"View {name!r} was a table in the fit; got {type(item).__name__}. Give a "
            "DataFrame with its columns."
        ) from error


def _named(made: Any, transformer: Any = None) -> tuple[Any, list[str] | None]:
    """A prepared view and the names of its features, where they are known."""
    if hasattr(made, "columns"):
        return made, [str(c) for c in made.columns]
    try:
        return made, [str(n) for n in transformer.get_feature_names_out()]
    except (AttributeError, TypeError, ValueError):
        return made, None


def _views(made: dict[str, Any], raw: dict[str, Any], how: Preparation) -> Views:
    views = Views(
        {name: item for name, (item, _) in made.items()},
        feature_names=[names for _, names in made.values()],
        row_names=next((i for i in _indices(raw) if i is not None), None),
    )
    views.preparation = how
    return views


def _indices(raw: Mapping[str, Any]) -> list[Any]:
    """The index of every table that has one, None of the rest."""
    import narwhals as nw

    frames = [(nw.from_native(x, pass_through=True), x) for x in raw.values()]
    return [None if f is x else nw.maybe_get_index(f) for f, x in frames]


def _aligned(raw: dict[str, Any]) -> dict[str, Any]:
    """The tables with their rows in one order, by name."""
    joined = join_rows(list(raw), _indices(raw))
    if joined.places is None:
        return raw
    pairs = zip(raw.items(), joined.places, strict=True)
    return {name: _frame(x, name)[p].to_native() for (name, x), p in pairs}
