"""Every method against what its authors' program gave on real data, from their start.

The results are files of the folder ``authors`` beside the data sets; labels count
from 1 there.
"""

import numpy as np
import pytest

from manyview.baselines import FSMSC, OPMC, fmvacc, fpmvscag, fsmsc, lmtc, opmc
from manyview.baselines.parts.embedding_kmeans import cluster_rows, singular_rows
from manyview.baselines.parts.standardise import scaled, z_feature
from manyview.metrics import clustering_scores

pytestmark = pytest.mark.data


@pytest.fixture
def case(data_dir, load_npz):
    """The dense views and labels of a set, and a method's results on it."""

    def read(method, name):
        path = data_dir / "authors" / f"{method}_{name}.npz"
        if not path.is_file():
            pytest.skip(f"the authors' results ({path.name}) are not there")
        views, labels = load_npz(name)
        dense = [x.toarray() if hasattr(x, "toarray") else x for x in views]
        with np.load(path, allow_pickle=False) as stored:
            kept = {key: stored[key] for key in stored}
        return [x.astype(np.float64) for x in dense], labels, kept

    return read


@pytest.mark.parametrize("name", ["MSRC-v5", "3Sources", "ORL"])
def test_fpmvs_cag(case, name):
    views, labels, theirs = case("fpmvs", name)
    Xs = [z_feature(x) for x in views]
    now, losses = fpmvscag.start(Xs, len(np.unique(labels))), []
    for _ in range(20):
        now, loss = fpmvscag.iterate(Xs, now, exact=False)
        losses.append(loss)
    np.testing.assert_allclose(now.Z.T, theirs["Z"], atol=1e-11)
    np.testing.assert_allclose(now.alpha, theirs["alpha"].ravel(), rtol=1e-11)
    np.testing.assert_allclose(losses, theirs["obj"].ravel(), rtol=1e-11)


def fsmsc_graph(views, c):
    joint = scaled(np.concatenate(views, axis=1), "sample")
    Xs = [scaled(x, "sample") for x in views]
    now = fsmsc.Factors(np.zeros((c, c)), np.eye(len(joint), c), np.eye(len(joint), c))
    for _ in range(20):
        now, _ = fsmsc.iterate(Xs, joint, now, FSMSC(c))
    return now.Z.T


@pytest.mark.parametrize("name", ["MSRC-v5", "ORL"])
def test_fsmsc(case, name):
    views, labels, theirs = case("fsmsc", name)
    found = fsmsc_graph(views, len(np.unique(labels)))
    np.testing.assert_allclose(found, theirs["Z"], atol=1e-11)


def test_fsmsc_where_a_sign_is_free(case, monkeypatch):
    """The first A of 3Sources is a polar factor of rank 5: its last sign is free."""
    views, labels, theirs = case("fsmsc", "3Sources")
    step, calls = fsmsc.anchor_step, []

    def with_the_other_sign(Xs, A, Z, shares):
        calls.append(step(Xs, A, Z, shares))
        if len(calls) > 1:
            return calls[-1]
        first = sum(x[:, : len(A)].T @ Z for x in Xs)
        U, s, _ = np.linalg.svd(first)
        assert s[-2] > 0.1 and s[-1] < 1e-12
        A = calls[0][1] - 2 * np.outer(U[:, -1], U[:, -1] @ calls[0][1])
        return [np.eye(x.shape[1], len(A)) @ A for x in Xs], A

    c = len(np.unique(labels))
    ours = fsmsc_graph(views, c)
    monkeypatch.setattr(fsmsc, "anchor_step", with_the_other_sign)
    gaps = [np.abs(Z - theirs["Z"]).max() for Z in (ours, fsmsc_graph(views, c))]
    assert min(gaps) < 1e-11 and max(gaps) > 1e-3


