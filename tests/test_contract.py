"""One loop over every estimator: scikit-learn's contract and ours."""

import warnings

import numpy as np
import pytest
from sklearn.utils.estimator_checks import estimator_checks_generator

from manyview import checks
from manyview.base import MultiViewClusterer
from manyview.errors import ManyviewWarning
from manyview.methods import all_methods
from manyview.sequence_s2mvtc import SequenceS2MVTC

# The whole contract holds after few steps, too.
QUICK = {
    "TURTLE": {"n_steps": 30, "n_inner_steps": 3},
    "SFMC": {"max_iter": 6},
    "FastMICE": {"n_anchors": 100, "n_members": 4},
}
METHODS = [
    method.estimator(**QUICK.get(method.name, {}))
    for method in all_methods()
    if method.is_installed
]
FEW = {"max_iter": 3, "n_init": 2}
VARIANTS = [
    SequenceS2MVTC(smoothing_weight=0.0, **FEW),
    SequenceS2MVTC(smoothing_weight=0.0, kernel="linear", **FEW),
    SequenceS2MVTC(graph=True, **FEW),
]


SHUFFLED = "along the rows as they stand, and the blobs of this check are shuffled"
NO_PLACE = "new rows have no place in the order of the fit: it is left out for them"
NO_ROWS = "partial_fit after fit is refused: a fit keeps no rows to go on from"
# As many columns as the check has classes; the default has eight clusters.
OF_CLASSIFIERS = "the check takes predict_proba for that of a classifier"
KNOWN_FAILURES = {
    ("S2MVTC", "check_fit_score_takes_y"): NO_ROWS,
    ("AnchorSpectral", "check_fit_score_takes_y"): NO_ROWS,
    ("SMERAMVC", "check_clustering"): f"groups rows {SHUFFLED}",
    ("SequenceS2MVTC", "check_clustering"): f"smooths {SHUFFLED}",
    ("SequenceS2MVTC", "check_transformer_general"): NO_PLACE,
    ("SequenceS2MVTC", "check_transformer_data_not_an_array"): NO_PLACE,
    **{
        (name, f"check_estimator_sparse_{kind}"): OF_CLASSIFIERS
        for name in ("S2MVTC", "AnchorSpectral", "SequenceS2MVTC")
        for kind in ("array", "matrix")
    },
}


def name_of(value):
    name = getattr(value, "__name__", None)
    if name is None and hasattr(value, "func"):
        name = value.func.__name__
    return name or repr(value)


def sklearn_cases():
    for estimator in METHODS:
        for model, check in estimator_checks_generator(estimator, mark="skip"):
            name = name_of(check)
            reason = KNOWN_FAILURES.get((type(estimator).__name__, name))
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            yield pytest.param(model, check, id=f"{estimator}-{name}", marks=marks)
    # Without smoothing along the rows, new ones have a place again.
    for model, check in estimator_checks_generator(VARIANTS[0], mark="skip"):
        name = name_of(check)
        if KNOWN_FAILURES.get(("SequenceS2MVTC", name)) == NO_PLACE:
            yield pytest.param(model, check, id=f"{VARIANTS[0]}-{name}")


@pytest.mark.parametrize(("estimator", "check"), list(sklearn_cases()))
def test_scikit_learns_contract(estimator, check):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ManyviewWarning)
        check(estimator)


def own_cases():
    for estimator in [*METHODS, *VARIANTS]:
        for check in checks.checks_for(estimator):
            yield pytest.param(estimator, check, id=f"{estimator}-{name_of(check)}")


@pytest.mark.parametrize(("estimator", "check"), list(own_cases()))
def test_our_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("estimator", METHODS, ids=repr)
def test_every_skip_names_a_check_and_a_reason(estimator):
    known = {check.__name__ for check in checks.ALL_CHECKS}
    for name, reason in checks.tags_of(estimator).skipped_checks.items():
        assert name in known and len(reason) > 20


@pytest.mark.parametrize("estimator", METHODS, ids=repr)
def test_every_method_has_a_citation_and_the_common_parameters(estimator):
    assert len(estimator.citation) > 20 or estimator.__class__.__name__.startswith(
        "Anchor"
    )
    params = estimator.get_params()
    assert params["n_clusters"] == 8 and params["random_state"] is None


class Honest(MultiViewClusterer):
    """Groups rows by the sign of their first feature; keeps every promise."""

    deterministic = True

    def __init__(self, n_clusters=8, *, random_state=None):
        self.n_clusters = n_clusters
        self.random_state = random_state

    def labels_for(self, views):
        rows = views.block(slice(0, len(views))).views
        total = sum(np.sign(np.asarray(x.sum(axis=1)).ravel()) for x in rows)
        return np.minimum((total > 0).astype(int), self.n_clusters - 1)

    def fit(self, X, y=None):
        from manyview.baselines.parts.in_memory import dense_views

        views = self._views_to_fit(X)
        dense_views(views)
        return self._store_labels(self.labels_for(views))


class Forgetful(Honest):
    """Numbers the rows as they stand, without saying so."""

    def labels_for(self, views):
        return np.arange(len(views)) * self.n_clusters // len(views)


class Rude(Honest):
    """Writes into its input."""

    def labels_for(self, views):
        labels = super().labels_for(views)
        first = views.arrays[0]
        if isinstance(first, np.ndarray) and first.flags.writeable:
            first[0] = 99
        return labels


class Careless(Honest):
    """Seeds everybody's random numbers."""

    def labels_for(self, views):
        np.random.seed(0)  # noqa: NPY002
        return super().labels_for(views)


class Trusting(Honest):
    """Does not look at what it is given."""

    def fit(self, X, y=None):
        self.labels_ = np.zeros(len(X), dtype=int)
        return self


class Unchecked(Honest):
    """Computes with a parameter nobody has looked at."""

    def __init__(self, n_clusters=8, *, power=2, random_state=None):
        super().__init__(n_clusters, random_state=random_state)
        self.power = power

    def labels_for(self, views):
        return super().labels_for(views) % round(2**self.power)


def test_checks_pass_an_honest_estimator():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ManyviewWarning)
        checks.check_multiview_estimator(Honest())


@pytest.mark.parametrize(
    ("estimator", "check", "promise"),
    [
        (Forgetful(), checks.check_rows_permuted, "shuffled rows"),
        (Forgetful(), checks.check_duplicate_rows, "duplicate rows"),
        (Rude(), checks.check_inputs_untouched, "wrote into its input"),
        (Careless(), checks.check_global_random_state, "NumPy"),
        (Trusting(), checks.check_bad_views, "was accepted"),
        (Trusting(), checks.check_bad_n_clusters, "was accepted"),
        (Trusting(), checks.check_containers_agree, "shape"),
        (Unchecked(), checks.check_bad_parameters, "power=.* no error of ours"),
    ],
    ids=lambda value: name_of(value),
)
def test_checks_catch_broken_promises(estimator, check, promise):
    with pytest.raises(AssertionError, match=promise):
        check(estimator)


def test_tags_skip_a_check_by_name():
    class Excused(Forgetful):
        skipped_checks = {  # noqa: RUF012
            "check_rows_permuted": "numbers the rows as they stand, on purpose",
            "check_duplicate_rows": "numbers the rows as they stand, on purpose",
        }

    names = {check.__name__ for check in checks.checks_for(Excused())}
    assert names == {c.__name__ for c in checks.ALL_CHECKS} - set(
        Excused.skipped_checks
    )
