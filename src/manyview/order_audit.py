"""The order audit: would the result be the same without the order of the rows?

A method that reads the order can reward a file for being sorted by class. Four
runs tell: the rows as given, the same rows shuffled, white noise in the given
order, and no features at all (the row index cut into equal pieces).
"""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from manyview.arrays.ops import to_host
from manyview.base import MultiViewClusterer, require_method
from manyview.errors import InputError, ManyviewWarning
from manyview.files.schema import PLACE
from manyview.metrics import ari, has_class, nmi
from manyview.present.page import notebook_html
from manyview.present.plot import COLOURS, new_figure, save
from manyview.present.table import Table
from manyview.s2mvtc import S2MVTC
from manyview.stages.durations import as_times
from manyview.views.arguments import check_count
from manyview.views.joining import follow_rows
from manyview.views.parsing import check_per_row
from manyview.views.views import Views

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The thresholds tell benchmark files sorted by class from real sequences.
# A control without features that gets this share of the method's NMI condemns it.
CONTROL_SHARE = 0.75
# Agreement with the shuffled run, as a share of the agreement of two seeds.
LOW_AGREEMENT, HIGH_AGREEMENT = 0.5, 0.9
# Neighbours in a shuffled file that share a cluster, beyond chance.
MANY_ALIKE, FEW_ALIKE = 0.25, 0.05
MOST_CHARACTERS = 24  # of a setting in a sentence: numbers and words, no arrays
MOST_NOISE_FEATURES = 256  # more noise tells no more and takes longer

IN_WORDS = {
    "strong": "depends strongly on",
    "some": "depends somewhat on",
    "almost none": "hardly depends on",
}
GIVEN = "as given"
SEED = "as given, another seed"
SHUFFLED = "rows shuffled"
NOISE = "white noise in the given order"
INDEX = "row index alone"
AGREEMENT = "ARI with the run as given"

Labels = np.ndarray[Any, Any]


