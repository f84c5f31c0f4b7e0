"""Promises every multi-view estimator keeps, as plain functions.

Each check fits clones of an estimator on small made-up data and raises an
AssertionError that says what was promised. Anything with scikit-learn's ``fit``,
``labels_`` and ``n_clusters`` that takes a list of views can be checked. A method that
cannot keep a promise names the check and the reason in its ``skipped_checks``.
"""

import pickle
import random
import tempfile
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from importlib import import_module
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score
from sklearn.utils import get_tags

from manyview.arrays.ops import Matrix
from manyview.base import MultiviewTags
from manyview.errors import ManyviewError, ManyviewWarning
from manyview.views.views import Views

Check = Callable[[Any], None]

N_CLUSTERS = 3  # of the made-up data
# What libraries announce for later versions of themselves breaks no promise.
OLD_NEWS = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)


def check_multiview_estimator(estimator: Any) -> None:
    """Run every check that applies to clones of the estimator; a broken one raises.

    Examples
    --------
    >>> from manyview.baselines import ConcatKMeans
    >>> check_multiview_estimator(ConcatKMeans())
    """
    for check in checks_for(estimator):
        check(estimator)


def checks_for(estimator: Any) -> Iterator[Check]:
    """The checks that apply, less those the estimator's tags skip by name."""
    skipped = tags_of(estimator).skipped_checks
    yield from (check for check in ALL_CHECKS if check.__name__ not in skipped)


def tags_of(estimator: Any) -> MultiviewTags:
    """The multi-view tags of an estimator; the defaults where it has none."""
    default = MultiviewTags(predicts=hasattr(estimator, "predict"))
    return getattr(get_tags(estimator), "multiview", None) or default


def example_views(n: int = 60, noise: float = 1.0, sort: bool = False) -> list[Matrix]:
    """Three views of whole numbers in three groups, in no order or group by group."""
    rng = np.random.default_rng(8)
    group = rng.permutation(np.arange(n) % N_CLUSTERS)
    group = np.sort(group) if sort else group
    views = []
    for d in (4, 6, 3):
        centres = 12.0 * np.linalg.qr(rng.normal(size=(d, 3)))[0].T
        views.append(np.rint(centres[group] + noise * rng.normal(size=(n, d))))
    return views


def unfitted(estimator: Any, n_clusters: int = N_CLUSTERS, seed: Any = 0) -> Any:
    """A clone with the wanted number of clusters and seed."""
    model = clone(estimator).set_params(n_clusters=n_clusters)
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    return model


def fitted(estimator: Any, views: Any, **options: Any) -> Any:
    """A fitted clone; only our own warnings, or old news, may have come up."""
    model = unfitted(estimator, **options)
    known = (ManyviewWarning, *OLD_NEWS)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = model.fit(views)
    foreign = [w for w in caught if not issubclass(w.category, known)]
    assert not foreign, f"a warning that is not ours: {foreign[0].message}"
    assert result is model, "fit must return the estimator itself"
    return model


def labels_of(estimator: Any, views: Any, **options: Any) -> Matrix:
    """Labels of a fitted clone, checked to be a valid partition."""
    model = fitted(estimator, views, **options)
    labels = model.labels_
    assert labels.shape == (len(Views.of(views)),), f"labels_ has shape {labels.shape}"
    assert labels.dtype.kind in "iu", f"labels_ has dtype {labels.dtype}"
    assert labels.min() >= 0, "labels_ must not be negative"
    assert labels.max() < model.n_clusters, "labels_ must be below n_clusters"
    return np.asarray(labels)


def reference(estimator: Any, noise: float = 1.0) -> tuple[list[Matrix], Matrix]:
    """The made-up views and the labels that a fitted clone gives them.

    Who reads the order gets rows that have one: smoothing along none blurs the groups.
    """
    views = example_views(noise=noise, sort=tags_of(estimator).order_dependent)
    return views, labels_of(estimator, views)


def assert_same_partition(first: Matrix, second: Matrix, promise: str) -> None:
    """Both partitions must be the same up to the clusters' names."""
    score = adjusted_rand_score(first, second)
    assert score >= 0.999, f"{promise} (ARI {score:.3f})"


