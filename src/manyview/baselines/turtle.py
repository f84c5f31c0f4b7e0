"""TURTLE: the labels that linear classifiers of all views learn most easily."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.linear_model import RidgeCV

from manyview.base import FloatArray, IntArray
from manyview.baselines.parts.cell_profiles import components
from manyview.baselines.parts.parameters import ComparedMethod
from manyview.baselines.parts.prepared_rows import HowScaled, prepared_rows
from manyview.views.arguments import child_seed

if TYPE_CHECKING:
    from torch import Generator, Tensor

# The narrowest space of the authors (CLIP, ViT-B/32). With as many columns as rows a
# linear classifier fits any labels, and nothing tells good ones from bad.
WIDEST = 512
# Of rows, at most, that judge the candidates: the accuracy is sure to .005.
JUDGES = 10_000
# Adam's decay of both moments, and what keeps it from dividing by 0: the authors'.
DECAY, SQUARED_DECAY, EPSILON = 0.9, 0.999, 1e-8


class Candidate(NamedTuple):
    """What the authors choose without labels: rates of Adam, and how learners start."""

    inner_rate: float
    outer_rate: float
    warm_start: bool


# The authors take 6,000 steps at rates about 0.001 on a GPU. Ten times the outer rate
# goes far enough in a twentieth of the steps: Handwritten, warm, has ACC .94 to .96
# after 100 and .97 after 300.
CANDIDATES = (
    Candidate(0.01, 0.01, False),
    Candidate(0.001, 0.01, False),
    Candidate(0.01, 0.01, True),
    Candidate(0.001, 0.01, True),
)


@dataclass(eq=False, repr=False)
class TURTLE(ComparedMethod):
    """Labels from which linear classifiers of every view generalise best.

    With z_v a row in view v, the labels are the mean over the views of linear task
    encoders, and a linear learner W_v of each view is trained on them by a few steps:

        tau(x) = mean_v softmax(theta_v z_v(x)),
        min_theta  sum_v CE(softmax(W_v z_v), tau) - gamma sum_v H(mean_x tau_v(x)),

    W_v held fixed in the outer step. H, the entropy of the mean labels of a view, keeps
    clusters from becoming empty: clusters of about the same size are assumed. Learners
    start afresh in every step (cold) or go on (warm). Of four pairs of rates and starts
    the one is kept whose labels a linear classifier predicts best on rows left out.

    Parameters
    ----------
    n_clusters : int
        Number of clusters wanted; fewer may be found.
    gamma : float
        Weight of the entropy.
    n_steps : int
        Steps of the task encoders.
    n_inner_steps : int
        Steps of the learners in each of them.
    batch_size : int
        Rows of a step; of more rows each step draws so many.
    scaling : {"standard", "auto", "global", "cosine", "unit", "root", None}
        Preparation of every view, as in `S2MVTC`; z-scores by default.
    random_state : int, numpy.random.Generator or None
        Seed of the starts and of the rows of a step. Rows are taken in the order of
        their content: a shuffled file gives the same clusters.

    Attributes
    ----------
    labels_ : array (n_samples,)
        Cluster of every row.
    generalisation_ : array (n_candidates,)
        Accuracy on rows left out, mean over the views, of each of `CANDIDATES`.
    candidate_ : dict
        The one with the best.

    Notes
    -----
    Needs the extra ``torch``. Where this departs from the authors' program: the views
    are features of any kind, so they are brought to z-scores, and those of more than
    512 columns to their principal components; 300 steps of ten times the rate stand
    for 6,000; rows left out are predicted by ridge regression on the labels, each row
    once, in place of ten folds of logistic regression. Rows that do not fit as dense
    arrays are refused with `ResourceError`.

    Examples
    --------
    >>> from manyview.baselines import TURTLE
    >>> TURTLE(n_clusters=3).gamma
    10.0
    """

    citation: ClassVar[str] = (
        "A. Gadetsky, Y. Jiang, M. Brbić: Let go of your labels with unsupervised "
        "transfer. ICML 2024."
    )
    needs: ClassVar[dict[str, str]] = {"torch": "torch"}

    _: KW_ONLY
    gamma: float = 10.0
    n_steps: int = 300
    n_inner_steps: int = 10
    batch_size: int = 10_000
    scaling: HowScaled = "standard"

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of `X` (views of n_samples rows each); `y` is ignored."""
        views, rng = self._begin(X, y)
        rows = prepared_rows(views, self.scaling, self.n_clusters_, rng)
        found = np.tile(np.arange(len(rows)) % self.n_clusters_, (len(CANDIDATES), 1))
        self.generalisation_ = np.ones(len(CANDIDATES))
        if 1 < self.n_clusters_ < len(rows):
            spaces = [narrowed(x, child_seed(rng)) for x in rows.arrays]
            found = self._labellings(spaces, child_seed(rng))
            self.generalisation_ = generalisation(
                [x[:JUDGES] for x in spaces], found[:, :JUDGES]
            )
        best = int(np.argmax(self.generalisation_))
        self.candidate_ = CANDIDATES[best]._asdict()
        return self._store_labels(found[best][rows.place])

    def _labellings(self, spaces: list[FloatArray], seed: int) -> IntArray:
        """Labels (n_candidates, n_rows); all candidates are trained side by side."""
        import torch

        draws = torch.Generator().manual_seed(seed)
        ones = np.ones((len(spaces[0]), 1))
        Z = [torch.tensor(np.hstack([x, ones]), dtype=torch.float32) for x in spaces]
        tasks = Tasks([z.shape[1] for z in Z], self.n_clusters_, draws)
        for _ in range(self.n_steps):
            rows = slice(None)
            if len(Z[0]) > self.batch_size:
                rows = torch.randperm(len(Z[0]), generator=draws)[: self.batch_size]
            tasks.step([z[rows] for z in Z], self.gamma, self.n_inner_steps)
        with torch.no_grad():
            parts = zip(*(z.split(self.batch_size) for z in Z), strict=True)
            found = [sum(tasks.labels_by_view(p)).argmax(dim=2) for p in parts]
        return np.asarray(torch.cat(found).numpy().T)


