"""Promises every multi-view estimator keeps, as plain functions.

    from manyview.checks import check_multiview_estimator
    check_multiview_estimator(MyMethod())

Each check takes an estimator, fits clones of it on small made-up data and raises
an AssertionError that says what was promised. Anything with scikit-learn's
``fit``, ``labels_`` and ``n_clusters`` that takes a list of views can be checked,
not only classes of this package. A method that cannot keep a promise names the
check and the reason in its ``skipped_checks``.
"""

from __future__ import annotations

import pickle
import random
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import get_tags

from manyview.base import MultiviewTags
from manyview.errors import ManyviewError, ManyviewWarning
from manyview.views.views import Views

Matrix = np.ndarray[Any, Any]
Check = Callable[[Any], None]

N_CLUSTERS = 3


def check_multiview_estimator(estimator: Any) -> None:
    """Run every check that applies to the estimator; the first broken one raises.

    Parameters
    ----------
    estimator : object
        An unfitted estimator; it is cloned, never fitted itself.

    Examples
    --------
    >>> from manyview.baselines import ConcatKMeans
    >>> from manyview.checks import check_multiview_estimator
    >>> check_multiview_estimator(ConcatKMeans())
    """
    for check in checks_for(estimator):
        check(estimator)


def checks_for(estimator: Any) -> Iterator[Check]:
    """The checks that apply, less those the estimator's tags skip by name."""
    skipped = tags_of(estimator).skipped_checks
    for check in ALL_CHECKS:
        if check.__name__ not in skipped:
            yield check


def tags_of(estimator: Any) -> MultiviewTags:
    """The multi-view tags of an estimator; the defaults where it has none."""
    return getattr(get_tags(estimator), "multiview", None) or MultiviewTags(
        predicts=hasattr(estimator, "predict")
    )


def example(n_samples: int = 60, noise: float = 1.0) -> list[Matrix]:
    """Three views of whole numbers in three groups, in no order."""
    rng = np.random.default_rng(8)
    group = rng.permutation(np.arange(n_samples) % N_CLUSTERS)
    views = []
    for n_features in (4, 6, 3):
        centres = 12.0 * np.linalg.qr(rng.normal(size=(n_features, 3)))[0].T
        spread = noise * rng.normal(size=(n_samples, n_features))
        views.append(np.rint(centres[group] + spread))
    return views


def ready(estimator: Any, n_clusters: int = N_CLUSTERS, seed: Any = 0) -> Any:
    """A clone with the wanted number of clusters and seed."""
    model = clone(estimator).set_params(n_clusters=n_clusters)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    return model


def fitted(
    estimator: Any, views: Any, n_clusters: int = N_CLUSTERS, seed: Any = 0
) -> Any:
    """A fitted clone; only our own warnings may have come up."""
    model = ready(estimator, n_clusters, seed)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = model.fit(views)
    foreign = [w for w in seen if not issubclass(w.category, ManyviewWarning)]
    old_news = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    foreign = [w for w in foreign if not issubclass(w.category, old_news)]
    assert not foreign, f"a warning that is not ours: {foreign[0].message}"
    assert result is model, "fit must return the estimator itself"
    return model


def labels_of(estimator: Any, views: Any, **options: Any) -> Matrix:
    """Labels of a fitted clone, checked to be a valid partition."""
    model = fitted(estimator, views, **options)
    labels = model.labels_
    n_samples = len(Views.of(views))
    assert labels.shape == (n_samples,), f"labels_ has shape {labels.shape}"
    assert labels.dtype.kind in "iu", f"labels_ has dtype {labels.dtype}"
    assert labels.min() >= 0, "labels_ must not be negative"
    assert labels.max() < model.n_clusters, "labels_ must be below n_clusters"
    return np.asarray(labels)


def same(first: Matrix, second: Matrix, promise: str) -> None:
    """Both partitions must be the same up to the clusters' names."""
    score = adjusted_rand_score(first, second)
    assert score >= 0.999, f"{promise} (ARI {score:.3f})"


def valid_or_sentence(estimator: Any, views: Any, n_clusters: int = 2) -> None:
    """A valid partition, or an error of ours; never one from inside a library."""
    try:
        labels_of(estimator, views, n_clusters=n_clusters)
    except ManyviewError as error:
        assert str(error).strip(), "an error needs a sentence"


# --- the same data through every door ------------------------------------------


