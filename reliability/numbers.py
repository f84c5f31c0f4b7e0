"""Numbers that break solvers: a valid partition or a sentence, never NaN.

Rank-deficient and ill-conditioned views, duplicated anchors, no ridge, features
that underflow, every seed from 0 to 49, thread counts and block sizes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score

from manyview import S2MVTC, AnchorSpectral, SequenceS2MVTC
from manyview.engine.contract import lowered
from manyview.errors import ManyviewError
from manyview.methods import all_methods

from .record import Part, timed

N, K = 60, 3
AGREE = 0.999
FIT = (
    "import sys, warnings, numpy as np; warnings.simplefilter('ignore');"
    "from reliability import numbers as n;"
    "np.save(sys.argv[1], n.METHODS[sys.argv[2]](n.K).fit(n.plain(3000)).labels_)"
)
METHODS: dict[str, Callable[..., Any]] = {
    "S2MVTC": lambda k: S2MVTC(k, random_state=0),
    "AnchorSpectral": lambda k: AnchorSpectral(k, random_state=0),
}

# Of a short run: what takes hundreds of steps by default takes few.
FEW_STEPS = {"TURTLE": {"n_steps": 30}}


def every_method(seed: int, short: bool = False) -> list[Any]:
    """An estimator of each, as it is by default but for what a short run cuts."""
    few = FEW_STEPS if short else {}
    return [
        m.estimator(K, random_state=seed, **few.get(m.name, {}))
        for m in all_methods()
        if m.is_installed
    ]


def plain(n_samples: int = N) -> list[Any]:
    """Two views of three groups that overlap a little."""
    rng = np.random.default_rng(5)
    labels = rng.permutation(np.arange(n_samples) % K)
    return [
        2.5 * rng.normal(size=(K, d))[labels] + rng.normal(size=(n_samples, d))
        for d in (5, 8)
    ]


def hard_views() -> Mapping[str, list[Any]]:
    """Views that are hard to compute with."""
    a, b = plain()
    rng = np.random.default_rng(1)
    line = a[:, :1] @ rng.normal(size=(1, 12))
    scales = np.logspace(-12, 12, b.shape[1])
    far = np.where(np.arange(N)[:, None] % 2, 1e8, -1e8) * np.ones((N, 4))
    return {
        "rank one": [line, b],
        "all views of rank one": [line, -2.0 * line],
        "columns repeated": [np.tile(a, (1, 6)), b],
        "columns from 1e-12 to 1e12": [a, b * scales],
        "few distinct rows": [np.repeat(a[:4], N // 4, axis=0), b],
        "two distinct rows": [np.repeat(a[:2], N // 2, axis=0)] * 2,
        "groups 1e8 apart": [far + a[:, :4], b],
        "values near the smallest": [a * 1e-300, b],
        "values near the largest": [a * 1e150, b],
        "more features than rows": [rng.normal(size=(N, 500)), b],
    }


def hard_numbers() -> Mapping[str, list[Any]]:
    """Views of valid numbers that tempt NumPy to warn."""
    a, b = plain()
    rng = np.random.default_rng(2)
    words = rng.poisson(0.3, size=(N, 40)).astype(np.float32)
    words[N // 3 :] = words[rng.integers(0, N // 3, N - N // 3)]
    alone = np.zeros((30, 4))
    alone[:2] = [[1e6], [-1e6]]
    few = (1e4 + a).astype(np.float32)
    return {
        "texts that repeat": [sp.csr_array(words), words[:, ::2]],
        "texts of no words": [
            sp.csr_array(words * (words.sum(axis=1) > 9)[:, None]),
            b,
        ],
        "sparse far from zero": [sp.csr_array(few), sp.csr_array(b)],
        "float32 of 1e20": [(x * 1e20).astype(np.float32) for x in (a, b)],
        "float32 of 1e-20": [(x * 1e-20).astype(np.float32) for x in (a, b)],
        "float32 of 1e30": [
            sp.csr_array((x * 1e30).astype(np.float32)) for x in (a, b)
        ],
        "one column of 1e-40": [np.column_stack([few, few[:, 0] * 1e-40]), b],
        "constant rows": [np.repeat(x[:, :1], 5, axis=1) for x in (a, b)],
        "constant columns": [np.column_stack([a, np.full(N, 1e20), np.zeros(N)]), b],
        "clusters of one row": [alone, np.column_stack([alone, 1e-6 * b[:30]])],
    }


def hard_settings() -> Mapping[str, dict[str, Any]]:
    """Settings of S2MVTC that leave the solver without help."""
    a, b = plain()
    copies = [np.repeat(x[:3], 10, axis=0) for x in (a, b)]
    return {
        "lam=0": {"lam": 0.0},
        "lam=0 and linear": {"lam": 0.0, "kernel": "linear", "smoothing_weight": 0.0},
        "lam=1e-300": {"lam": 1e-300},
        "lam=1e300": {"lam": 1e300},
        "duplicated anchors": {"anchors": copies},
        "duplicated anchors, lam=0": {"anchors": copies, "lam": 0.0},
        "n_components beyond the rank": {"n_components": 500, "smoothing_weight": 0.0},
        "beta=0": {"beta": 0.0},
        "one anchor": {"n_anchors": 1, "n_graph_anchors": 1, "n_neighbors": 1},
    }


def fault_of(model: Any, views: Any, n_clusters: int = K) -> str | None:
    """What is wrong with the fit; None for a valid partition or a sentence."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            labels = np.asarray(model.fit(views).labels_)
    except ManyviewError as error:
        return None if len(str(error)) > 20 else f"no sentence: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    of_numpy = [w.message for w in caught if issubclass(w.category, RuntimeWarning)]
    if of_numpy:
        return f"a warning of NumPy: {of_numpy[0]}"
    if labels.shape != (views[0].shape[0],) or labels.dtype.kind not in "iu":
        return f"labels of shape {labels.shape} and type {labels.dtype}"
    if labels.min() < 0 or labels.max() >= n_clusters:
        return f"labels from {labels.min()} to {labels.max()}"
    embedding = getattr(model, "embedding_", None)
    if embedding is not None and not np.isfinite(np.asarray(embedding)).all():
        return "the embedding is not finite"
    giant = np.bincount(labels).max() > 0.95 * len(labels)
    said = any("into one cluster" in str(w.message) for w in caught)
    return "one giant cluster and no warning" if giant and not said else None