def test_kmeans_from_any_rows_scores_as_theirs_and_below_ours(case):
    _, labels, theirs = case("fsmsc", "ORL")
    E = singular_rows(np.ascontiguousarray(theirs["Z"].T))

    def accuracies(protocol):
        rng = np.random.default_rng(0)
        runs = [cluster_rows(E, 40, 1, rng, protocol) for _ in range(20)]
        return np.array([clustering_scores(labels, run)["ACC"] for run in runs])

    single = [clustering_scores(labels, run)["ACC"] for run in theirs["L"].T]
    error = np.hypot(np.std(single, ddof=1) / 10**0.5, accuracies("authors").std() / 4)
    assert abs(accuracies("authors").mean() - np.mean(single)) <= 2 * error
    assert accuracies("manyview").mean() > np.mean(single) + 4 * error


@pytest.mark.parametrize("name", ["MSRC-v5", "3Sources"])
@pytest.mark.parametrize(("kind", "slipped"), [("lmtc", True), ("lmtc-mended", False)])
def test_lmtc_as_released_and_mended(case, name, kind, slipped):
    views, labels, theirs = case(kind, name)
    Xs = [scaled(x, "unit") for x in views]
    c = len(np.unique(labels))
    U = np.linalg.svd(np.concatenate(Xs, axis=1), full_matrices=False)[0]
    H = np.repeat(U[:, :c, None], len(Xs), axis=2)
    now = lmtc.Stack(H, np.zeros_like(H), np.zeros_like(H))
    for t in range(theirs["obj"].size):
        now = lmtc.iterate(Xs, now, 1.0, 1e-4 * 2**t, last_twice=slipped)
    E = now.H.transpose(0, 2, 1).reshape(len(H), -1)
    E /= np.linalg.norm(E, axis=1, keepdims=True)
    np.testing.assert_allclose(E @ E.T, theirs["H"] @ theirs["H"].T, atol=1e-10)


@pytest.mark.parametrize("name", ["MSRC-v5", "3Sources", "ORL"])
def test_opmc_label_for_label(case, name):
    views, labels, theirs = case("opmc", name)
    rows = np.concatenate([z_feature(x) for x in views], axis=1)
    sizes = np.array([x.shape[1] for x in views])
    model = OPMC(len(np.unique(labels)), protocol="authors")
    starts, ends = (theirs[key].astype(int).T - 1 for key in ("Y0", "L"))
    for start, end in zip(starts, ends, strict=True):
        found = opmc.descend(rows, sizes, start, model)
        np.testing.assert_array_equal(found.labels, end)


def test_neither_rule_for_emptied_clusters_is_better_throughout(case):
    views, _, theirs = case("opmc", "ORL")
    rows = np.concatenate([z_feature(x) for x in views], axis=1)
    sizes = np.array([x.shape[1] for x in views])
    ratios = []
    for start in theirs["Y0"].astype(int).T - 1:
        own, other = (
            opmc.descend(rows, sizes, start, OPMC(40, protocol=protocol)).losses[-1]
            for protocol in ("manyview", "authors")
        )
        ratios.append(own / other)
    assert min(ratios) < 0.9999 and max(ratios) > 1.0001


def test_fmvacc_in_the_views_whose_anchors_are_all_used(case):
    views, _, start = case("fmvacc-start", "MSRC-v5")
    _, _, theirs = case("fmvacc", "MSRC-v5")
    fits = fmvacc.settle(
        [
            fmvacc.anchor_rounds(z_feature(x), start[f"A{v}"], 100.0, False)
            for v, x in enumerate(views)
        ]
    )
    # The views stop together; in the last two an anchor starts unused.
    assert {len(fit.objective) for fit in fits} == {theirs["obj"].size}
    for v, fit in enumerate(fits[:3]):
        # Centred features leave a shift common to all anchors free; no graph sees it.
        ours, expected = fit.A.T, theirs[f"A{v}"]
        np.testing.assert_allclose(
            ours - ours.mean(axis=1, keepdims=True),
            expected - expected.mean(axis=1, keepdims=True),
            atol=1e-10,
        )
