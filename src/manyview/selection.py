"""How many clusters: three criteria that no label enters, and their verdict.

All are taken on a sample of rows drawn by content, in the embedding of the
multi-view anchor graph, whose spectrum is found once for the largest number:

* gap: how far the k − 1 frequencies after the constant one lie below the next,
  1 − mean_{1<j≤k} (1 − σ_j²) / (1 − σ²_{k+1}); 1 for k separate pieces;
* stability: adjusted Rand index between the clusters found through the graphs
  of two halves of the sample;
* silhouette of the clusters in the embedding.

Every criterion is divided by its largest value and they are summed. Groups may
form groups of groups: of the peaks that are nearly as high as the highest, the
finest is suggested. Where it has a small gap or is not stable, the answer is that
there is no clear one; where another number scores as well, that the two tie. Where
rows drawn from one stretched cloud score as well, there are no clusters.
"""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from manyview.arrays.ops import Matrix, to_host
from manyview.datasets.given import views_of
from manyview.engine.contract import Engine, NoCheckpoint
from manyview.engine.local import open_engine
from manyview.errors import DegenerateWarning, InputError, InputTypeError
from manyview.present.page import notebook_html
from manyview.present.plot import COLOURS, MARKERS, new_figure, save
from manyview.present.table import BEST, Cell, Table
from manyview.stages.cluster_criteria import measure_criteria
from manyview.stages.embedded_sample import sample_rows
from manyview.stages.no_clusters import beyond_chance
from manyview.stages.sampling import (
    agreement,
    choose_scalings,
    draw,
    first_rows,
    neighbours,
)
from manyview.stages.scaling import SCALINGS
from manyview.views.arguments import check_choice, check_count, child_seed, generator
from manyview.views.parsing import is_dask

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Fewer clusters than two are no partition.
LEAST = 2
CHOICE = "choice"  # its name in a checkpoint
# Numbers to try, unless others are given: more clusters than that people know.
CANDIDATES = range(LEAST, 26)
# Rows of neighbours, all against all.
SCORED_ROWS = 1000
# Below these there is no clear answer, above CLEAR_GAP it is one; set by judgement
# on generated data with and without clusters.
SMALL_GAP = 0.3
CLEAR_GAP = 0.5
STABLE = 0.7
# Deviations beyond the scores of clouds without clusters: one cloud of thirty is above
# by chance (Student's distribution of four); benchmarks/no_clusters.py counts them.
CHANCE_DEVIATIONS = 3.0
# A later peak counts if it is nearly as high and the score dips before it.
NEARLY = 0.9
DIP = 0.1
# Scores this close, as a share of the highest, are level; set by judgement on generated
# data, where most right numbers lead by 3 % and more and some wrong ones by under 1 %.
LEVEL = 0.02

_EDGES = {
    "only": " It is the only number tried.",
    "largest": " It is the largest number tried: there may be more.",
    "smallest": " It is the smallest number tried: there may be fewer.",
}