def try_all(cases: Iterable[tuple[str, Any, Any]]) -> tuple[int, list[str]]:
    """Number of fits and what was wrong with them; cases are (name, model, views)."""
    n_fits, losses = 0, []
    for name, model, views in cases:
        wrong = fault_of(model, views)
        n_fits += 1
        if wrong:
            losses.append(f"{type(model).__name__}, {name}: {wrong}")
    return n_fits, losses


def hard_data_cases(short: bool = False) -> Iterable[tuple[str, Any, Any]]:
    """Every method on all hard views."""
    for name, views in {**hard_views(), **hard_numbers()}.items():
        for model in every_method(0, short):
            yield name, model, views


def hard_setting_cases() -> Iterable[tuple[str, Any, Any]]:
    """S2MVTC with all hard settings, on plain and on hard views."""
    for name, setting in hard_settings().items():
        along = {"kernel", "n_components"} & set(setting)
        method = SequenceS2MVTC if along else S2MVTC
        yield name, method(K, random_state=0, **setting), plain()
        if "anchors" not in setting:
            for kind, views in hard_views().items():
                yield f"{name}, {kind}", method(K, random_state=0, **setting), views


def seed_cases(n_seeds: int, short: bool = False) -> Iterable[tuple[str, Any, Any]]:
    """Every method with many seeds."""
    for seed in range(n_seeds):
        for model in every_method(seed, short):
            yield f"seed {seed}", model, plain()


def repeated(short: bool = False) -> tuple[int, list[str]]:
    """The same seed twice: every label and every number of the embedding the same."""
    losses, models = [], every_method(7, short)
    for model in models:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            one, two = (clone(model).fit(plain()) for _ in "ab")
        same = np.array_equal(one.labels_, two.labels_)
        for name in ("embedding_",):
            if hasattr(one, name):
                same &= getattr(one, name).tobytes() == getattr(two, name).tobytes()
        if not same:
            name = type(model).__name__
            losses.append(f"{name}: the same seed gave another result")
    return len(models), losses


def places(folder: Path, threads: Iterable[int]) -> tuple[int, list[str]]:
    """Agreement across thread counts (in processes of their own) and block sizes."""
    n_fits, losses = 0, []
    for name, make in METHODS.items():
        wanted = make(K).fit(plain(3000)).labels_
        for rows in (100, 1024, 2999, 5000):
            with lowered(block_rows=rows):
                found = make(K).fit(plain(3000)).labels_
            n_fits += 1
            if adjusted_rand_score(found, wanted) < AGREE:
                losses.append(f"{name}: blocks of {rows} rows give other clusters")
        for count in threads:
            out = folder / "labels.npy"
            settings = {f"{x}_NUM_THREADS": str(count) for x in ("OMP", "OPENBLAS")}
            subprocess.run(
                [sys.executable, "-c", FIT, str(out), name],
                check=True,
                env=os.environ | settings,
                cwd=Path(__file__).parents[1],
            )
            n_fits += 1
            if adjusted_rand_score(np.load(out), wanted) < AGREE:
                losses.append(f"{name}: {count} threads give other clusters")
    return n_fits, losses


def measure(n_seeds: int) -> Part:
    """All of it, with `n_seeds` seeds."""
    part = Part("numbers")
    with timed(part), tempfile.TemporaryDirectory() as folder:
        groups = {
            "hard views, every method": try_all(hard_data_cases()),
            "hard settings of S2MVTC": try_all(hard_setting_cases()),
            f"seeds 0 to {n_seeds - 1}, every method": try_all(seed_cases(n_seeds)),
            "the same seed twice, bit for bit": repeated(),
            "thread counts and block sizes": places(Path(folder), (1, 2, 4)),
        }
        for name, (n_fits, losses) in groups.items():
            part.rows.append({"case": name, "fits": n_fits, "losses": len(losses)})
            part.losses += losses
    return part