def check_fitted_attributes(estimator: Any) -> None:
    """labels_, the shapes that were seen, and parameters left as they were."""
    views = example()
    model = ready(estimator)
    before = {k: repr(v) for k, v in model.get_params().items()}
    labels = fitted(model, views).labels_
    same(model.fit_predict(views), labels, "fit_predict must give labels_")
    after = {k: repr(v) for k, v in model.get_params().items()}
    if "random_state" in before:  # a generator would have moved on
        before.pop("random_state"), after.pop("random_state")
    assert before == after, "fit must not change parameters"
    assert model.n_features_in_ == 13, "n_features_in_ counts all views' features"


def check_containers_agree(estimator: Any) -> None:
    """Lists, tuples, dicts, `Views` and data frames of the same rows agree."""
    views = example()
    wanted = labels_of(estimator, views)
    named = {f"v{i}": x for i, x in enumerate(views)}
    doors: list[Any] = [tuple(views), named, Views(views), [x.tolist() for x in views]]
    if find_spec("pandas"):
        import pandas as pd

        doors.append([pd.DataFrame(x) for x in views])
    if find_spec("polars"):
        import polars as pl

        doors.append([pl.DataFrame(x) for x in views])
    for door in doors:
        kind = type(door[0] if isinstance(door, list) else door).__name__
        same(labels_of(estimator, door), wanted, f"{kind} must agree with arrays")


def check_memory_layouts_agree(estimator: Any) -> None:
    """Fortran order, strides, read-only arrays and memory maps agree."""
    views = example()
    wanted = labels_of(estimator, views)
    fortran = [np.asfortranarray(x) for x in views]
    strided = [np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3] for x in views]
    same(labels_of(estimator, fortran), wanted, "Fortran order must not matter")
    same(labels_of(estimator, strided), wanted, "strides must not matter")
    with tempfile.TemporaryDirectory() as folder:
        mapped = []
        for i, x in enumerate(views):
            path = Path(folder) / f"{i}.npy"
            np.save(path, x)
            mapped.append(np.load(path, mmap_mode="r"))
        same(labels_of(estimator, mapped), wanted, "memory maps must not matter")
        del mapped


def check_dtypes_agree(estimator: Any) -> None:
    """Whole numbers in any numeric type give the same partition."""
    views = example()
    wanted = labels_of(estimator, views)
    for dtype in ("float16", "float32", "int8", "int64", ">f8"):
        found = labels_of(estimator, [x.astype(dtype) for x in views])
        same(found, wanted, f"{dtype} must agree with float64")


def check_booleans_agree(estimator: Any) -> None:
    """Booleans are zeros and ones."""
    views = [x > 2 for x in example()]
    wanted = labels_of(estimator, [x.astype(np.float32) for x in views])
    same(labels_of(estimator, views), wanted, "booleans must agree with 0 and 1")


def check_sparse_agrees(estimator: Any) -> None:
    """CSR and CSC agree with each other, and with dense on clear groups."""
    views = example()
    csr = labels_of(estimator, [sp.csr_array(x) for x in views])
    csc = labels_of(estimator, [sp.csc_matrix(x) for x in views])
    same(csr, csc, "CSR and CSC must agree")
    same(csr, labels_of(estimator, views), "sparse views must agree with dense ones")


def check_inputs_untouched(estimator: Any) -> None:
    """Read-only inputs work, and writable ones are not written to."""
    views = example()
    before = [x.copy() for x in views]
    sparse = [sp.csr_array(x) for x in views]
    labels_of(estimator, views)
    labels_of(estimator, sparse)
    for x, s, old in zip(views, sparse, before, strict=True):
        assert np.array_equal(x, old), "fit wrote into its input"
        assert np.array_equal(s.toarray(), old), "fit wrote into its sparse input"
        x.flags.writeable = s.data.flags.writeable = False
    labels_of(estimator, views)
    labels_of(estimator, sparse)


# --- data at the edge ------------------------------------------------------------


def check_duplicate_rows(estimator: Any) -> None:
    """Rows that are the same get the same label."""
    if tags_of(estimator).order_dependent:
        return
    views = example(noise=4.0)
    labels = labels_of(estimator, [np.concatenate([x, x[::-1]]) for x in views])
    half = len(labels) // 2
    shared = np.array_equal(labels[:half], labels[half:][::-1])
    assert shared, "duplicate rows must share a label"