class Choice(NamedTuple):
    """What `choose_n_clusters` found.

    Attributes
    ----------
    n_clusters : int or None
        The suggestion; None when there is no clear answer, or there are no clusters.
    best_guess : int
        The finest number of nearly the largest score, clear or not.
    certainty : {"clear", "likely", "tie", "no clear answer", "none"}
        "tie" where another number scores as well, never "clear" at the edge of the
        numbers tried; "none" where rows without clusters score as well.
    candidates : array of int
    gap, stability, silhouette : arrays
        The criteria of every candidate, larger is better.
    score : array
        The sum of the criteria, each divided by its largest value.
    beyond_chance : float or None
        How far the criteria of the best guess lie above those of rows without
        clusters, in standard deviations of these; None where it was not asked.
    """

    n_clusters: int | None
    best_guess: int
    certainty: str
    candidates: Matrix
    gap: Matrix
    stability: Matrix
    silhouette: Matrix
    score: Matrix
    beyond_chance: float | None = None

    @property
    def sentence(self) -> str:
        """The verdict in words."""
        edge = _EDGES.get(self.edge or "", "")
        if self.certainty == "none":
            return (
                f"No clusters: {self.best_guess}, the best guess, stands out no more "
                "than in rows of the same spread that have none."
            )
        if self.n_clusters is None:
            return (
                "No clear answer: no number of clusters stands out. The best guess, "
                f"{self.best_guess}, is hardly better than others.{edge}"
            )
        if self.certainty == "tie":
            numbers = sorted([self.n_clusters, *self.tied])
            others = f"{', '.join(map(str, numbers[:-1]))} or {numbers[-1]}"
            return (
                f"{others} clusters (tie): these score the same within {LEVEL:.0%}. "
                f"{self.n_clusters} is suggested; look at the others too.{edge}"
            )
        return f"{self.n_clusters} clusters ({self.certainty}).{edge}"

    @property
    def tied(self) -> list[int]:
        """Other numbers whose score is level with that of the best guess."""
        best = self.score[self.candidates == self.best_guess]
        level = np.abs(self.score - best) <= LEVEL * self.score.max()
        return [int(k) for k in self.candidates[level] if k != self.best_guess]

    @property
    def edge(self) -> str | None:
        """Is the best guess the "only", "largest" or "smallest" number tried?

        None where numbers on both sides were tried, or there is no smaller one.
        """
        if len(self.candidates) == 1:
            return "only"
        if self.best_guess == self.candidates[-1]:
            return "largest"
        smallest = self.best_guess == self.candidates[0] > LEAST
        return "smallest" if smallest else None

    def table(self) -> Table:
        """Every candidate with its criteria."""
        names = ("gap", "stability", "silhouette", "score")
        found = Table("n-clusters", self.sentence, ["clusters", *names])
        for i, k in enumerate(self.candidates):
            cells = [f"{getattr(self, name)[i]:.3f}" for name in names]
            mark = BEST if k == self.n_clusters else None
            found.add(Cell(str(k), mark), *(Cell(c, mark) for c in cells))
        return found

    def _repr_html_(self) -> str:
        return notebook_html(self.table())

    def figure(self) -> Figure:
        """The criteria over the number of clusters."""
        figure = new_figure(7.0, 4.0, self.sentence)
        axis = figure.subplots()
        for i, name in enumerate(("gap", "stability", "silhouette")):
            axis.plot(
                self.candidates,
                getattr(self, name),
                color=COLOURS[i],
                marker=MARKERS[i],
                label=name,
            )
        axis.axvline(self.best_guess, color="#999999", linestyle=":")
        axis.set(xlabel="number of clusters", ylabel="criterion (1 is best)")
        axis.locator_params(axis="x", integer=True)
        axis.legend()
        return figure

    def plot(self, path: str | os.PathLike[str]) -> list[Path]:
        """Write the figure as PNG and SVG; their paths."""
        return save(self.figure(), Path(path).with_suffix(""))

    def settle(self) -> int:
        """The suggestion, or the best guess; a warning where it is not sure."""
        unsure = ("tie", "no clear answer", "none")
        if self.certainty in unsure or self.edge is not None:
            warnings.warn(
                f"{self.sentence} {self.best_guess} is used; give n_clusters yourself "
                "if you know better.",
                DegenerateWarning,
                stacklevel=4,
            )
        return self.best_guess


def choose_n_clusters(
    views: Any,
    candidates: Iterable[int] | None = None,
    *,
    scaling: Any = "auto",
    random_state: Any = None,
    engine: Any = "local",
    device: str | None = None,
    memory_limit: Any = None,
) -> Choice:
    """Find out how many clusters the rows fall into, without labels.

    Parameters
    ----------
    views : Views, or list or dict of arrays (n_samples, n_features_v), or list of paths
        The data; no labels are looked at.
    candidates : iterable of int, optional
        Numbers to try, each at least 2; default 2 to 25, fewer on few rows.
    scaling : {"auto", "standard", "global", "cosine", "unit", "root", None}
        Preparation of the views, as in `S2MVTC`.
    random_state : int, generator or None
        Seed of the sample and of the graphs.
    engine, device, memory_limit : as in `S2MVTC`
        Where the rows are that the sample is drawn from.

    Returns
    -------
    Choice

    Examples
    --------
    >>> from manyview import choose_n_clusters
    >>> from manyview.datasets import make_views
    >>> views = make_views(300, (8, 6), 4, random_state=0)
    >>> choose_n_clusters(views, range(2, 8), random_state=0).n_clusters
    4
    """
    views = views if hasattr(views, "each") else views_of(views)
    check_choice(scaling, "scaling", SCALINGS)
    counts = _check_candidates(candidates, len(views))
    place = open_engine(
        views, views.dtype, engine=engine, device=device, memory_limit=memory_limit
    )
    return _choose(place, counts, scaling, generator(random_state))


def recall_or_choose(
    engine: Engine, saved: NoCheckpoint, *, scaling: Any, random_state: Any
) -> Choice:
    """The choice that a checkpoint keeps; without one, from the rows of the engine.

    Who goes on with it keeps it, once the checkpoint knows the data.
    """
    known: Choice | None = saved.load(CHOICE)
    if known is not None:
        return known
    # The fit's own numbers: it starts from the same ones, now and when resumed.
    rng = copy.deepcopy(saved.keep("rng", generator(random_state)))
    return _choose(engine, _check_candidates(None, engine.n_samples), scaling, rng)