@dataclass(frozen=True)
class OrderAudit:
    """What the audit found.

    Attributes
    ----------
    sentence : str
        The finding in plain words.
    trustworthy : bool or None
        Whether the result in the given order can be trusted; None without labels.
    dependence : {"strong", "some", "almost none"}
        How much the partition depends on the order of the rows.
    table : Table
        Every run: agreement with the run as given and, with labels, its scores.
    labels : dict of str to array (n_samples,)
        The partitions, in the order of the rows as given.
    scores : dict of str to dict
        The figures of the table by run and column.
    """

    sentence: str
    trustworthy: bool | None
    dependence: str
    table: Table
    labels: dict[str, Labels]
    scores: dict[str, dict[str, float]]
    title: str

    def __str__(self) -> str:
        return self.sentence

    def _repr_html_(self) -> str:
        return notebook_html(self.sentence, self.table)

    def figure(self) -> Figure:
        """Agreement and scores of the runs side by side, every bar with its figure."""
        runs, names = list(self.scores), list(self.scores[GIVEN])
        figure = new_figure(9, 1.6 + 0.75 * len(runs), self.title)
        axis = figure.subplots()
        height = 0.8 / len(names)
        for j, name in enumerate(names):
            values = [self.scores[run][name] for run in runs]
            bars = axis.barh(
                [i + j * height for i in range(len(runs))],
                [max(v, 0.0) for v in values],  # to the left its figure hides the runs
                height * 0.92,
                color=COLOURS[j],
                hatch=("", "//", "..")[j],
                edgecolor="white",
                label=name if name == AGREEMENT else f"{name} with known classes",
            )
            axis.bar_label(bars, [f"{v:z.2f}" for v in values], padding=3, fontsize=9)
        axis.set_yticks([i + 0.4 - height / 2 for i in range(len(runs))], runs)
        axis.invert_yaxis()
        axis.set(xlim=(0.0, 1.12), xlabel="score")
        axis.spines[["top", "right"]].set_visible(False)
        figure.legend(loc="outside lower center", ncols=3, frameon=False)
        return figure

    def plot(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the figure as PNG and SVG; their paths."""
        return save(self.figure(), Path(path).with_suffix(""))


def audit_order(
    views: Any,
    n_clusters: int,
    labels: Any = None,
    *,
    estimator: MultiViewClusterer | None = None,
    order: Any = None,
    groups: Any = None,
    random_state: int = 0,
) -> OrderAudit:
    """Find out how much of a partition comes from the order of the rows.

    Parameters
    ----------
    views : Views, or list or dict of arrays (n_samples, n_features_v)
        The data, its rows in the order to be audited.
    n_clusters : int
        How many clusters every run finds.
    labels : array (n_samples,), optional
        Known classes; default those of the views. They are only scored with.
    estimator : estimator of this package, optional
        What to audit; default S2MVTC with its default settings, which reads no
        order. `SequenceS2MVTC` reads one.
    order, groups : array (n_samples,), optional
        Key that orders the rows, and the recording of every row.
    random_state : int
        Seed of the runs and of the shuffle.

    Returns
    -------
    OrderAudit
        With labels, the result is untrustworthy when white noise in the given
        order or the row index alone reaches 75 % of the method's NMI.

    Examples
    --------
    >>> from manyview import audit_order
    >>> from manyview.baselines import ConcatKMeans
    >>> from manyview.datasets import make_views
    >>> data = make_views(200, (5, 8), 3, random_state=0)
    >>> audit_order(data, 3, estimator=ConcatKMeans()).dependence
    'almost none'
    """
    given, audited = Views.of(views), S2MVTC() if estimator is None else estimator
    require_method(audited)
    check_count(n_clusters, "n_clusters")
    if len(given) < 2:
        raise InputError("One row has no order. Give at least two rows.")
    known = _known_classes(given, labels)
    keys = _row_keys(given, groups=groups, order=order)
    stand = _stand(len(given), **keys)
    places = {n: None if key is None else key[stand] for n, key in keys.items()}
    fit = _Fit(audited, n_clusters, random_state, **places)
    found, alike = _partitions(given[stand], fit)
    found = {run: x[np.argsort(stand)] for run, x in found.items()}
    return _judge(fit, found, known, alike, given.origin or "the data")


def _known_classes(views: Views, labels: Any) -> Any:
    known = follow_rows(labels, views.row_names, "labels")
    return check_per_row(views.labels if known is None else known, len(views), "labels")


def _row_keys(views: Views, **keys: Any) -> dict[str, Any]:
    """Keys of the rows as arrays, in the order of the rows."""
    found = {n: follow_rows(key, views.row_names, n) for n, key in keys.items()}
    return {
        n: None if key is None else as_times(check_per_row(key, len(views), n))
        for n, key in found.items()
    }


def _stand(n_samples: int, order: Any, groups: Any) -> Labels:
    """Row numbers as the sequence has them: recordings one after the other."""
    key = np.arange(n_samples) if order is None else order
    recording = np.zeros(n_samples) if groups is None else groups
    return np.lexsort((key, recording))


@dataclass(frozen=True)
class _Fit:
    """Fits copies of one estimator; recordings and times belong to places, not rows."""

    estimator: MultiViewClusterer
    n_clusters: int
    seed: int
    groups: Labels | None = None
    order: Labels | None = None

    def __call__(self, views: Views, seed: int = 0) -> Labels:
        model = self.estimator._fresh(n_clusters=self.n_clusters)
        if "random_state" in model.get_params():
            model.set_params(random_state=self.seed + seed)
        given = {"groups": self.groups, "order": self.order}
        params = {
            name: value
            for name, value in given.items()
            if value is not None and has_fit_parameter(model, name)
        }
        with warnings.catch_warnings():
            # The audit itself says what the warnings about order would.
            warnings.simplefilter("ignore", ManyviewWarning)
            return to_host(model.fit(views, **params).labels_)


def _partitions(views: Views, fit: _Fit) -> tuple[dict[str, Labels], float]:
    """Labels of every run, for the rows as they stand; ties of shuffled neighbours."""
    rng, n_samples = np.random.default_rng([fit.seed, 2]), len(views)
    shuffle = rng.permutation(n_samples)
    noise = [
        rng.standard_normal((n_samples, min(d, MOST_NOISE_FEATURES)), dtype=np.float32)
        for d in views.n_features
    ]
    unordered = fit(views[shuffle])
    found = {
        GIVEN: fit(views),
        SEED: fit(views, 1),
        SHUFFLED: unordered[np.argsort(shuffle)],
        NOISE: fit(Views(noise)),
        INDEX: np.arange(n_samples) * fit.n_clusters // n_samples,
    }
    return found, alike_beyond_chance(unordered)


def alike_beyond_chance(labels: Labels) -> float:
    """How much more often neighbours share a cluster than rows drawn at random.

    0 by chance, 1 when all neighbours do. In a shuffled file nothing but the method
    can tie neighbours.
    """
    n_samples, counts = len(labels), np.bincount(labels).astype(float)
    chance = float((counts * (counts - 1)).sum()) / (n_samples * (n_samples - 1))
    alike = float((labels[1:] == labels[:-1]).mean())
    return (alike - chance) / max(1.0 - chance, 1e-9)


def _judge(
    fit: _Fit, found: dict[str, Labels], known: Any, alike: float, where: str
) -> OrderAudit:
    """Agreements, scores of the rows that have a class, and the sentence."""
    scores = {run: {AGREEMENT: ari(found[GIVEN], x)} for run, x in found.items()}
    if known is not None and (there := has_class(known)).any():
        for run, x in found.items():
            pair = known[there], x[there]
            scores[run] |= {"NMI": nmi(*pair), "ARI": ari(*pair)}
    mixed, seeds = scores[SHUFFLED][AGREEMENT], scores[SEED][AGREEMENT]
    # What chance alone does to the ties of neighbours (two standard errors).
    by_chance = 2.0 / np.sqrt(len(found[GIVEN]))
    share, more = mixed / max(seeds, 1e-9), alike - by_chance
    some = share < HIGH_AGREEMENT or more > FEW_ALIKE
    strong = share < LOW_AGREEMENT or more > MANY_ALIKE
    dependence = "strong" if strong else "some" if some else "almost none"
    trustworthy, reason = _trust(dependence, scores)
    name = type(fit.estimator).__name__
    sentence = (
        f"{_full_name(fit.estimator)} {IN_WORDS[dependence]} the row order of {where} "
        f"(the shuffled run agrees with ARI {mixed:.2f}, another seed with "
        f"{seeds:.2f}; shuffled neighbours share a cluster {alike:z.0%} beyond "
        f"chance). {reason}"
    )
    caption = f"Order audit of {name} on {where}"
    table = Table("order-audit", caption, ["run", *scores[GIVEN]])
    for run, values in scores.items():
        table.add(run, *(f"{v:z.3f}" for v in values.values()))
    title = (
        f"Order audit of {name}, {where} in the given order ({len(found[GIVEN]):,} "
        f"rows, seed {fit.seed})\n{reason}"
    )
    return OrderAudit(sentence, trustworthy, dependence, table, found, scores, title)


def _trust(
    dependence: str, scores: dict[str, dict[str, float]]
) -> tuple[bool | None, str]:
    """Can the result in the given order be trusted, and why."""
    own, is_free = scores[GIVEN].get("NMI"), dependence == "almost none"
    free = "The order of the rows cannot have made the result."
    if own is None:
        return None, free if is_free else (
            "Trust the result only if the order itself is real (time, frames, scan "
            "lines); known labels would tell more."
        )
    best, control = max((scores[run]["NMI"], run) for run in (INDEX, NOISE))
    seen = f"{control} reaches NMI {best:.2f} without features, the method {own:.2f}"
    if best < CONTROL_SHARE * own:
        return True, free if is_free else (
            f"The order helps but does not make the result: {seen}. Trust it if the "
            "order itself is real (time, frames, scan lines)."
        )
    if is_free:
        return True, f"{free} But {seen}: beware of methods that read the order."
    return False, f"The result cannot be trusted: {seen}."


def _full_name(estimator: MultiViewClusterer) -> str:
    """The method and its settings as far as they are not the defaults."""
    kind, default = type(estimator), type(estimator)().get_params(deep=False)
    beside = ("n_clusters", "random_state", *PLACE)
    given = {
        name: repr(value)
        for name, value in estimator.get_params(deep=False).items()
        if name not in beside and repr(value) != repr(default[name])
    }
    short = (f"{n}={v if len(v) <= MOST_CHARACTERS else '…'}" for n, v in given.items())
    return f"{kind.__name__}({', '.join(short)})" if given else kind.__name__