def check_constant_parts(estimator: Any) -> None:
    """Constant features and all-zero rows are valid; so may be constant views."""
    views = example()
    flat = [np.column_stack([x, np.full(len(x), 0.1)]) for x in views]
    labels_of(estimator, flat)
    blank = [x.copy() for x in views]
    for x in blank:
        x[::10] = 0.0
    labels_of(estimator, blank)
    for value in (0.0, 0.1, -7.0):
        valid_or_sentence(estimator, [*views, np.full((60, 2), value)])


def check_few_features_and_rows(estimator: Any) -> None:
    """One feature, one row, as many clusters as rows, one cluster."""
    views = example()
    labels_of(estimator, [x[:, :1] for x in views])
    labels_of(estimator, views[:1])
    for n_rows, n_clusters in ((1, 1), (2, 1), (2, 2), (3, 3), (5, 4), (60, 1)):
        valid_or_sentence(estimator, [x[:n_rows] for x in views], n_clusters)


def check_identical_rows(estimator: Any) -> None:
    """Nothing but one row, many times."""
    for row in (np.zeros(3), np.array([1.0, -2.0, 0.1])):
        valid_or_sentence(estimator, [np.tile(row, (20, 1)), np.tile(-row, (20, 1))])


def check_scales(estimator: Any) -> None:
    """A view measured in very large or very small units is valid."""
    views = example()
    for factor in (1e-30, 1e-10, 1e10, 1e30):
        labels_of(estimator, [views[0] * factor, *views[1:]])
        labels_of(estimator, [x * factor for x in views])


def check_missing_views(estimator: Any) -> None:
    """Missing entries are used as such, or refused in a sentence."""
    views = example()
    present = np.ones((60, 3), dtype=bool)
    present[::7, 0] = present[3::7, 2] = False
    masked = Views(views, present=present)
    blank = [np.where(present[:, [v]], x, np.nan) for v, x in enumerate(views)]
    if tags_of(estimator).missing_views:
        wanted = labels_of(estimator, masked)
        same(labels_of(estimator, blank), wanted, "rows of NaN must agree with a mask")
        return
    for views_with_gaps in (masked, blank):
        refused(estimator, views_with_gaps, "missing")


# --- order, chance and company -----------------------------------------------------


def check_views_permuted(estimator: Any) -> None:
    """The order of the views does not matter."""
    for noise in (1.0, 5.0):
        views = example(noise=noise)
        wanted = labels_of(estimator, views)
        for order in ((2, 1, 0), (1, 2, 0)):
            found = labels_of(estimator, [views[v] for v in order])
            same(found, wanted, f"views in the order {order} must give the same")


def check_rows_permuted(estimator: Any) -> None:
    """The order of the rows does not matter, unless the method says it does."""
    if tags_of(estimator).order_dependent:
        return
    shuffle = np.random.default_rng(1).permutation(60)
    for noise in (1.0, 5.0):
        views = example(noise=noise)
        wanted = labels_of(estimator, views)
        found = labels_of(estimator, [x[shuffle] for x in views])
        same(found, wanted[shuffle], "shuffled rows must give the same clusters")


def check_seeds(estimator: Any) -> None:
    """The same seed gives the same labels; seeds of every kind are taken."""
    views = example(noise=5.0)
    wanted = labels_of(estimator, views)
    assert np.array_equal(labels_of(estimator, views), wanted), "same seed, same labels"
    if "random_state" not in estimator.get_params():
        return
    for seed in (None, 2**31, np.random.default_rng(0), np.random.RandomState(0)):
        found = labels_of(estimator, views, seed=seed)
        if tags_of(estimator).deterministic:
            same(found, wanted, "a deterministic method must not feel its seed")


def check_global_random_state(estimator: Any) -> None:
    """Nobody else's random numbers are touched."""
    numpy_before: Any = np.random.get_state()  # noqa: NPY002
    python_before = random.getstate()
    labels_of(estimator, example(), seed=None)
    numpy_after: Any = np.random.get_state()  # noqa: NPY002
    assert np.array_equal(numpy_before[1], numpy_after[1]), "NumPy was reseeded"
    assert numpy_before[2] == numpy_after[2], "NumPy's global state was moved"
    assert python_before == random.getstate(), "Python's random state was moved"


def check_pickle_and_clone(estimator: Any) -> None:
    """Fitted estimators survive pickling; clones are unfitted and equal."""
    views = example()
    model = fitted(estimator, views)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.labels_, model.labels_), "pickling changed labels_"
    fresh = clone(model)
    assert not hasattr(fresh, "labels_"), "a clone must not be fitted"
    assert np.array_equal(fresh.fit(views).labels_, model.labels_), "clones must agree"