def assert_finds(estimator: Any, views: Any, wanted: Matrix, promise: str) -> None:
    """Fitted on these views, a clone finds the wanted partition."""
    assert_same_partition(labels_of(estimator, views), wanted, promise)


def assert_valid_or_refused(
    estimator: Any, views: Any, n_clusters: int = 2, word: str = ""
) -> None:
    """A valid partition, or an error of ours that has the word; no other error."""
    try:
        labels_of(estimator, views, n_clusters=n_clusters)
    except ManyviewError as error:
        assert str(error).strip() and word in str(error), f"no {word!r} in: {error}"
    except Exception as error:
        raise AssertionError(f"{estimator}: {error!r} is no error of ours") from error


def check_fitted_attributes(estimator: Any) -> None:
    """labels_, the shapes that were seen, and parameters left as they were."""
    views, labels = reference(estimator)
    model = unfitted(estimator)
    before = repr(model.get_params())
    assert_same_partition(model.fit_predict(views), labels, "fit_predict is labels_")
    assert before == repr(model.get_params()), "fit must not change parameters"
    assert model.n_features_in_ == 13, "n_features_in_ counts all views' features"


def check_containers_agree(estimator: Any) -> None:
    """Lists, tuples, dicts, `Views` and data frames of the same rows agree."""
    views, wanted = reference(estimator)
    named = {f"v{i}": x for i, x in enumerate(views)}
    doors: list[Any] = [tuple(views), named, Views(views), [x.tolist() for x in views]]
    frames = filter(find_spec, ("pandas", "polars"))
    doors += [[import_module(name).DataFrame(x) for x in views] for name in frames]
    for door in doors:
        kind = type(door[0] if isinstance(door, list) else door).__name__
        assert_finds(estimator, door, wanted, f"{kind} must agree with arrays")


def check_memory_layouts_agree(estimator: Any) -> None:
    """Fortran order, strides, read-only arrays and memory maps agree."""
    views, wanted = reference(estimator)
    fortran = [np.asfortranarray(x) for x in views]
    strided = [np.repeat(np.repeat(x, 2, axis=0), 3, axis=1)[::2, ::3] for x in views]
    assert_finds(estimator, fortran, wanted, "Fortran order must not matter")
    assert_finds(estimator, strided, wanted, "strides must not matter")
    with tempfile.TemporaryDirectory() as folder:
        for i, x in enumerate(views):
            np.save(f"{folder}/{i}.npy", x)
        mapped = [np.load(f"{folder}/{i}.npy", mmap_mode="r") for i in range(3)]
        assert_finds(estimator, mapped, wanted, "memory maps must not matter")
        del mapped  # Windows does not remove a file that is mapped


def check_dtypes_agree(estimator: Any) -> None:
    """Whole numbers in any numeric type give the same partition."""
    views, wanted = reference(estimator)
    for dtype in ("float16", "float32", "int8", "int64", ">f8"):
        typed = [x.astype(dtype) for x in views]
        assert_finds(estimator, typed, wanted, f"{dtype} must agree with float64")


def check_booleans_agree(estimator: Any) -> None:
    """Booleans are zeros and ones."""
    views = [x > 2 for x in example_views()]
    wanted = labels_of(estimator, [x.astype(np.float32) for x in views])
    assert_finds(estimator, views, wanted, "booleans must agree with 0 and 1")


def check_sparse_agrees(estimator: Any) -> None:
    """Sparse views agree with dense ones on clear groups."""
    views, wanted = reference(estimator)
    assert_finds(estimator, [sp.csr_array(x) for x in views], wanted, "sparse or dense")


def check_sparse_formats_agree(estimator: Any) -> None:
    """CSR and CSC views are the same views."""
    csr = [sp.csr_array(x) for x in example_views()]
    wanted, csc = labels_of(estimator, csr), [sp.csc_matrix(x) for x in csr]
    assert_finds(estimator, csc, wanted, "CSR and CSC must agree")


def check_inputs_untouched(estimator: Any) -> None:
    """Read-only inputs work, and writable ones are not written to."""
    views = example_views()
    sparse = [sp.csr_array(x) for x in views]
    for kind in (views, sparse, views, sparse):
        labels_of(estimator, kind)
        for x, s, old in zip(views, sparse, example_views(), strict=True):
            assert np.array_equal(x, old), "fit wrote into its input"
            assert np.array_equal(s.toarray(), old), "fit wrote into its sparse input"
            if kind is sparse:
                x.flags.writeable = s.data.flags.writeable = False


