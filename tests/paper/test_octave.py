"""Every method against the numbers its authors' program gave on generated rows.

The programs ran under GNU Octave from starts that were handed in; docs/fidelity.md
says what was run. `octave.npz` holds inputs, starts and results: numbers, no code.
"""

from pathlib import Path

import numpy as np
import pytest

from manyview.baselines import FSMSC, OPMC, fmvacc, fpmvscag, fsmsc, lmtc, opmc
from manyview.baselines.parts.standardise import scaled, z_feature

N_CLUSTERS = 4


@pytest.fixture(scope="module")
def theirs():
    with np.load(Path(__file__).with_name("octave.npz"), allow_pickle=False) as stored:
        return dict(stored)


@pytest.fixture(scope="module")
def views(theirs):
    return [theirs[f"X{v}"] for v in range(3)]


def test_fpmvs_cag(theirs, views):
    Xs = [z_feature(x) for x in views]
    now, losses = fpmvscag.start(Xs, N_CLUSTERS), []
    for _ in range(20):
        now, loss = fpmvscag.iterate(Xs, now, exact=False)
        losses.append(loss)
    np.testing.assert_allclose(now.Z.T, theirs["fpmvs_Z"], atol=1e-10)
    np.testing.assert_allclose(now.alpha, theirs["fpmvs_alpha"].ravel(), rtol=1e-10)
    np.testing.assert_allclose(losses, theirs["fpmvs_obj"].ravel(), rtol=1e-10)


def test_fsmsc(theirs, views):
    Xs = [scaled(x, "sample") for x in views]
    joint = scaled(np.concatenate(views, axis=1), "sample")
    Z = np.eye(len(joint), N_CLUSTERS)
    now = fsmsc.Factors(np.zeros((N_CLUSTERS, N_CLUSTERS)), Z, Z)
    for _ in range(20):
        now, _ = fsmsc.iterate(Xs, joint, now, FSMSC(N_CLUSTERS))
    np.testing.assert_allclose(now.Z.T, theirs["fsmsc_Z"], atol=1e-10)


def test_fmvacc(theirs, views):
    rounds = [
        fmvacc.anchor_rounds(z_feature(x), theirs[f"A{v}"], 100.0, False)
        for v, x in enumerate(views)
    ]
    fits = fmvacc.settle(rounds)
    objective = np.sum([fit.objective for fit in fits], axis=0)
    np.testing.assert_allclose(objective, theirs["fmvacc_obj"].ravel(), rtol=1e-10)
    for v, fit in enumerate(fits):
        np.testing.assert_allclose(fit.Z.T, theirs[f"fmvacc_Z{v}"], atol=1e-10)
    graphs = [fit.Z for fit in fits]
    others = [fmvacc.match(graphs[0], Z, 1.0, False) for Z in graphs[1:]]
    matches = np.stack([np.arange(N_CLUSTERS), *others])
    fused = fmvacc.fuse(graphs, matches)
    np.testing.assert_allclose(fused.T, theirs["fmvacc_Z"], atol=1e-10)


@pytest.mark.parametrize("n_views", [2, 3])
def test_lmtc_shrinks_one_pair_twice_for_an_odd_number_of_views(theirs, n_views):
    Xs = [scaled(theirs[name], "unit") for name in ("X0", "X1", "X3")[:n_views]]
    U = np.linalg.svd(np.concatenate(Xs, axis=1), full_matrices=False)[0]
    H = np.repeat(U[:, :N_CLUSTERS, None], n_views, axis=2)

    def gram(last_twice):
        now = lmtc.Stack(H, np.zeros_like(H), np.zeros_like(H))
        for t in range(theirs[f"lmtc{n_views}_obj"].size):
            now = lmtc.iterate(Xs, now, 1.0, 1e-4 * 2**t, last_twice=last_twice)
        E = now.H.transpose(0, 2, 1).reshape(len(H), -1)
        E /= np.linalg.norm(E, axis=1, keepdims=True)
        return E @ E.T

    expected = theirs[f"lmtc{n_views}_H"] @ theirs[f"lmtc{n_views}_H"].T
    np.testing.assert_allclose(gram(n_views == 3), expected, atol=1e-10)
    assert np.abs(gram(n_views == 2) - expected).max() > 1e-3


def test_opmc_label_for_label_with_clusters_that_start_empty(theirs, views):
    rows = np.concatenate([z_feature(x) for x in views], axis=1)
    sizes = np.array([x.shape[1] for x in views])
    starts, ends = theirs["Y0"].astype(int) - 1, theirs["opmc_L"].astype(int) - 1
    assert [len(set(start)) for start in starts.T] == [4, 3, 2]
    for run, (start, end) in enumerate(zip(starts.T, ends.T, strict=True)):
        model = OPMC(N_CLUSTERS, protocol="authors")
        found = opmc.descend(rows, sizes, start, model)
        np.testing.assert_array_equal(found.labels, end)
        # They weigh the views by 1/V, we by its square.
        loss = theirs["opmc_loss"].ravel()[run] / len(views)
        np.testing.assert_allclose(found.losses[-1], loss, rtol=1e-4)