def check_threads(estimator: Any) -> None:
    """Two fits at once do not meet."""
    jobs = [example(noise=noise) for noise in (1.0, 5.0)] * 2
    models = [ready(estimator) for _ in jobs]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = [ready(estimator).fit(views).labels_ for views in jobs]
        with ThreadPoolExecutor(2) as pool:
            together = list(pool.map(lambda m, x: m.fit(x).labels_, models, jobs))
    for one, other in zip(alone, together, strict=True):
        assert np.array_equal(one, other), "fits in threads must agree with one alone"


def check_predict(estimator: Any) -> None:
    """`predict`, where there is one: before fit, on other views, on the same rows."""
    if not tags_of(estimator).predicts:
        return
    views = example()
    refused_call(lambda: ready(estimator).predict(views), "not fitted")
    model = fitted(estimator, views)
    same(model.predict(views), model.labels_, "predict must know the rows of fit")
    assert model.predict([x[:1] for x in views]).shape == (1,)
    refused_call(lambda: model.predict(views[:2]), "features")


# --- bad input -----------------------------------------------------------------------


def check_bad_views(estimator: Any) -> None:
    """Bad views are refused before any work, in a sentence that names the view."""
    good = {"image": example()[0], "text": example()[1]}
    for value in (np.nan, np.inf, -np.inf):
        holed = good["text"].copy()
        holed[7, 1] = value
        refused(estimator, good | {"text": holed}, "text")
        refused(estimator, good | {"text": sp.csr_array(holed)}, "text")
    for bad in (
        good["text"][:-1],
        good["text"][:0],
        good["text"][:, :0],
        good["text"][:, 0],
        good["text"][:, :, None],
        good["text"].astype(complex),
        good["text"].astype(str),
        [["a", "b"]] * 60,
        None,
        "file.mat",
    ):
        refused(estimator, good | {"text": bad}, "text")
    empty: tuple[Any, ...] = ([], {}, None, "words", 3.0)
    for nothing in empty:
        refused(estimator, nothing, "")


def check_bad_n_clusters(estimator: Any) -> None:
    """n_clusters is a whole number from 1 to the number of rows."""
    for bad in (0, -1, 61, 2.0, "3", None, True):
        model = clone(estimator).set_params(n_clusters=bad)
        refused_call(lambda model=model: model.fit(example()), "n_clusters")  # type: ignore[misc]


def check_bad_parameters(estimator: Any) -> None:
    """Nonsense for a parameter is refused in a sentence, or does no harm."""
    views = example(24)
    nonsense = ("nonsense", -1, 1.5, float("nan"), object(), b"x", [1, 2])
    names = set(estimator.get_params(deep=False)) - {"verbose"}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for name in sorted(names):
            for value in nonsense:
                model = ready(estimator)
                model.set_params(**{name: value})
                try:
                    labels_of(model, views, n_clusters=model.n_clusters)
                except ManyviewError as error:
                    said = f"the message must mention {name!r}: {error}"
                    assert name in str(error), said
                except Exception as error:
                    said = f"{type(error).__name__} is no error of ours: {error}"
                    raise AssertionError(f"{name}={value!r}: {said}") from error


def refused(estimator: Any, views: Any, word: str) -> None:
    """Fitting must raise an error of ours whose message has the word."""
    refused_call(lambda: ready(estimator).fit(views), word)


def refused_call(call: Callable[[], Any], word: str) -> None:
    """The call must raise an error of ours whose message has the word."""
    try:
        call()
    except ManyviewError as error:
        assert word in str(error), f"the message must mention {word!r}: {error}"
    except Exception as error:
        kind = type(error).__name__
        raise AssertionError(f"{kind} is no error of ours: {error}") from error
    else:
        raise AssertionError(f"bad input was accepted; {word!r} was expected")


ALL_CHECKS: tuple[Check, ...] = (
    check_fitted_attributes,
    check_containers_agree,
    check_memory_layouts_agree,
    check_dtypes_agree,
    check_booleans_agree,
    check_sparse_agrees,
    check_inputs_untouched,
    check_duplicate_rows,
    check_constant_parts,
    check_few_features_and_rows,
    check_identical_rows,
    check_scales,
    check_missing_views,
    check_views_permuted,
    check_rows_permuted,
    check_seeds,
    check_global_random_state,
    check_pickle_and_clone,
    check_threads,
    check_predict,
    check_bad_views,
    check_bad_n_clusters,
    check_bad_parameters,
)