class Tasks:
    """Task encoders and learners of every view, of all candidates side by side.

    Weights are (n_columns, n_candidates, n_clusters); the last column of a view is
    constant. The columns of an encoder have a length of their own ("weight norm is
    crucial", say the authors).
    """

    def __init__(self, n_columns: list[int], n_clusters: int, draws: Generator) -> None:
        import torch

        self.n_columns, self.n_clusters, self.draws = n_columns, n_clusters, draws
        inner, outer, warm = zip(*CANDIDATES, strict=True)
        self.cold = ~torch.tensor(warm)
        self.learners = Adam(self._start(len(CANDIDATES)), inner)
        start = [(w[:-1], w[-1:]) for w in self._start(len(CANDIDATES))]
        lengths = [torch.linalg.vector_norm(w, dim=0, keepdim=True) for w, _ in start]
        parts = [[w, g, b] for (w, b), g in zip(start, lengths, strict=True)]
        self.encoders = Adam([x.requires_grad_() for p in parts for x in p], outer)

    def _start(self, n_candidates: int) -> list[Tensor]:
        """Weights between ±1 / sqrt(number of features), as torch's linear layers."""
        import torch

        shapes = [(d, n_candidates, self.n_clusters) for d in self.n_columns]
        drawn = (torch.rand(s, generator=self.draws) for s in shapes)
        return [(2 * x - 1) / max(len(x) - 1, 1) ** 0.5 for x in drawn]

    def labels_by_view(self, Z: Any) -> list[Tensor]:
        """tau_v of the rows, (n_rows, n_candidates, n_clusters) each."""
        import torch

        values = self.encoders.values
        found = []
        for z, w, g, b in zip(Z, values[::3], values[1::3], values[2::3], strict=True):
            norm = torch.linalg.vector_norm(w, dim=0, keepdim=True)
            found.append(logits(z, torch.cat([w * (g / norm), b])).softmax(dim=2))
        return found

    def step(self, Z: list[Tensor], gamma: float, n_inner_steps: int) -> None:
        """Train the learners on the labels of these rows, then move the encoders."""
        import torch

        by_view = self.labels_by_view(Z)
        tau = torch.stack(by_view).mean(dim=0)
        self.learners.restart(self.cold, self._start(int(self.cold.sum())))
        with torch.no_grad():
            for _ in range(n_inner_steps):
                self.learners.step(cross_entropy_slopes(Z, self.learners.values, tau))
            learned = map(logits, Z, self.learners.values)
            told = sum(x.log_softmax(dim=2) for x in learned)
        error = -(tau * told).sum(dim=2).mean(dim=0)
        sizes = torch.stack(by_view).mean(dim=1)
        spread = torch.special.entr(sizes).sum(dim=(0, 2))
        loss = (error - gamma * spread).sum()
        self.encoders.step(torch.autograd.grad(loss, self.encoders.values))