def check_duplicate_rows(estimator: Any) -> None:
    """Rows that are the same get the same label."""
    if tags_of(estimator).order_dependent:
        return
    twice = [np.concatenate([x, x[::-1]]) for x in example_views(noise=4.0)]
    labels = labels_of(estimator, twice)
    assert np.array_equal(labels, labels[::-1]), "duplicate rows must share a label"


def check_constant_parts(estimator: Any) -> None:
    """Constant features and all-zero rows are valid; so may be constant views."""
    views = example_views()
    labels_of(estimator, [np.column_stack([x, np.full(60, 0.1)]) for x in views])
    tenth = np.arange(60)[:, None] % 10 == 0
    labels_of(estimator, [np.where(tenth, 0.0, x) for x in views])
    for value in (0.0, 0.1, -7.0):
        assert_valid_or_refused(estimator, [*views, np.full((60, 2), value)])


def check_few_features_and_rows(estimator: Any) -> None:
    """One feature, one row, as many clusters as rows, one cluster."""
    views = example_views()
    labels_of(estimator, [x[:, :1] for x in views])
    labels_of(estimator, views[:1])
    for n_rows, n_clusters in ((1, 1), (2, 1), (2, 2), (3, 3), (5, 4), (60, 1)):
        assert_valid_or_refused(estimator, [x[:n_rows] for x in views], n_clusters)


def check_identical_rows(estimator: Any) -> None:
    """Nothing but one row, many times."""
    for row in (np.zeros(3), np.array([1.0, -2.0, 0.1])):
        copies = np.tile(row, (20, 1))
        assert_valid_or_refused(estimator, [copies, -copies])


def check_scales(estimator: Any) -> None:
    """A view measured in very large or very small units is valid."""
    views = example_views()
    for factor in (1e-30, 1e-10, 1e10, 1e30):
        labels_of(estimator, [views[0] * factor, *views[1:]])
        labels_of(estimator, [x * factor for x in views])
        labels_of(estimator, [(x * factor).astype(np.float32) for x in views])


def check_missing_views(estimator: Any) -> None:
    """Missing entries are used as such, or refused in a sentence."""
    views = example_views()
    present = np.ones((60, 3), dtype=bool)
    present[::7, 0] = present[3::7, 2] = False
    masked = Views(views, present=present)
    blank = [np.where(present[:, [v]], x, np.nan) for v, x in enumerate(views)]
    if tags_of(estimator).missing_views:
        wanted = labels_of(estimator, masked)
        assert_finds(estimator, blank, wanted, "rows of NaN must agree with a mask")
    else:
        assert_refused(unfitted(estimator).fit, masked, "missing")
        assert_refused(unfitted(estimator).fit, blank, "missing")


def check_views_permuted(estimator: Any) -> None:
    """The order of the views does not matter."""
    for noise in (1.0, 5.0):
        views, wanted = reference(estimator, noise)
        for order in ((2, 1, 0), (1, 2, 0)):
            promise = f"views in the order {order} must give the same"
            assert_finds(estimator, [views[v] for v in order], wanted, promise)


def check_rows_permuted(estimator: Any) -> None:
    """The order of the rows does not matter, unless the method says it does."""
    if tags_of(estimator).order_dependent:
        return
    shuffle = np.random.default_rng(1).permutation(60)
    for noise in (1.0, 5.0):
        views, wanted = reference(estimator, noise)
        promise = "shuffled rows must give the same clusters"
        assert_finds(estimator, [x[shuffle] for x in views], wanted[shuffle], promise)


def check_seeds(estimator: Any) -> None:
    """The same seed gives the same labels; seeds of every kind are taken."""
    views, wanted = reference(estimator, 5.0)
    assert np.array_equal(labels_of(estimator, views), wanted), "same seed, same labels"
    seeds = (None, 2**31, np.random.default_rng(0), np.random.RandomState(0))
    for seed in seeds if "random_state" in estimator.get_params() else ():
        found = labels_of(estimator, views, seed=seed)
        if tags_of(estimator).deterministic:
            assert_same_partition(found, wanted, "no seed moves a deterministic method")