def _choose(
    engine: Engine, counts: list[int], scaling: Any, rng: np.random.Generator
) -> Choice:
    """The criteria of every count, and what they say."""
    sample = sample_rows(engine, child_seed(rng))
    seed = child_seed(rng)
    found = decide(np.array(counts), *measure_criteria(sample, counts, scaling, seed))
    return judge(found, beyond_chance(sample, found.best_guess, scaling, seed))


def judge(found: Choice, deviations: float) -> Choice:
    """The choice, unless rows without clusters score as well."""
    found = found._replace(beyond_chance=deviations)
    if deviations >= CHANCE_DEVIATIONS:
        return found
    return found._replace(n_clusters=None, certainty="none")


def decide(
    counts: Matrix, gap: Matrix, stability: Matrix, silhouette: Matrix
) -> Choice:
    """The finest number of nearly the largest score, and how sure it is."""
    score = sum(c / max(float(c.max()), 1e-12) for c in (gap, stability, silhouette))
    best = finest_peak(np.asarray(score))
    guess = int(counts[best])
    criteria = (gap, stability, silhouette)
    found = Choice(guess, guess, "likely", counts, *criteria, np.asarray(score))
    if gap[best] < SMALL_GAP or stability[best] < STABLE:
        return found._replace(n_clusters=None, certainty="no clear answer")
    if found.tied:
        return found._replace(certainty="tie")
    rivals = [int(counts[np.argmax(c)]) for c in criteria]
    agree = sum(abs(rival - guess) <= 1 for rival in rivals)
    clear = gap[best] >= CLEAR_GAP and agree >= 2 and found.edge is None
    return found._replace(certainty="clear") if clear else found


def finest_peak(score: Matrix) -> int:
    """Place of the highest score, or of a later peak that is nearly as high.

    A peak counts only if the score dips clearly before it.
    """
    best = int(np.argmax(score))
    for i in range(best + 1, len(score)):
        dip = score[i] - score[best:i].min()
        if score[i] >= NEARLY * score.max() and dip >= DIP * score.max():
            best = i
    return best


def default_candidates(n_samples: int) -> range:
    """2 to 25, fewer on few rows."""
    most = max(LEAST, min(CANDIDATES.stop - 1, n_samples // 4))
    return range(LEAST, most + 1)


def _check_candidates(candidates: Iterable[int] | None, n_samples: int) -> list[int]:
    wanted = default_candidates(n_samples) if candidates is None else candidates
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        raise InputTypeError(
            f"The numbers of clusters to try must be a list or a range; got "
            f"{wanted!r}. Give for instance range(2, 11)."
        )
    counts = list(wanted)
    for k in counts:
        check_count(k, "A number of clusters to try", least=LEAST)
    if not counts:
        raise InputError(
            f"There is no number of clusters to try in {wanted!r}. Give for instance "
            "range(2, 11), on the command line --from 2 --to 10."
        )
    if 2 * max(counts) > n_samples:
        raise InputError(
            f"{n_samples} rows cannot tell between up to {max(counts)} clusters. Try "
            f"numbers from 2 to {max(2, n_samples // 2)}, on at least 4 rows."
        )
    return sorted(set(counts))


def neighbour_score(estimator: Any, X: Any, y: Any = None) -> float:
    """A scorer without labels, for ``GridSearchCV(..., scoring=neighbour_score)``.

    The share of a row's ten nearest rows, in each view, that `predict` puts into
    the row's own cluster, beyond chance; the mean over rows and views. It compares
    settings at one number of clusters: fewer clusters are easier to agree on. It is
    what ``score`` gives, for estimators that have none.

    Examples
    --------
    >>> from sklearn.model_selection import GridSearchCV
    >>> from manyview.baselines import ConcatKMeans
    >>> from manyview.datasets import make_views
    >>> from manyview.selection import neighbour_score
    >>> views = make_views(120, (5, 4), 3, random_state=0)
    >>> grid = {"n_init": [1, 5]}
    >>> search = GridSearchCV(ConcatKMeans(3), grid, scoring=neighbour_score, cv=2)
    >>> bool(0 < search.fit(views).best_score_ <= 1)
    True
    """
    views = views_of(X)
    engine = getattr(estimator, "engine", "local")
    place = open_engine(views, views.dtype, engine=engine)
    drawn = draw(place, min(len(views), SCORED_ROWS), 0)
    found = estimator.predict(X)
    labels = np.asarray(found) if is_dask(found) else to_host(found)
    scalings = choose_scalings(drawn, "auto", int(labels.max()) + 1)
    some = first_rows(drawn.block)
    own = labels[drawn.caller_rows][: len(some)]
    rows = np.stack([agreement(n, own) for n in neighbours(some, scalings)])
    told = rows[~np.isnan(rows)]
    return float(told.mean()) if told.size else 0.0