class Adam:
    """Adam with a rate of its own for every candidate (the next to last axis)."""

    def __init__(self, values: list[Tensor], rates: Any) -> None:
        import torch

        self.values = values
        self.rates = torch.tensor(rates)[:, None]
        self.first = [torch.zeros_like(x) for x in values]
        self.second = [torch.zeros_like(x) for x in values]
        self.n_steps = torch.zeros_like(self.rates)

    def step(self, slopes: Any) -> None:
        """Move all values against their slopes."""
        import torch

        self.n_steps += 1
        size = self.rates / (1 - DECAY**self.n_steps)
        unit = (1 - SQUARED_DECAY**self.n_steps) ** 0.5
        with torch.no_grad():
            for x, s, m, v in zip(
                self.values, slopes, self.first, self.second, strict=True
            ):
                m.lerp_(s, 1 - DECAY)
                v.mul_(SQUARED_DECAY).addcmul_(s, s, value=1 - SQUARED_DECAY)
                x.sub_(size * m / (v.sqrt() / unit + EPSILON))

    def restart(self, which: Tensor, values: list[Tensor]) -> None:
        """These candidates begin again, at these values."""
        self.n_steps[which] = 0.0
        for x, new, m, v in zip(
            self.values, values, self.first, self.second, strict=True
        ):
            x[:, which] = new
            m[:, which] = v[:, which] = 0.0


def logits(z: Tensor, w: Tensor) -> Tensor:
    """z w of all candidates, by one product."""
    return (z @ w.flatten(1)).unflatten(1, w.shape[1:])


def cross_entropy_slopes(
    Z: list[Tensor], values: list[Tensor], tau: Tensor
) -> list[Tensor]:
    """Of the mean cross-entropy of each view's learner to the labels."""
    found = []
    for z, w in zip(Z, values, strict=True):
        rest = (logits(z, w).softmax(dim=2) - tau) / len(z)
        found.append((z.T @ rest.flatten(1)).unflatten(1, w.shape[1:]))
    return found


def narrowed(X: FloatArray, seed: int) -> FloatArray:
    """The view, or so many principal components, of mean variance 1."""
    X = X if X.shape[1] <= WIDEST else components(X, WIDEST, seed)
    return np.asarray(X / (X.std() or 1.0))


def generalisation(spaces: list[FloatArray], labels: IntArray) -> FloatArray:
    """How well each labelling (in rows) is predicted on rows left out, over views.

    Every row is left out once: ridge regression on the labels has a closed form.
    """
    n_labels = labels.max() + 1
    targets = np.concatenate([np.eye(n_labels)[y] for y in labels], axis=1)
    right = np.zeros(len(labels))
    for x in spaces:
        model = RidgeCV([1.0], scoring="neg_mean_squared_error", store_cv_results=True)
        told = model.fit(x, targets).cv_results_.reshape(len(x), len(labels), n_labels)
        right += (told.argmax(axis=2) == labels.T).mean(axis=0)
    return right / len(spaces)