def check_global_random_state(estimator: Any) -> None:
    """Nobody else's random numbers are touched."""
    numpy_before, python_before = str(np.random.get_state()), random.getstate()  # noqa: NPY002
    labels_of(estimator, example_views(), seed=None)
    numpy_after = str(np.random.get_state())  # noqa: NPY002
    assert numpy_before == numpy_after, "NumPy's global random state was moved"
    assert python_before == random.getstate(), "Python's random state was moved"


def check_pickle_and_clone(estimator: Any) -> None:
    """Fitted estimators survive pickling; clones are unfitted and equal."""
    views = example_views()
    model = fitted(estimator, views)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.labels_, model.labels_), "pickling changed labels_"
    fresh = clone(model)
    assert not hasattr(fresh, "labels_"), "a clone must not be fitted"
    assert np.array_equal(fresh.fit(views).labels_, model.labels_), "clones must agree"


def check_threads(estimator: Any) -> None:
    """Two fits at once do not meet."""
    jobs = [example_views(noise=noise) for noise in (1.0, 5.0)] * 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        alone = [unfitted(estimator).fit(views).labels_ for views in jobs]
        with ThreadPoolExecutor(2) as pool:
            together = pool.map(lambda x: unfitted(estimator).fit(x).labels_, jobs)
    assert np.array_equal(alone, list(together)), "threads must agree with one alone"


def check_predict(estimator: Any) -> None:
    """`predict`, where there is one: before fit, on other views, on the same rows."""
    if not tags_of(estimator).predicts:
        return
    views = example_views()
    assert_refused(unfitted(estimator).predict, views, "not fitted")
    model = fitted(estimator, views)
    assert_same_partition(model.predict(views), model.labels_, "predict knows its rows")
    assert model.predict([x[:1] for x in views]).shape == (1,)
    assert_refused(model.predict, views[:2], "features")


def check_bad_views(estimator: Any) -> None:
    """Bad views are refused before any work, in a sentence that names the view."""
    image, text, _ = example_views()
    one = np.arange(text.size).reshape(text.shape) == 43
    bad: list[Any] = [np.where(one, x, text) for x in (np.nan, np.inf, -np.inf)]
    bad += [sp.csr_array(x) for x in bad] + [None, "file.mat", [["a", "b"]] * 60]
    bad += [text[:-1], text[:0], text[:, :0], text[:, 0], text[:, :, None]]
    bad += [text.astype(complex), text.astype(str)]
    fit = unfitted(estimator).fit
    for view in bad:
        assert_refused(fit, {"image": image, "text": view}, "text")
    nothings: tuple[Any, ...] = ([], {}, None, "words", 3.0)
    for nothing in nothings:
        assert_refused(fit, nothing, "")


def check_bad_n_clusters(estimator: Any) -> None:
    """n_clusters is a whole number from 1 to the number of rows."""
    for bad in (0, -1, 61, 2.0, "3", None, True):
        model = clone(estimator).set_params(n_clusters=bad)
        assert_refused(model.fit, example_views(), "n_clusters")


def check_bad_parameters(estimator: Any) -> None:
    """Nonsense for a parameter is refused in a sentence, or does no harm."""
    views = example_views(24)
    nonsense = ("nonsense", -1, 1.5, float("nan"), object(), b"x", [1, 2])
    names = set(estimator.get_params(deep=False)) - {"verbose"}
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        for name, value in product(sorted(names), nonsense):
            model = unfitted(estimator).set_params(**{name: value})
            assert_valid_or_refused(model, views, model.n_clusters, name)


def assert_refused(call: Callable[[Any], Any], views: Any, word: str) -> None:
    """The call with these views must raise an error of ours that has the word."""
    try:
        call(views)
    except ManyviewError as error:
        assert word in str(error), f"the message must mention {word!r}: {error}"
    except Exception as error:
        raise AssertionError(f"{error!r} is no error of ours") from error
    else:
        raise AssertionError(f"bad input was accepted; {word!r} was expected")


ALL_CHECKS: tuple[Check, ...] = tuple(
    check
    for name, check in list(globals().items())
    if name.startswith("check_") and check is not check_multiview_estimator
)
